"""The engine fixture: one suite for every engine, and what each of them cannot do."""

from __future__ import annotations

import os
import re

import pytest

from popsnet.engines import ENGINES, find_engine
from popsnet.engines.engine import Engine
from popsnet.engines.fused import session

LARGE = "fused large"
"""The fused engine as it does large runs, one at a time on all threads, on networks of any size."""

UNSUPPORTED = [
    ("objects", "d > g|d < g", "it needs d = g"),
    ("objects", "idealized|deferred|P1 R1|relay T", "it runs only relay with stages S, P1 and Q"),
    ("objects|fused", "direct", "it runs only mei-rizzi and relay"),
    ("fused", "losses", "slot 5 decides which packets are lost, and it does not execute it"),
    ("fused", "test_the_trace_is_that_of_slots", "it executes no messages"),
    ("fused", "test_buffers_are_counted", "it does not follow buffers"),
    ("objects|fused", "test_packets_start_anywhere", "it starts with packet i at processor i"),
    ("cuda", "d < g|relay.*d > g", "it runs relay for d = g only"),
    ("cuda", "deferred|relay T", "it has no kernel for them"),
    ("cuda", "direct", "it runs only mei-rizzi and relay"),
    ("cuda", "losses", "slot 5 decides which packets are lost, and it does not execute it"),
    ("cuda", "test_the_trace_is_that_of_slots", "it executes no messages"),
    ("cuda", "test_buffers_are_counted", "it does not follow buffers"),
    ("cuda", "test_packets_start_anywhere", "it starts with packet i at processor i"),
]
"""Engines, tests and the reason. A test of this list must fail: a gap that is closed goes."""


def gap(engine: str, test: str) -> str | None:
    """Return why a test cannot pass on an engine, None if it can."""
    for engines, tests, reason in UNSUPPORTED:
        if re.match(engines, engine) and re.search(tests, test):
            return reason
    return None


HERE = [*ENGINES, *filter(None, [os.environ.get("POPSNET_TEST_ENGINE")])]
"""The engines that ship, and one of a plug-in, if it is named."""


@pytest.fixture(params=[*HERE, LARGE])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Every engine in turn."""
    name: str = request.param
    if reason := gap(name, request.node.name.replace(name, "")):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    if name == LARGE:
        monkeypatch.setattr(session, "RESIDENT", 0)
    return find_engine(name.removesuffix(" large"))
