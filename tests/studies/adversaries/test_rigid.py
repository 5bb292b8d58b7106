from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popsnet import Coins, InputError, Kind, Network, Router, Slot
from popsnet.programs.router import find_router
from popsnet.studies.adversaries import attack_rigid
from popsnet.studies.adversaries.rigid import Reach, difference, growth_of, watch_slots
from popsnet.theory.bounds import guaranteed_slots
from tests.conftest import permutation, slot_of
from tests.each import each

EXAMPLE = Path(__file__).parents[3] / "docs/examples/comparators.py"
VARIANTS = ["bitonic", "merge-exchange", "odd-even", "pratt"]


@pytest.fixture
def comparators() -> Router:
    return find_router(str(EXAMPLE))


@each("variant", VARIANTS)
@each(("d", "g"), [(1, 8), (1, 32), (4, 4), (2, 8), (8, 2)])
def test_truncated_routers_fail_where_they_must(
    comparators: Router, variant: str, d: int, g: int
) -> None:
    network = Network(d, g)
    destination = permutation(network.n, 1)
    _, whole = watch_slots(comparators, variant, network, destination, Coins(0), 10**4)
    assert whole.outcome.delivered == network.n
    attack = attack_rigid(comparators, variant, network)
    assert attack.packet is not None
    assert attack.confirmed
    assert guaranteed_slots(network) - 1 <= attack.slots < whole.outcome.slots
    assert all(one.most <= 2**one.slot for one in attack.growth)
    assert attack.growth[-1].least == network.n  # a router that sorts can put anything anywhere
    for slots in {0, 1, attack.slots // 2, attack.slots}:
        earlier = attack_rigid(comparators, variant, network, slots)
        assert earlier.packet is not None
        assert earlier.confirmed
    later = attack_rigid(comparators, variant, network, attack.slots + 1)
    assert later.packet is None
    assert later.confirmed is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_packets_are_only_where_the_sets_say(comparators: Router, variant: str) -> None:
    """And every permutation that wants the missing packet there fails, not the one alone."""
    network = Network(4, 4)
    attack = attack_rigid(comparators, variant, network)
    assert attack.packet is not None
    assert attack.processor is not None
    assert attack.destination is not None
    slots, _ = watch_slots(
        comparators, variant, network, attack.destination, Coins(0), attack.slots
    )
    _, reach = growth_of(network, slots)
    assert attack.packet not in reach.of(attack.processor)
    for seed in range(20):
        destination = permutation(network.n, seed)
        holder = int(np.flatnonzero(destination == attack.processor)[0])
        destination[[attack.packet, holder]] = destination[[holder, attack.packet]]
        _, seen = watch_slots(comparators, variant, network, destination, Coins(seed), attack.slots)
        assert not seen.delivered[attack.packet]
        for packet in np.flatnonzero(seen.delivered):
            assert packet in reach.of(int(destination[packet]))


def test_routers_that_are_not_rigid_are_refused_with_a_witness() -> None:
    network = Network(4, 4)
    for name in ("direct", "mei-rizzi", "relay"):
        router = find_router(name)
        variant = router.choose_variant(None, network)
        with pytest.raises(InputError, match=rf"{name} is not rigid: in slot 1 processor 0"):
            attack_rigid(router, variant, network)


def written(tmp_path: Path, body: str) -> Router:
    head = (
        "import numpy as np\n"
        "from popsnet import Slot, register\n"
        f"@register('toy {tmp_path.name}', summary='', slots='', buffers=2)\n"
        "def route(network, destination, coins, memory):\n"
        "    everybody = np.arange(network.n)\n"
    )
    (tmp_path / "toy.py").write_text(head + body)
    return find_router(str(tmp_path / "toy.py"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "    yield Slot()\n    yield Slot(listeners=everybody, listened=destination % 2)\n",
            "in slot 2 processor 0 listens to group 0 on identity, seed 0, and listens to group 1",
        ),
        (
            "    to = coins.draws(network.g, 'toy', 0, everybody)\n"
            "    yield Slot(senders=everybody, groups=to, packets=everybody)\n",
            "in slot 1 processor 0 sends a packet to group",
        ),
        (
            "    yield Slot()\n    if destination[0]:\n"
            "        yield Slot(senders=[0], groups=[0], packets=[0])\n",
            "in slot 2 processor 0 does nothing on identity.* Up to slot 1 it is rigid: give slots",
        ),
        (
            "    kind = 0 if destination[0] else 2\n"
            "    yield Slot(senders=[0], groups=[0], packets=[0], kind=np.array([kind]))\n",
            r"sends a message \(control\) to group 0 on identity",
        ),
    ],
)
def test_every_way_not_to_be_rigid_is_seen(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        attack_rigid(written(tmp_path, body), "standard", Network(2, 2))


@pytest.mark.parametrize(("d", "g"), [(8, 4), (12, 3)])
def test_the_slot_up_to_which_a_router_is_rigid_is_right(d: int, g: int) -> None:
    """Of all probes, not of the first that differs: what is said can be done."""
    network, datta = Network(d, g), find_router("datta")
    with pytest.raises(InputError, match=r"give slots = \d+") as refused:
        attack_rigid(datta, "standard", network)
    slots = int(str(refused.value).split()[-1].rstrip("."))
    assert attack_rigid(datta, "standard", network, slots).confirmed
    with pytest.raises(InputError, match="not rigid"):
        attack_rigid(datta, "standard", network, slots + 1)


def test_the_slot_is_one_up_to_which_the_transposition_agrees(tmp_path: Path) -> None:
    """It is no probe; what it differs in is found by building it."""
    router = written(
        tmp_path,
        "    odd = (destination != everybody).sum() == 2\n"
        "    for slot in range(9):\n"
        "        to = [1 if slot == 8 and destination[0] or odd and slot == 3 else 0]\n"
        "        yield Slot(senders=[0], groups=to, packets=[0])\n",
    )
    with pytest.raises(InputError, match=r"in slot 9 .* give slots = 3\."):
        attack_rigid(router, "standard", Network(3, 3))
    assert attack_rigid(router, "standard", Network(3, 3), 3).confirmed


def test_a_router_has_no_more_slots_than_it_has(comparators: Router) -> None:
    network = Network(4, 4)
    whole = attack_rigid(comparators, "bitonic", network, 10**5)
    assert (whole.slots, len(whole.growth)) == (40, 41)


def test_a_rigid_router_that_does_too_little_always_fails(tmp_path: Path) -> None:
    router = written(tmp_path, "    yield Slot()\n")
    attack = attack_rigid(router, "standard", Network(2, 2))
    assert (attack.slots, attack.packet, attack.processor) == (1, 1, 0)
    assert attack.confirmed


def test_sets_grow_by_what_is_heard() -> None:
    network = Network(2, 2)
    reach = Reach(network)
    met = slot_of(senders=[0, 1], groups=[1, 1], packets=[0, 1], listeners=[2], listened=[0])
    reach.after(met)
    assert reach.sizes().tolist() == [1, 1, 1, 1]
    told = slot_of(senders=[0], groups=[1], kind=Kind.CONTROL, listeners=[2], listened=[0])
    reach.after(told)
    assert reach.sizes().tolist() == [1, 1, 1, 1]
    spread = slot_of(
        senders=[0], groups=[0, 1], fanout=[2], packets=[0], listeners=[1, 2, 3], listened=[0, 0, 0]
    )
    reach.after(spread)
    assert [reach.of(i).tolist() for i in range(4)] == [[0], [0, 1], [0, 2], [0, 3]]
    swap = slot_of(senders=[1, 2], groups=[1, 0], packets=[1, 2], listeners=[1, 2], listened=[1, 0])
    reach.after(swap)
    assert [reach.of(i).tolist() for i in range(4)] == [[0], [0, 1, 2], [0, 1, 2], [0, 3]]
    assert reach.missing() == (0, 1)


def test_the_order_in_which_a_slot_is_written_is_no_difference() -> None:
    one = slot_of(senders=[0, 1], groups=[1, 0], listeners=[2, 3], listened=[0, 1], packets=[0, 1])
    other = slot_of(
        senders=[1, 0], groups=[0, 1], listeners=[3, 2], listened=[1, 0], packets=[3, 2]
    )
    assert difference(one, other) is None
    several = slot_of(senders=[0], groups=[0, 1], fanout=[2], packets=[0])
    turned = slot_of(senders=[0], groups=[1, 0], fanout=[2], packets=[0])
    assert difference(several, turned) is None
    assert difference(several, Slot()) == (0, "sends a packet to group 0, 1", "does nothing")


def test_numbers_are_checked(comparators: Router) -> None:
    with pytest.raises(InputError, match="slots = -1"):
        attack_rigid(comparators, "odd-even", Network(2, 2), -1)
    with pytest.raises(InputError, match="n = 1 processors;"):
        attack_rigid(comparators, "odd-even", Network(1, 1))
