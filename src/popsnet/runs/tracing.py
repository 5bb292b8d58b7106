"""Runs with every message written down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from popsnet.engines import ENGINES, Engine
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.files import write_whole
from popsnet.runs.run import Run
from popsnet.trace import Observer, TraceWriter


def require_traceable(experiment: Experiment) -> None:
    """Refuse to trace a variant that gives no route."""
    if experiment.idealized:
        raise InputError(
            f"Variant {experiment.variant} of {experiment.router} gives statistics only, not a "
            "route to be traced."
        )


def write_trace(
    experiment: Experiment,
    number: int,
    file: TextIO,
    observers: Sequence[Observer] = (),
    engine: Engine = ENGINES["slots"],
) -> Run:
    """Do one run and write its trace, as it happens, to an open file."""
    require_traceable(experiment)
    begin = time.perf_counter()
    instance, trace = experiment.instance(number), TraceWriter(file)
    trace.begin(
        experiment.network,
        experiment.router,
        experiment.variant,
        experiment.seed,
        instance.array(),
        experiment.buffers,
        words=experiment.resolved_router.words_on(experiment.network, experiment.resolved_variant),
    )
    outcome = engine.execute(instance, [trace, *observers])
    trace.end(outcome.slots, outcome.delivered, outcome.lost_packets)
    return Run(experiment, number, outcome, time.perf_counter() - begin)


def run_traced(
    experiment: Experiment,
    number: int,
    path: Path,
    observers: Sequence[Observer] = (),
    engine: Engine = ENGINES["slots"],
) -> Run:
    """Do one run and write its trace to a file, which appears when the run has ended."""
    with write_whole(path) as file:
        return write_trace(experiment, number, file, observers, engine)
