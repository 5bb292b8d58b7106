from __future__ import annotations

from popsnet.model.network import Network
from popsnet.programs.routers.deterministic import aks_slots
from popsnet.programs.routers.relay import expected_slots
from popsnet.programs.routers.relay.census import census_slots
from popsnet.studies.comparisons import predict


def test_routers_of_our_own_are_among_the_bounds() -> None:
    network = Network(32, 4)
    bounds = predict(network).bounds
    found = {bound.name: (bound, slots) for bound, slots in bounds}
    assert found["aks"][1] == aks_slots(network, repaired=True)
    assert found["relay, planned"][1] == expected_slots(network)
    assert "not proved" in found["relay, planned"][0].holds
    assert found["relay, census"][1] == census_slots(network)
    kinds = [bound.kind for bound, _ in bounds]
    assert kinds == sorted(kinds, reverse=True)


def test_phases_are_followed_if_asked_for() -> None:
    assert not predict(8, 8).phases
    steps = predict(8, 8, phases=True).phases
    assert [one.step for one in steps] == list(range(len(steps)))
    assert steps[-1].after.max_degree == 0
