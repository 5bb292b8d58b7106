from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import isqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError, Network, check_trace
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.studies.adversaries import PATH_SYSTEMS, PathSystem, attack_paths, find_paths
from popsnet.studies.adversaries.oblivious.attack import build_by_matching, popularity
from popsnet.studies.adversaries.oblivious.congestion import average_congestion, curve
from popsnet.studies.adversaries.oblivious.crossing import crossings, execute_paths, loads, name_of
from popsnet.studies.adversaries.oblivious.observed_paths import observe
from popsnet.theory.bounds import guaranteed_congestion
from popsnet.trace import TraceWriter
from tests.conftest import permutation
from tests.each import each

SYSTEMS = pytest.mark.parametrize("name", sorted(PATH_SYSTEMS))


@SYSTEMS
@each(("d", "g"), [(4, 4), (8, 8), (16, 16), (3, 5), (6, 3)])
def test_every_system_is_broken_counted_and_executed(name: str, d: int, g: int) -> None:
    attack = attack_paths(PATH_SYSTEMS[name], Network(d, g), randoms=2)
    assert attack.confirmed
    assert attack.greedy.promised >= attack.guaranteed
    assert attack.is_worst
    assert attack.matching.promised >= attack.greedy.promised
    for trial in (attack.greedy, attack.matching, *attack.random):
        assert trial.outcome.delivered == d * g
        assert attack.matching.promised >= trial.congestion
        assert trial.outcome.slots >= trial.congestion
    assert sorted(attack.matching.destination) == list(range(d * g))


@SYSTEMS
@each(("d", "g"), [(2, 2), (2, 3), (3, 2), (1, 4)])
def test_the_matching_is_the_worst_of_all_permutations(name: str, d: int, g: int) -> None:
    network, paths = Network(d, g), PATH_SYSTEMS[name]
    every = permutations(range(network.n))
    worst = max(loads(paths, network, np.array(one)).max() for one in every)
    assert attack_paths(paths, network, randoms=0).matching.promised == worst


def wandering(network: Network, hops: int, seed: int) -> PathSystem:
    """Any processors on the way, drawn for every pair, some of them twice in a row."""
    n = network.n
    stops = np.random.default_rng(seed).integers(n, size=(n, n, hops))
    stops[:, :, 0] = np.where(stops[:, :, 0] % 3 == 0, np.arange(n)[:, None], stops[:, :, 0])

    def ways(network: Network, sources: Ints, destinations: Ints) -> Ints:
        return np.column_stack([stops[sources, destinations], destinations])

    return PathSystem("wandering", "", ways)


@given(st.integers(2, 6), st.integers(2, 6), st.integers(1, 4), st.integers(0, 10**6))
def test_no_path_system_escapes_the_bound(d: int, g: int, hops: int, seed: int) -> None:
    network = Network(d, g)
    attack = attack_paths(wandering(network, hops, seed), network, randoms=1)
    assert attack.confirmed
    assert attack.greedy.promised >= guaranteed_congestion(network)


def test_the_bound_is_the_root_of_half_of_g() -> None:
    for g in (8, 32, 128, 512, 2048):
        promised = guaranteed_congestion(Network(g, g))
        assert (g / 2) ** 0.5 - 1 < promised <= (g / 2) ** 0.5 + 1
        assert promised >= g**0.5 / 2
    assert guaranteed_congestion(Network(1, 1)) == 1


@pytest.mark.parametrize("g", [4, 9, 16, 25])
def test_grid_meets_the_bound_up_to_a_constant(g: int) -> None:
    network, paths = Network(g, g), PATH_SYSTEMS["grid"]
    popular = popularity(paths, network, 2)
    assert len(build_by_matching(paths, network, popular).sources) <= 2 * isqrt(g) + 1


def test_the_published_choice_of_sources_misses_the_node() -> None:
    """With direct paths the only processor in S_b is b, and the path of b to b crosses nothing."""
    network, paths = Network(16, 16), PATH_SYSTEMS["direct"]
    threshold = network.g**0.5 / 2
    everybody = np.arange(network.n)
    for b in (0, 100):
        others = everybody[everybody != b]
        ways = paths.between(network, others, np.full(len(others), b))
        counts = np.bincount(crossings(network, ways)[1], minlength=2 * network.n)
        popular = np.flatnonzero(counts >= threshold)
        assert popular[popular < network.n].tolist() == [b]
    published = everybody  # π(b) = b for every chosen b, and any extension of it
    assert loads(paths, network, published).max() == 0
    assert attack_paths(paths, network, randoms=0).greedy.promised == 16


def test_a_node_is_counted_once_and_waiting_not_at_all() -> None:
    network = Network(2, 3)
    ways = np.array([[0, 2, 0, 2, 5], [1, 1, 1, 4, 4], [3, 3, 3, 3, 3]])
    rows, through = crossings(network, ways)
    found = {
        (row, name_of(network, node))
        for row, node in zip(rows.tolist(), through.tolist(), strict=True)
    }
    assert len(found) == len(rows)
    assert found == {
        (0, "processor 2"), (0, "processor 0"), (0, "processor 5"),
        (0, "coupler 0→1"), (0, "coupler 1→0"), (0, "coupler 1→2"),
        (1, "processor 4"), (1, "coupler 0→2"),
    }  # fmt: skip


@SYSTEMS
def test_a_packet_that_is_home_does_not_move(name: str) -> None:
    network = Network(3, 3)
    assert loads(PATH_SYSTEMS[name], network, np.arange(9)).max() == 0
    assert execute_paths(PATH_SYSTEMS[name], network, np.arange(9)).slots == 0


def test_paths_that_come_back_are_executed() -> None:
    network = Network(4, 3)
    paths = wandering(network, hops=4, seed=1)
    destination = permutation(network.n, seed=2)
    outcome = execute_paths(paths, network, destination)
    assert outcome.delivered == network.n
    assert outcome.slots >= loads(paths, network, destination).max()


@SYSTEMS
def test_what_is_executed_passes_the_independent_check(name: str, tmp_path: Path) -> None:
    network, paths = Network(6, 6), PATH_SYSTEMS[name]
    destination = attack_paths(paths, network, randoms=0).matching.destination
    with (tmp_path / "trace.jsonl").open("w") as file:
        trace = TraceWriter(file)
        trace.begin(network, "paths", name, 0, destination, network.n + 1)
        outcome = execute_paths(paths, network, destination, [trace])
        trace.end(outcome.slots, outcome.delivered, outcome.lost_packets)
    report = check_trace(tmp_path / "trace.jsonl")
    assert report.ok, report.violations


def test_random_permutations_are_above_the_curve() -> None:
    for name in PATH_SYSTEMS:
        small, large = (average_congestion(PATH_SYSTEMS[name], Network(g, g), 10) for g in (16, 64))
        assert curve(16) < small.mean < large.mean
        assert 0 < large.standard_error < 1
    with pytest.raises(InputError, match="runs = 0"):
        average_congestion(PATH_SYSTEMS["direct"], Network(4, 4), 0)


def written(tmp_path: Path, text: str) -> PathSystem:
    (tmp_path / "mine.py").write_text(text)
    return find_paths(str(tmp_path / "mine.py"))


def test_paths_of_a_file(tmp_path: Path) -> None:
    network = Network(4, 4)
    plain = written(
        tmp_path,
        "def path(d, g, source, destination):\n"
        "    if source % 2:\n"
        "        return [destination]\n"
        "    return [destination % g * d + source // d, destination]\n",
    )
    attack = attack_paths(plain, network, randoms=1)
    assert attack.confirmed
    arrays = written(
        tmp_path,
        "arrays = True\n"
        "def path(d, g, source, destination):\n"
        "    return [destination % g * d + source // d, destination]\n",
    )
    residue = attack_paths(PATH_SYSTEMS["residue"], network, randoms=1)
    assert attack_paths(arrays, network, 1).matching.promised == residue.matching.promised


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "from itertools import count\ncalls = count()\n"
            "def path(d, g, a, b):\n    return [next(calls) % (d * g), b]",
            r"not oblivious: from (\d) to (\d) it goes by \d → \2 and, asked again, by \d → \2",
        ),
        (
            "from itertools import count\ncalls = count()\n"
            "def path(d, g, a, b):\n    return [b] if next(calls) < 9 else [a, b, a, b]",
            r"not oblivious: from \d to \d",
        ),
        (
            "def path(d, g, a, b):\n    return [a]",
            "from 1 to 0, .* does not end at its destination",
        ),
        ("def path(d, g, a, b):\n    return [-1, b]", "leaves 0 to 8"),
        ("def path(d, g, a, b):\n    return 1 / 0", "raises ZeroDivisionError"),
        ("def path(d, g, a, b):\n    return []", "from 1 to 0 returns"),
        ("def path(d, g, a, b):\n    return b", "from 1 to 0 returns"),
        ("arrays = True\ndef path(d, g, a, b):\n    return 7", "must return a list of arrays"),
        ("arrays = True\ndef path(d, g, a, b):\n    return [b * 0.5]", "must be integers"),
        ("way = 3", "defines no function path"),
        ("def path(d, g, a, b):\n    raise SystemExit(0)", "raises SystemExit: 0"),
        (
            "arrays = True\ndef path(d, g, a, b):\n    return [a * 0 + len(a) % (d * g), b]",
            r"not oblivious: from \d+ to \d+ it goes by \d → \d and, asked again, by",
        ),
        (
            "arrays = True\n"
            "def path(d, g, a, b):\n    return [a * 0 + int((a * b).sum() % (d * g)), b]",
            r"not oblivious: from \d+ to \d+ it goes by \d → \d and, asked again, by",
        ),
        (
            "arrays = True\ndef path(d, g, a, b):\n    b[:] = 0\n    return [b]",
            "raises ValueError: assignment destination is read-only",
        ),
    ],
)
def test_what_is_no_path_system_is_refused_with_a_witness(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        attack_paths(written(tmp_path, text), Network(3, 3))


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_paths_that_change_later_are_refused_with_a_witness(tmp_path: Path, passes: int) -> None:
    """All pairs are asked for four times; whenever it changes, it is seen."""
    text = (
        "from itertools import count\ncalls = count()\n"
        "def path(d, g, a, b):\n"
        f"    return [0, b] if next(calls) < {passes} * 9 * 8 + 16 else [5, b]"
    )
    with pytest.raises(InputError, match=r"not oblivious: from \d to \d it goes by .*5 → "):
        attack_paths(written(tmp_path, text), Network(3, 3))


def test_nothing_is_confirmed_that_contradicts_itself() -> None:
    attack = attack_paths(PATH_SYSTEMS["hashed"], Network(4, 4), randoms=1)
    assert attack.confirmed
    (random,) = attack.random
    built = attack.matching.built
    assert built is not None
    fewer = replace(attack.matching, built=built._replace(sources=built.sources[1:]))
    assert not replace(attack, matching=fewer).confirmed
    more = replace(random, congestion=attack.matching.promised + 1)
    assert not replace(attack, random=(more,)).confirmed


def test_beyond_the_exact_sizes_processors_are_looked_at_as_well_as_couplers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Couplers are more popular, but 2d packets can cross them at most."""
    network, paths = Network(16, 16), PATH_SYSTEMS["hashed"]
    assert attack_paths(paths, network, randoms=0).matching.promised == 159
    monkeypatch.setattr("popsnet.studies.adversaries.oblivious.attack.EXACT_N", 100)
    popular = popularity(paths, network, guaranteed_congestion(network))
    assert len(build_by_matching(paths, network, popular).sources) > 120


def test_the_paths_of_a_router_are_seen() -> None:
    network = Network(4, 4)
    router = get_router("direct")
    seen = observe(router, "standard", network)
    attack = attack_paths(seen, network, randoms=2)
    assert attack.confirmed
    assert attack.matching.promised == 4
    roll_call = observe(get_router("relay"), "roll-call", network)
    assert attack_paths(roll_call, network, randoms=2).confirmed
    pairs = np.divmod(np.arange(256), 16)
    assert np.array_equal(
        seen.between(network, *pairs), PATH_SYSTEMS["direct"].between(network, *pairs)
    )


def test_routers_that_are_not_oblivious_are_refused_with_a_witness() -> None:
    network = Network(9, 9)
    for name, wanted in (("mei-rizzi", None), ("relay", "P2 P1 P1")):
        router = get_router(name)
        variant = router.choose_variant(wanted, network)
        with pytest.raises(InputError, match=rf"{name} is not oblivious: from \d+ to \d+ its"):
            observe(router, variant, network)
    with pytest.raises(InputError, match=r"n = 2,500"):
        observe(get_router("direct"), "standard", Network(50, 50))
    with pytest.raises(InputError, match="statistics only"):
        observe(get_router("mei-rizzi"), "idealized", Network(9, 3))
    with pytest.raises(InputError, match="only if all packets are delivered"):
        observe(get_router("mei-rizzi"), "published", Network(9, 3))


def test_names_and_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="no path system 'shortest'"):
        find_paths("shortest")
    with pytest.raises(InputError, match=r"n = 65,536"):
        attack_paths(PATH_SYSTEMS["direct"], Network(256, 256))
    with pytest.raises(InputError, match="There is no file"):
        find_paths("nowhere.py")
