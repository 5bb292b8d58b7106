"""What the fused engine is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from popsnet import Outcome, Point, routed
from popsnet.engines import ENGINES, Instance
from popsnet.engines.fused import RelaySession, Session
from popsnet.trace import Event


def by_messages(instance: Instance) -> Outcome:
    """By the engine that executes every message, but for buffers, which fused does not count."""
    return replace(ENGINES["slots"].execute(instance, ()), peak_buffers=None)


def assert_same_runs(d: int, g: int, runs: int, threads: int, **choices: Any) -> None:
    """The runs of a point are the same on both engines, however many threads there are."""
    slow, fast = (Point.of(d, g, engine=engine, **choices) for engine in ("slots", "fused"))
    expected = [replace(run.outcome, peak_buffers=None) for run in routed(slow, runs)]
    assert [run.outcome for run in routed(fast, runs, threads=threads)] == expected


def assert_same_after_an_interrupt(session: Session | RelaySession, instance: Instance) -> None:
    """A run that an observer interrupts leaves nothing behind in a session."""

    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    expected = session.execute(instance)
    with pytest.raises(KeyboardInterrupt):
        session.execute(instance, [interrupt])
    assert session.execute(instance) == expected == by_messages(instance)
