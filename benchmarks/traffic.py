"""How fast is continuous traffic? Validates the compiled engine, then times every scheduler.

Prints million processor-slots per second of one thread, at half of the largest uniform load of
each scheduler: of the compiled schedulers alone, and of ``popsnet.simulate``, with arrivals and
measures, which is what users call; and the ratio of both, measured in the same run.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import popsnet
from popsnet import Network
from popsnet.runs.simulate import open_session
from popsnet.traffic import TrafficExperiment, all_schedulers

SHAPES = ((32, 32), (64, 64), (16, 64), (64, 16))
PROCESSOR_SLOTS = 2**25
"""The length of a measurement, after a warm-up of three periods and as long."""


def validate() -> int:
    """Compare the logs of both engines; returns how many agreed, or fails."""
    checked = 0
    for d, g in ((3, 5), (5, 3), (4, 4)):
        for name in (one.name for one in all_schedulers()):
            for load in (0.05, 0.8):
                experiment = TrafficExperiment(d, g, scheduler=name, load=load, overload=True)
                block = experiment.resolved_arrivals.block(0, 300)
                logs = [open_session(experiment, one).advance(block) for one in ("slots", "fused")]
                if not all(map(np.array_equal, *logs)):
                    raise SystemExit(f"The engines do not agree on {experiment}.")
                checked += 1
    return checked


def kernel_speed(experiment: TrafficExperiment) -> float:
    """Return the processor-slots per second of the scheduler alone."""
    n, arrivals = experiment.network.n, experiment.resolved_arrivals
    session, slots = open_session(experiment, "fused"), max(1, min(2**20, PROCESSOR_SLOTS) // n)
    period = experiment.resolved_scheduler.period(experiment.network)
    warm = max(3 * period, PROCESSOR_SLOTS // n)
    begin, seconds = 0, 0.0
    while begin < warm + PROCESSOR_SLOTS // n:
        block = arrivals.block(begin, slots)
        now = time.thread_time()
        session.advance(block)
        seconds += (time.thread_time() - now) * (begin >= warm)
        timed = begin + slots - warm
        begin += slots
    return n * timed / seconds


def user_speed(experiment: TrafficExperiment) -> float:
    """Return the processor-slots per second of a point, warm-up and drain included."""
    point = experiment.replaced(slots=max(1, PROCESSOR_SLOTS // experiment.network.n))
    now = time.thread_time()
    result = popsnet.simulate(point, progress=False)
    seconds = time.thread_time() - now
    return experiment.network.n * (result.warm_up + result.slots + result.drain) / seconds


def half_load(name: str, network: Network) -> float:
    """Return half of the largest uniform load that a scheduler states."""
    stated = popsnet.traffic.find_scheduler(name).saturation
    assert stated is not None
    return stated(network) / 2


def main() -> None:
    """Validate, then time."""
    console = Console()
    console.print(f"{validate()} runs agree in every slot.")
    table = Table("network", "scheduler", "load", "kernel", "simulate", "simulate/kernel")
    for d, g in SHAPES:
        for name in sys.argv[1:] or [one.name for one in all_schedulers()]:
            load = half_load(name, Network(d, g))
            experiment = TrafficExperiment(d, g, scheduler=name, load=load)
            kernel, users = kernel_speed(experiment), user_speed(experiment)
            speeds = f"{kernel / 1e6:.1f}", f"{users / 1e6:.1f}", f"{users / kernel:.2f}"
            table.add_row(f"POPS({d}, {g})", name, f"{load:.4g}", *speeds)
    console.print("Million processor-slots per second, one thread")
    console.print(table)


if __name__ == "__main__":
    main()
