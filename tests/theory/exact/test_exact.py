"""Exact chains, against brute force, against the engines and against the machine itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from popsnet import Coins, Experiment, InputError, Network, route
from popsnet.engines import ENGINES, Instance
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.programs.routers.mei_rizzi import participation
from popsnet.programs.routers.relay import bijection, state
from popsnet.theory.exact import (
    Chain,
    Distribution,
    mei_rizzi_chain,
    relay_chain,
    solve,
    steps_distribution,
)
from popsnet.theory.exact.chain import eliminate
from popsnet.theory.exact.state import (
    State,
    between_groups,
    by_residues,
    canonical,
    is_done,
    of_tables,
    pending,
    without_fixed_points,
)
from popsnet.theory.exact.steps import taking_part
from popsnet.theory.exact.transition import FRESH, place, turn
from popsnet.trace import Event
from tests.conftest import permutation
from tests.each import each, examples

MEANS = {
    ("mei-rizzi", 2, 2): Fraction(136, 45),
    ("mei-rizzi", 3, 2): Fraction(843789473312, 181395703125),
    ("mei-rizzi", 4, 2): Fraction(
        18617641045626263172570863498581, 2884781505832758684140625000000
    ),
    ("relay", 2, 2): Fraction(137, 96),
    ("relay", 3, 2): Fraction(6763, 3600),
    ("relay", 3, 3): Fraction(444406831, 176359680),
    ("relay", 4, 2): Fraction(52194067, 24393600),
}

ERROR_RATE = 1e-4
"""The chance that one of the chi-square tests fails though the router is right."""


def chain_of(router: str, d: int, g: int) -> Chain:
    return (mei_rizzi_chain if router == "mei-rizzi" else relay_chain)(Network(d, g))


@each(("router", "d", "g"), MEANS)
def test_means_are_these_fractions(router: str, d: int, g: int) -> None:
    assert solve(chain_of(router, d, g)).mean == MEANS[router, d, g]


def test_the_mean_on_pops_3_3() -> None:
    assert float(solve(chain_of("mei-rizzi", 3, 3)).mean) == pytest.approx(3.7653203130251653)


def test_the_smallest_networks_need_no_luck() -> None:
    assert solve(mei_rizzi_chain(Network(1, 1))).mean == 1
    assert solve(relay_chain(Network(1, 1))).mean == 0  # its packet is at home
    assert solve(relay_chain(Network(3, 1))).mean == 1 - Fraction(1, 6)  # but for the identity


@pytest.mark.parametrize(("d", "g"), [(2, 2), (3, 2), (4, 2), (8, 2), (16, 4)])
def test_the_law_is_the_routers(d: int, g: int) -> None:
    network = Network(d, g)
    for step in range(4 * d // g + 2):
        parts = 2**32 * taking_part(network, step)
        assert participation(network, step) == parts.numerator // parts.denominator


@pytest.mark.parametrize(("d", "g"), [(2, 2), (3, 2), (2, 3), (4, 1)])
def test_first_states_are_those_of_all_permutations(d: int, g: int) -> None:
    network = Network(d, g)
    residues: Counter[State] = Counter()
    groups: Counter[State] = Counter()
    for destination in permutations(range(d * g)):
        residues[by_residues(network, destination)] += 1
        groups[between_groups(network, destination)] += 1
    for counted, start in ((residues, of_tables(network)), (groups, without_fixed_points(network))):
        whole = factorial(d * g)
        assert start == {state: Fraction(count, whole) for state, count in counted.items()}


def test_names_of_groups_do_not_matter() -> None:
    assert canonical(((2, 0), (1, 1))) == canonical(((1, 1), (0, 2)))
    assert canonical(((2, 0), (1, 1))) != canonical(((2, 1), (0, 1)))  # the two ends do


def brute_force_step(network: Network, packets: list[tuple[int, int]]) -> Counter[State]:
    """Every coin of a step of mei-rizzi; packets are (group, temporary group)."""
    found: Counter[State] = Counter()
    for colours in product(range(network.g), repeat=len(packets)):
        first = Counter((a, c) for (a, _), c in zip(packets, colours, strict=True))
        rest = [(a, t, c) for (a, t), c in zip(packets, colours, strict=True) if first[a, c] == 1]
        second = Counter((t, c) for _, t, c in rest)
        table = Counter(packets)
        table.subtract((a, t) for a, t, c in rest if second[t, c] == 1)
        found[table_state(network, table)] += 1
    return found


def table_state(network: Network, table: Counter[tuple[int, int]]) -> State:
    groups = range(network.g)
    return canonical(tuple(tuple(table[a, t] for t in groups) for a in groups))


@examples(40)
@given(
    shape=st.sampled_from([(2, 2), (3, 2), (4, 2), (3, 3)]),
    seed=st.integers(0, 2**32),
    left=st.integers(1, 8),
)
def test_a_step_is_that_of_all_coins(shape: tuple[int, int], seed: int, left: int) -> None:
    network = Network(*shape)
    destination = permutation(network.n, seed)
    sources = permutation(network.n, seed + 1)[: min(left, 7 if network.g == 3 else 8)]
    packets = [(int(i) // network.d, int(destination[i]) % network.g) for i in sources]
    state = table_state(network, Counter(packets))
    weights, total = mei_rizzi_chain(network).move(1000, state)
    expected = brute_force_step(network, packets)
    whole = expected.total()
    assert {to: Fraction(ways, total) for to, ways in weights.items()} == {
        to: Fraction(count, whole) for to, count in expected.items()
    }


@each("router", ["mei-rizzi", "relay"])
@each(("d", "g"), [(2, 2), (3, 2), (3, 3)])
def test_the_mean_is_the_sum_of_the_tail(router: str, d: int, g: int) -> None:
    law = solve(chain_of(router, d, g), Fraction(1, 10**12))
    tail = [1 - chance for chance in law.within]
    mean, square = sum(tail), sum((2 * s + 1) * left for s, left in enumerate(tail))
    assert 0 <= float(law.mean - mean) < 1e-10
    assert 0 <= float(law.variance + law.mean**2 - square) < 1e-8
    assert law.sd == pytest.approx(float(law.variance) ** 0.5)
    assert law.quantile(Fraction(1, 2)) == next(s for s, left in enumerate(tail) if left <= 0.5)
    assert law.probability(1) == law.within[1] - law.within[0]


def test_one_permutation_has_its_own_law() -> None:
    """All 24 together have the law of the mean over them."""
    network = Network(2, 2)
    laws = [solve(mei_rizzi_chain(network, pi)) for pi in permutations(range(4))]
    assert {law.mean for law in laws} == {Fraction(8, 3), Fraction(16, 5)}
    assert sum(law.mean for law in laws) / 24 == Fraction(136, 45)
    whole = solve(mei_rizzi_chain(network))
    for s, chance in enumerate(whole.within[:10]):
        assert sum(law.within[s] for law in laws) / 24 == chance


def p_value(observed: Counter[int], law: dict[int, float], runs: int) -> float:
    """Chi-square; values that are expected fewer than ten times count as one."""
    often = [value for value, chance in law.items() if chance * runs >= 10]
    counts = [observed[value] for value in often]
    expected = [law[value] * runs for value in often]
    if sum(counts) < runs or sum(expected) < runs:
        counts.append(runs - sum(counts))
        expected.append(runs - sum(expected))
    return float(stats.chisquare(counts, expected).pvalue)


def law_of(chain: Chain) -> dict[int, float]:
    return probabilities(solve(chain))


def probabilities(law: Distribution) -> dict[int, float]:
    return {steps: float(law.probability(steps)) for steps in range(len(law.within))}


@each(
    ("d", "g", "variant"),
    [
        (2, 2, "published"),
        (3, 3, "published"),
        (3, 2, "idealized"),
        (4, 2, "idealized"),
        (4, 2, "deferred"),
        (8, 2, "idealized"),
    ],
)
def test_the_compiled_engine_has_the_exact_law(d: int, g: int, variant: str) -> None:
    runs = 20_000 if variant != "deferred" else 2000
    experiment = Experiment(d, g, variant=variant, seed=11, permutation_seed=12)
    observed = route(experiment, runs=runs, engine="fused").tally.steps
    assert p_value(observed, law_of(chain_of("mei-rizzi", d, g)), runs) > ERROR_RATE


def test_the_test_notices_a_law_that_is_slightly_wrong() -> None:
    """Without the paper's law of taking part the steps on POPS(4, 2) are others."""
    experiment = Experiment(4, 2, variant="idealized", seed=11, permutation_seed=12)
    observed = route(experiment, runs=5000, engine="fused").tally.steps
    wrong = law_of(mei_rizzi_chain(Network(4, 2), all_packets=True))
    assert p_value(observed, wrong, 5000) < ERROR_RATE


@examples(50)
@given(g=st.integers(1, 5), k=st.integers(1, 4), seed=st.integers(0, 2**64 - 1))
def test_deferred_takes_the_steps_of_idealized_where_g_divides_d(g: int, k: int, seed: int) -> None:
    """A block of buffers has its turn every k steps, and is empty by then."""
    network, destination = Network(k * g, g), permutation(k * g * g, seed)
    survivors = [
        ENGINES["slots"].execute(
            Instance(network, get_router("mei-rizzi"), variant, destination, Coins(seed), 40), ()
        )
        for variant in ("idealized", "published")
    ]
    deferred = ENGINES["slots"].execute(
        Instance(network, get_router("mei-rizzi"), "deferred", destination, Coins(seed), 40), ()
    )
    assert {run.steps for run in survivors} == {deferred.steps}


@each(("d", "g"), [(2, 2), (3, 3), (4, 2)])
@each(("engine", "runs"), [("fused", 10_000), ("slots", 200)])
def test_relay_nearly_has_the_law_of_ideal_bijections(
    d: int, g: int, engine: str, runs: int
) -> None:
    """Its own bijections are not uniform, but no sample of this size tells."""
    experiment = Experiment(d, g, router="relay", variant="S", seed=21, permutation_seed=22)
    found = route(experiment, runs=runs, engine=engine)
    stages = Counter(((found.slots - 1) // (2 * d // g + 1)).tolist())
    assert p_value(stages, law_of(chain_of("relay", d, g)), runs) > ERROR_RATE
    steps = probabilities(steps_distribution(Network(d, g), "relay"))
    assert p_value(found.tally.steps, steps, runs) > ERROR_RATE


@pytest.mark.parametrize("router", ["mei-rizzi", "relay"])
@pytest.mark.parametrize(("d", "g"), [(1, 1), (2, 2)])
def test_steps_are_counted_as_in_runs(router: str, d: int, g: int) -> None:
    """Also on the identity, on which relay has a step without a stage, and over all together."""
    network = Network(d, g)
    each = [steps_distribution(network, router, pi) for pi in permutations(range(network.n))]
    every = steps_distribution(network, router)
    assert sum(chain.mean for chain in each) / len(each) == every.mean
    assert sum(chain.mean_slots for chain in each) / len(each) == every.mean_slots
    squares = sum(chain.variance + chain.mean**2 for chain in each) / len(each)
    assert squares == every.variance + every.mean**2
    for steps, probability in enumerate(every.within):
        known = [chain.within[min(steps, len(chain.within) - 1)] for chain in each]
        assert abs(sum(known, Fraction(0)) / len(each) - probability) <= max(
            chain.left for chain in each
        )
    variant = "S" if router == "relay" else "published"
    for steps in route(d, g, router=router, variant=variant, permutation="identity", runs=20).steps:
        assert each[0].probability(int(steps)) > 0
    if router == "relay":
        assert each[0].mean == each[0].mean_slots == 1
        assert each[0].within == (Fraction(0), Fraction(1))


def test_the_table_on_the_page_has_these_means() -> None:
    page = Path(__file__).parents[3] / "docs/explanation/exact-chains.md"
    rows = re.findall(r"^\| POPS\((\d), (\d)\) \|(.*)\|$", page.read_text("utf-8"), re.MULTILINE)
    small = [(int(d), int(g), cells.split("|")) for d, g, cells in rows if int(d) * int(g) < 9]
    assert len(small) == 3
    for d, g, cells in small:
        for router, (fraction, mean, sd) in (("mei-rizzi", cells[:3]), ("relay", cells[3:])):
            found = steps_distribution(Network(d, g), router)
            assert fraction.strip() in (str(found.mean), "(31 digits)")
            assert (mean.strip(), sd.strip()) == (f"{float(found.mean):.4f}", f"{found.sd:.3f}")


def test_five_stages_of_relay_are_enough_on_the_smallest_squares() -> None:
    """A group has too few packets for two pairs, and a pair that met does not meet again."""
    for g in (2, 3):
        within = solve(chain_of("relay", g, g)).within
        assert within[4] < within[5] == 1


Table = tuple[tuple[int, ...], ...]
"""A bijection for each group."""


class Scripted:
    """A public bijection that is told."""

    def __init__(self, table: Table | Ints) -> None:
        self.table: Ints = np.array(table, dtype=np.int32)

    def __call__(self, groups: Ints, values: Ints) -> Ints:
        places: Ints = self.table[groups, values]
        return places

    def turned(self, turn: Ints) -> Scripted:
        return Scripted((self.table + turn[:, None]) % self.table.shape[1])


def left_by_the_machine(
    network: Network, destination: Ints, script: tuple[Table, ...], patch: pytest.MonkeyPatch
) -> frozenset[int]:
    """The sources without an ack after the scripted stages of relay, executed slot by slot.

    A turned stage asks for a permutation of the groups, as for a bijection of one group.
    """
    told = iter(script)

    def tell(seed: int, number: int, groups: int, size: int) -> Scripted:
        table = next(told, (tuple(range(size)),) * groups)
        assert len(table) == groups
        return Scripted(table)

    patch.setattr(state, "Bijection", tell)
    senders: list[frozenset[int]] = []

    def watch(event: Event) -> None:
        if event.phase == "sweep: attempt":
            senders.append(frozenset(send[0] for send in event.records()[0]))

    steps = len(script) + 1
    instance = Instance(network, get_router("relay"), "S", destination, Coins(0), steps)
    ENGINES["slots"].execute(instance, [watch])
    return senders[len(script)] if len(senders) > len(script) else frozenset()


def all_bijections(network: Network) -> list[Table]:
    return list(product(permutations(range(network.d)), repeat=network.g))


def all_turns(network: Network) -> list[Table]:
    return [(turn,) for turn in permutations(range(network.g))]


def stages_by_the_machine(destination: Ints, patch: pytest.MonkeyPatch) -> Fraction:
    """The mean over all bijections on POPS(2, 2), from the machine, once for every outcome."""
    network = Network(2, 2)
    tables, turns = all_bijections(network), all_turns(network)
    known: dict[tuple[int, frozenset[int], tuple[Table, ...]], Fraction] = {}

    def mean(pending: frozenset[int], script: tuple[Table, ...]) -> Fraction:
        """Of the stages that remain; places matter once they are only turned."""
        if not pending:
            return Fraction(0)
        key = len(script), pending, script[FRESH - 1 :]
        if key not in known:
            longer = [(*script, table) for table in (tables if len(script) < FRESH else turns)]
            left = [
                left_by_the_machine(network, destination, tables_of_run, patch)
                for tables_of_run in longer
            ]
            rest = sum(map(mean, left, longer), Fraction(0))
            known[key] = 1 + rest / len(longer)
        return known[key]

    return mean(frozenset(np.flatnonzero(destination != np.arange(4)).tolist()), ())


def test_the_machine_itself_takes_137_96_stages_on_pops_2_2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means = [
        stages_by_the_machine(np.array(pi, dtype=np.int32), monkeypatch)
        for pi in permutations(range(4))
    ]
    assert sum(means) / 24 == MEANS["relay", 2, 2]


def some_permutations(n: int) -> Iterator[Ints]:
    return (permutation(n, seed) for seed in range(2))


def test_a_stage_of_the_machine_is_a_step_of_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """On POPS(3, 3), all 216 bijections."""
    network = Network(3, 3)
    tables = all_bijections(network)
    for destination in some_permutations(9):
        found: Counter[State] = Counter()
        for table in tables:
            left = left_by_the_machine(network, destination, (table,), monkeypatch)
            rest = [int(destination[i]) if i in left else i for i in range(9)]
            found[between_groups(network, rest)] += 1
        weights, total = relay_chain(network).move(0, between_groups(network, destination.tolist()))
        assert {to: Fraction(ways, total) for to, ways in weights.items()} == {
            to: Fraction(count, len(tables)) for to, count in found.items()
        }


def test_the_fresh_stages_are_those_of_the_router() -> None:
    assert FRESH == bijection.FRESH


@pytest.mark.parametrize("seed", [2, 15, 22, 42])
def test_a_turned_stage_of_the_machine_is_a_step_of_the_chain(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On POPS(4, 4), all 24 turns, once four stages with the same bijections have left many."""
    network, destination = Network(4, 4), permutation(16, seed)
    table = tuple(tuple(permutation(4, 10 * seed + b).tolist()) for b in range(4))
    script = (table,) * FRESH
    lines = [[0] * 16 for _ in range(4)]
    for i in left_by_the_machine(network, destination, script, monkeypatch):
        b, value = divmod(int(destination[i]), 4)
        lines[b][i // 4 * 4 + table[b][value]] = 1
    found = Counter(
        len(left_by_the_machine(network, destination, (*script, turn), monkeypatch))
        for turn in all_turns(network)
    )
    expected: Counter[int] = Counter()
    for to, ways in turn(tuple(map(tuple, lines))).weights.items():
        expected[pending(to)] += ways
    assert found == expected
    assert len(found) > 1  # chance decides


@examples(20)
@given(g=st.integers(2, 4), seed=st.integers(0, 2**32), left=st.integers(1, 7))
def test_a_stage_that_keeps_places_is_a_stage(g: int, seed: int, left: int) -> None:
    """Without the places, where it goes is what coins alone say."""
    destination, sources = permutation(g * g, seed), permutation(g * g, seed + 1)[:left]
    rest = [int(destination[i]) if i in sources else i for i in range(g * g)]
    state = between_groups(Network(g, g), rest)
    forgotten: Counter[State] = Counter()
    weights, total = place(state)
    for to, ways in weights.items():
        lines = [[sum(line[s * g : s * g + g]) for s in range(g)] for line in to]
        forgotten[canonical(tuple(map(tuple, lines)))] += ways
    expected, whole = relay_chain(Network(g, g), rest).move(0, state)
    assert {to: Fraction(ways, total) for to, ways in forgotten.items()} == {
        to: Fraction(ways, whole) for to, ways in expected.items()
    }


def test_equations_of_states_that_go_to_each_other() -> None:
    """A walk on 0, 1, 2, 3 that ends at either end takes two steps from the middle, on average."""
    middle: State = ((1,),)
    two: State = ((2,),)
    half = {middle: {two: Fraction(1, 2)}, two: {middle: Fraction(1, 2)}}
    assert eliminate(half, {middle: Fraction(1), two: Fraction(1)}) == {middle: 2, two: 2}


def test_nothing_is_left_at_the_end() -> None:
    pops = relay_chain(Network(2, 2))
    assert is_done(((0, 0), (0, 0)))
    assert pops.move(0, ((0, 0), (0, 0))) == ({((0, 0), (0, 0)): 1}, 1)


def test_a_law_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="must not decrease"):
        Distribution(Fraction(1), Fraction(0), (Fraction(1), Fraction(0)), 1)
    with pytest.raises(InputError, match="too many states"):
        relay_chain(Network(9, 2))
