from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, InputError, Network
from popsnet.model.slot import Ints
from popsnet.studies.adversaries import (
    FAMILIES,
    TwoHop,
    attack_two_hop,
    find_two_hop,
    randomized,
    separation,
)
from popsnet.studies.adversaries.execution import complete
from popsnet.studies.adversaries.two_hop.algorithm import one_listener
from popsnet.studies.adversaries.two_hop.execution import execute_two_hop, randomized_slots
from popsnet.studies.adversaries.two_hop.keeping import classes_of, kept_before, round_of
from popsnet.theory.bounds import guaranteed_rounds
from tests.conftest import permutation
from tests.each import each, examples


@each("name", sorted(FAMILIES))
@each(("d", "g"), [(8, 8), (16, 16), (32, 32), (16, 8), (12, 20)])
def test_every_family_is_delayed_and_the_machine_confirms_it(name: str, d: int, g: int) -> None:
    attack = attack_two_hop(FAMILIES[name], Network(d, g))
    assert attack.confirmed
    assert attack.slots >= max(attack.guaranteed, 2)
    assert sorted(attack.destination) == list(range(d * g))
    if d == g:
        assert attack.slots >= 2 * np.log2(g)


def test_what_the_theorem_promises() -> None:
    promised = [guaranteed_rounds(Network(g, g)) for g in (2, 8, 16, 64, 256, 1024, 2**14)]
    assert promised == [0, 1, 2, 3, 5, 7, 10]
    assert guaranteed_rounds(Network(10**6, 3)) == 2


def tables(network: Network, seed: int, groups: int) -> TwoHop:
    """Any c_out and c_in at all, drawn from the first few groups: crowds, mutes, solos."""
    rng = np.random.default_rng(seed)
    out = rng.integers(groups, size=(50, network.n))
    listening = rng.integers(-1, network.g, size=(50, network.n))
    listening[rng.random(50) < 0.7] = one_listener(network, 1)
    return TwoHop("tables", lambda _, slot: out[slot], lambda _, slot: listening[slot])


@examples(60)
@given(st.integers(3, 40), st.integers(3, 8), st.integers(0, 10**6), st.data())
def test_no_two_hop_algorithm_escapes_the_theorem(
    d: int, g: int, seed: int, data: st.DataObject
) -> None:
    network = Network(d, g)
    promised = guaranteed_rounds(network)
    algorithm = tables(network, seed, data.draw(st.integers(1, g)))
    attack = attack_two_hop(algorithm, network, most_rounds=max(promised, 1))
    assert attack.confirmed
    assert attack.rounds == promised
    assert attack_two_hop(algorithm, network, most_rounds=8).confirmed


@examples(60)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6), st.data())
def test_the_machine_does_what_the_class_says(
    d: int, g: int, seed: int, data: st.DataObject
) -> None:
    network = Network(d, g)
    algorithm = tables(network, seed, data.draw(st.integers(1, g)))
    destination = permutation(network.n, seed)
    arrivals = execute_two_hop(algorithm, network, destination, 6)
    assert arrivals.slot.tolist() == by_the_definition(algorithm, network, destination, 6)
    assert arrivals.outcome.lost == 0


def by_the_definition(algorithm: TwoHop, network: Network, to: Ints, rounds: int) -> list[int]:
    """The paper's six properties, one by one, with sets and dictionaries."""
    d, n = network.d, network.n
    arrived = [0] * n
    for slot in range(1, 2 * rounds + 1, 2):
        c_out, c_in = algorithm.c_out(network, slot), algorithm.c_in(network, slot)
        a_buffers = [i for i in range(n) if not arrived[i]]
        used = Counter((i // d, int(c_out[i])) for i in a_buffers)
        carried = {
            (i // d, int(c_out[i])): i for i in a_buffers if used[i // d, int(c_out[i])] == 1
        }
        heard = {i: carried.get((int(c_in[i]), i // d)) for i in range(n)}
        b_buffers = {i: packet for i, packet in heard.items() if packet is not None}
        for i, packet in b_buffers.items():
            if i // d == to[packet] // d:
                arrived[packet] = slot
        b_buffers = {i: packet for i, packet in b_buffers.items() if not arrived[packet]}
        c_in = algorithm.c_in(network, slot + 1)
        used = Counter((i // d, int(to[packet]) // d) for i, packet in b_buffers.items())
        for i, packet in b_buffers.items():
            coupler = (i // d, int(to[packet]) // d)
            listens = any(j // d == coupler[1] and c_in[j] == coupler[0] for j in range(n))
            if used[coupler] == 1 and listens:
                arrived[packet] = slot + 1
    return arrived


def crowding(network: Network, slot: int) -> Ints:
    """Group 0 sends one packet everywhere; all the others send to group 1."""
    i = np.arange(network.n)
    return np.where(i < network.d, i % network.g, 1)


def test_the_published_marking_lets_the_packet_through() -> None:
    """Any h that sends to the same group will do, it says; but h is lost in its own crowd.

    With d = g = 32 and T = 2, the processors that never send to group 0 and send to group 1 are
    √g-robust: each of them has far more than √g others with the same target. Packet 1 is
    one of them, and it arrives whichever partner is marked.
    """
    network = Network(32, 32)
    algorithm = TwoHop("crowding", crowding, one_listener)
    target = algorithm.sent_to(network, 1)
    robust = np.flatnonzero(target == 1)
    assert 1 in robust
    assert len(robust) - 1 >= 32**0.5
    for partner in robust[robust != 1][::50]:
        destination = complete(network.n, np.array([1, partner]), np.array([5, 6]))
        arrivals = execute_two_hop(algorithm, network, destination, 1)
        assert arrivals.slot[1] == 2
    rounds = [round_of(algorithm, network, 0)]
    kept = kept_before(network, rounds, classes_of(network, rounds))
    assert not kept[1][1]
    assert kept[1][network.d :].all()
    assert attack_two_hop(algorithm, network, most_rounds=4).confirmed


def test_two_listeners_destroy_what_one_would_deliver() -> None:
    """A packet that is heard twice is sent twice, on one coupler."""
    network = Network(2, 3)
    listening = np.array([0, 1, 0, 2, 1, 2])
    out = np.array([1, 0, 0, 0, 0, 0])
    destination = np.array([4, 0, 1, 2, 3, 5])
    once = TwoHop("once", lambda _, slot: out, lambda _, slot: listening)
    assert execute_two_hop(once, network, destination, 1).slot[0] == 2
    both = np.array([0, 1, 0, 0, 1, 2])
    twice = TwoHop("twice", lambda _, slot: out, lambda _, slot: both)
    assert execute_two_hop(twice, network, destination, 1).slot[0] == 0


def test_the_randomized_algorithm_is_fast_also_where_others_are_delayed() -> None:
    found = separation(Network(64, 64), list(FAMILIES.values()), runs=10)
    assert found.confirmed
    runs = [*found.randomized, *found.randomized_on_worst]
    assert not any(run.capped for run in runs)
    assert max(run.slots for run in runs) <= 20
    mean = np.mean([run.slots for run in found.randomized])
    assert all(attack.slots > mean for attack in found.attacks.values())


def test_a_randomized_run_that_is_cut_says_so() -> None:
    """Sixteen packets a coupler: one is alone on its own about once in 10^7 rounds."""
    network = Network(64, 4)
    (needed,) = randomized_slots(network, [permutation(network.n, 1)])
    assert needed == (2000, True)


def test_the_randomized_algorithm_with_known_coins_is_delayed_like_any_other() -> None:
    attack = attack_two_hop(randomized(Coins(3)), Network(16, 16))
    assert attack.confirmed
    assert attack.slots >= 8


def written(tmp_path: Path, text: str) -> TwoHop:
    (tmp_path / "mine.py").write_text(text)
    return find_two_hop(str(tmp_path / "mine.py"))


def test_algorithms_of_a_file(tmp_path: Path) -> None:
    network = Network(8, 8)
    line = "def c_out(d, g, i, slot):\n    return (i % d + i // d + slot // 2) % g\n"
    for text in (line, f"arrays = True\n{line}"):
        mine = attack_two_hop(written(tmp_path, text), network)
        assert mine.slots == attack_two_hop(FAMILIES["rotation"], network).slots
        assert mine.confirmed
    deaf = "def c_in(d, g, processor, slot):\n    return -1\n"
    assert attack_two_hop(written(tmp_path, line + deaf), network, 3).rounds == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "from itertools import count\ncalls = count()\n"
            "def c_out(d, g, i, t):\n    return next(calls) % g",
            "not a function of processor and slot: for processor 0 in slot 1 it gives group 0 and, "
            "asked again, group 2",
        ),
        ("def c_out(d, g, i, t):\n    return g", "gives group 3 for processor 0 in slot 1"),
        ("def c_out(d, g, i, t):\n    return -1", "gives group -1 for processor 0"),
        ("def c_out(d, g, i, t):\n    return 0.5", "return .*9 integers"),
        ("def c_out(d, g, i, t):\n    return i // 0", "raises ZeroDivisionError"),
        ("arrays = True\ndef c_out(d, g, i, t):\n    return 0", "return .*9 integers"),
        ("def c_in(d, g, i, t):\n    return 0", "defines no function c_out"),
        ("c_in = 7\ndef c_out(d, g, i, t):\n    return 0", "must define c_in.*, or leave it out"),
        ("def c_out(d, g, i, t):\n    raise SystemExit(0)", "raises SystemExit: 0"),
        (
            "arrays = True\ndef c_out(d, g, i, t):\n    i[:] = 0\n    return i",
            "raises ValueError: assignment destination is read-only",
        ),
    ],
)
def test_what_is_no_two_hop_algorithm_is_refused_with_a_witness(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        attack_two_hop(written(tmp_path, text), Network(3, 3))


@pytest.mark.parametrize("name", ["c_out", "c_in"])
def test_what_changes_after_planning_is_refused_with_a_witness(tmp_path: Path, name: str) -> None:
    rounds, n = 4, 64
    text = (
        "from itertools import count\ncalls = {'c_out': count(), 'c_in': count()}\n"
        "def late(name):\n"
        f"    return name == '{name}' and next(calls[name]) >= {2 * rounds * n}\n"
        "def c_out(d, g, i, t):\n    return 0 if late('c_out') else (i + t) % g\n"
        "def c_in(d, g, i, t):\n    return 0 if late('c_in') else i % d\n"
    )
    with pytest.raises(InputError, match=f"{name} of .* asked again, group 0"):
        attack_two_hop(written(tmp_path, text), Network(8, 8), rounds)


def test_names_and_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="no two-hop algorithm 'best'"):
        find_two_hop("best")
    with pytest.raises(InputError, match="most_rounds = 0"):
        attack_two_hop(FAMILIES["hashed"], Network(8, 8), 0)
    with pytest.raises(InputError, match="g² = 100,000,000 couplers"):
        attack_two_hop(FAMILIES["hashed"], Network(1, 10**4))
    with pytest.raises(InputError, match=r"On POPS\(1, 1\) this construction finds no packet"):
        attack_two_hop(FAMILIES["hashed"], Network(1, 1))
