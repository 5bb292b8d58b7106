"""Small runs of both drivers, compared with the engine fused in every count.

``python -m tests.cases`` executes them on the GPU, or on Numba's simulator if
NUMBA_ENABLE_CUDASIM=1. The simulator checks indices and finds most races, but not how memory is
ordered on a device, for which there is ``make sanitize``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from popsnet import Coins, Experiment
from popsnet.engines import ENGINES, Outcomes, TalliedRuns
from popsnet.engines.engine import Session
from popsnet.engines.fused import kernel_of
from popsnet.engines.fused.session import outcome_of
from popsnet.engines.fused.team import Team
from popsnet.workloads.permutations.uniform import RANDOM, UniformPermutation

from popsnet_cuda import ENGINE
from popsnet_cuda.device import describe_device
from popsnet_cuda.jit import kernel
from popsnet_cuda.launching import Launch
from popsnet_cuda.mei_rizzi.large import Division, LargeMeiRizzi
from popsnet_cuda.shuffling import SCRATCH, fill, shuffle

MANY: list[tuple[int, dict[str, Any]]] = [
    (3, {"d": 4, "g": 4}),
    (2, {"d": 3, "g": 3, "max_steps": 2}),
    (2, {"d": 6, "g": 3, "variant": "idealized"}),
    (3, {"d": 4, "g": 4, "router": "relay", "variant": "P(2,1) F R2"}),
    (2, {"d": 5, "g": 5, "router": "relay", "variant": "P1 S P1 P1 P1 R3"}),
    (2, {"d": 4, "g": 4, "router": "relay", "variant": "R1", "max_steps": 2}),
    (2, {"d": 1, "g": 1, "router": "relay", "variant": "S"}),
]
"""How many runs, and of what; on random permutations."""

ONE: list[dict[str, Any]] = [
    {"d": 6, "g": 6, "permutation": "keyed"},
    {"d": 5, "g": 5, "permutation": "transpose", "max_steps": 2},
    {"d": 9, "g": 3, "variant": "idealized", "permutation": "keyed"},
    {"d": 5, "g": 5, "router": "relay", "variant": "P(2,1) F", "permutation": "keyed"},
    {"d": 4, "g": 4, "router": "relay", "variant": "P1 R2"},
]
"""Single runs."""

DIVIDED = [(4, 4, Division(3, 2, 3)), (34, 2, Division(2, 1, 1))]
"""Networks, keyed permutations, and intermediate groups taken in parts."""


class Difference(NamedTuple):
    """A case in which two engines differ."""

    case: str
    expected: object
    found: object


def summed(some: list[TalliedRuns]) -> tuple[object, ...]:
    """The histograms of all runs, however they were divided."""
    tally, capped = (
        reduce(add, [getattr(one, name) for one in some]) for name in ("tally", "capped")
    )
    return tally, capped, sum(one.delivered for one in some)


def counts(session: Session, numbers: range) -> tuple[object, ...]:
    """Everything that a session returns."""
    outcomes = Outcomes.joined(list(session.run(numbers)))
    return (
        outcomes.table.tolist(),
        outcomes.survivors.tolist(),
        summed(list(session.tallies(numbers))),
    )


def differences(experiment: Experiment, numbers: range) -> Iterator[Difference]:
    """How the engines differ on an experiment."""
    reason = ENGINE.supports(experiment)
    if reason is not None:
        raise SystemExit(f"Engine cuda does not run {experiment}: {reason}.")
    with ENGINE.open(experiment) as here, ENGINES["fused"].open(experiment) as there:
        found, expected = counts(here, numbers), counts(there, numbers)
    if found != expected:
        yield Difference(f"{experiment}, runs {numbers}", expected, found)


def divided(d: int, g: int, division: Division) -> Iterator[Difference]:
    """How a run differs if shared memory has no room for all couplers of a group."""
    variant = "published" if d == g else "idealized"
    experiment = Experiment(d, g, variant=variant, permutation="keyed", seed=1)
    router, instance, team = kernel_of(experiment), experiment.instance(0), Team(1)
    run = LargeMeiRizzi(router, team, division)  # type: ignore[arg-type]
    found = outcome_of(router, list(run.steps(instance, lambda *_: None)))
    team.close()
    expected = ENGINES["fused"].execute(instance)
    if found != expected:
        yield Difference(f"{experiment} by {division}", expected, found)


@kernel
def _shuffled(n: Any, cells: Any, key: Any, out: Any) -> None:
    threads = np.uint32(cuda.blockDim.x)
    words, places = cuda.shared.array(0, types.uint32), cuda.shared.array(0, types.uint16)
    size, start = (int(cells) + 15) // 16, SCRATCH + int(threads)
    places = places[2 * (start + size) :]
    k = np.uint32(cuda.threadIdx.x)
    while k < np.uint32(start + size):
        words[k] = np.uint32(0)
        k += threads
    cuda.syncthreads()
    fill(places, n, n)
    shuffle(
        places, n, cells, key, words[start : start + size], words[SCRATCH:start], words[:SCRATCH]
    )
    k = np.uint32(cuda.threadIdx.x)
    while k < n:
        out[k] = places[k]
        k += threads


def shuffles(n: int, cells: int, threads: int) -> Iterator[Difference]:
    """How a permutation differs, also if several places share a cell."""
    coins = Coins(n)
    expected = UniformPermutation(n, coins).array()
    out, key = cuda.to_device(np.zeros(n, np.uint32)), np.uint64(coins.key(RANDOM, 1))
    shared = 4 * (SCRATCH + threads + -(-cells // 16)) + 2 * n
    launch, arguments = (
        Launch(_shuffled, threads, shared),
        (np.uint32(n), np.uint32(cells), key, out),
    )
    launch.resident(arguments)  # which asks for the shared memory
    launch(1, arguments)
    found = out.copy_to_host()
    if found.tolist() != expected.tolist():
        yield Difference(f"shuffle of {n} by {threads} threads", expected, found)


def all_differences() -> Iterator[Difference]:
    """All cases."""
    for runs, choices in MANY:
        yield from differences(
            Experiment(**choices, seed=3, permutation_seed=4), range(5, 5 + runs)
        )
    for choices in ONE:
        yield from differences(Experiment(**choices, seed=5, permutation_seed=6), range(1))
    for d, g, division in DIVIDED:
        yield from divided(d, g, division)
    for n, cells, threads in ((1, 1, 2), (2, 2, 2), (61, 64, 3), (97, 20, 4)):
        yield from shuffles(n, cells, threads)


def main() -> None:
    """Print how the engines differ, and where the kernels ran."""
    found = list(all_differences())
    for one in found:
        print(f"{one.case}\n  expected {one.expected}\n  found    {one.found}")
    cases = len(MANY) + len(ONE) + len(DIVIDED) + 4
    print(f"{cases} cases on {describe_device().name}, {len(found)} with differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
