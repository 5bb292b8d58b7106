"""What every engine does alike."""

from __future__ import annotations

import pytest

from popsnet import (
    Experiment,
    route,
)
from popsnet.engines import ENGINES, Outcomes, Tally


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_the_same_protocol(engine: str) -> None:
    """And gives the same runs, in blocks or one by one, in one session or several."""
    experiment = Experiment(4, 4, seed=3)
    chosen = ENGINES[engine]
    assert chosen.name == engine
    assert chosen.supports(experiment) is None
    assert chosen.memory(experiment) > 0
    assert chosen.batch(experiment) >= 1
    expected = route(experiment, runs=12, engine="slots").tally
    with chosen.open(experiment, threads=2) as session:
        assert session.tally(range(12)) == expected
        assert session.tally(range(5)) + session.tally(range(5, 12)) == expected
        outcomes = Outcomes.joined(list(session.run(range(3, 9))))
    assert Tally.of(outcomes) == route(experiment, first=3, runs=6, engine="slots").tally
