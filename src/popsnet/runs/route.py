"""Route permutations: the one function that executes runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, get_type_hints

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, as_path, unexpected, wrong
from popsnet.base.files import require_writable, write_whole
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.spellings import renamed
from popsnet.engines import Outcomes, choose_engine
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.model.faults import Faults
from popsnet.model.network import Network, network_of
from popsnet.programs.router import Route, Router
from popsnet.runs.demands import PacketParameters, with_demand
from popsnet.runs.run import Runs, require_traceable, write_trace
from popsnet.trace import Event, Observer


class IntactParameters(PacketParameters, total=False):
    """Parameters of experiments that differ in the router and in what does not work."""

    permutation: str | Path | npt.ArrayLike | None
    seed: int | None
    max_steps: int | None
    fault_seed: int | None
    wavelengths: int | None


class SharedParameters(IntactParameters, total=False):
    """Parameters of experiments that differ in the router."""

    faults: Faults | str | None


class ExperimentParameters(SharedParameters, total=False):
    """All parameters of an experiment, as :func:`route` has them."""

    router: str | Path | Router | Route | None
    variant: str | None


def require_known(function: str, known: type, parameters: Mapping[str, object]) -> None:
    """Refuse a parameter that a function does not take, as Python 3.13 does."""
    if old := renamed(function, parameters):
        raise old
    code = sys._getframe(1).f_code  # the function itself, which has parameters of its own
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    names = [*own, *get_type_hints(known)]
    for name in sorted(parameters.keys() - {*names}):
        raise unexpected(function, name, names)


def route(
    d: Network | Experiment | int,
    g: int | None = None,
    *,
    runs: int = 1,
    first: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    trace: str | Path | None = None,
    observers: Sequence[Observer] = (),
    progress: Progress = None,
    **parameters: Unpack[ExperimentParameters],
) -> Runs:
    """Route permutations, or demands of any number of packets per processor, slot by slot.

    ``route(network, ...)``, ``route(d, g, ...)`` and ``route(experiment, ...)`` are the same.

    Parameters
    ----------
    d : int, Network or Experiment
        Processors per group; or a network; or an experiment, which already has the parameters
        from ``g`` to ``max_steps`` other than ``runs``.
    g : int
        Groups, if the first argument is a number.
    router : str, Path, Router or generator function
        The name of a router (by default ``mei-rizzi``), a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function.
    variant : str, optional
        A variant of the router, or a schedule. By default the router chooses.
    permutation : str, Path or array
        The name of a permutation (by default ``random``), a file, n destinations for all runs, or
        an array of shape (runs, n), whose row r is the permutation of run r.
    runs : int
        The number of runs, at least 1. Each has its own permutation and its own coins.
    seed, permutation_seed : int
        The seeds of the coins and of the permutations, from 0 to 2^64 - 1, by default 0. None, as
        for any parameter, is the default, never a random seed.
    max_steps : int
        A run is capped after this many steps, by default 1000.
    first : int
        The number of the first run, to continue a sequence.
    engine : {"auto", "objects", "slots", "fused"} or str
        What executes the runs. The results do not depend on it.
    threads : int, optional
        Threads of the ``fused`` engine, by default all processors of the computer.
    trace : str or Path, optional
        Write every message of a single run to this file.
    observers : sequence of functions
        Called with an :class:`~popsnet.trace.Event` after every slot, by ``fused`` now and then.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.
    packets : Demand, array, Path or str, optional
        The packets of every run instead of a permutation: a demand, or an array or a file with a
        row (source, destination) per packet. The router must serve demands, as ``relay``,
        ``direct`` and ``offline`` do.
    matrix : array, Path or str, optional
        The same as the number of packets from each group (row) to each group (column), which are
        dealt to the processors of a group in turn, or from each processor to each processor.
    unit : float, optional
        The amount of one packet, for amounts that are not numbers of packets; they are rounded up.
    faults : Faults or str, optional
        What does not work, as :class:`~popsnet.Faults` or as the text of it, such as
        ``"random:couplers=4 loss:0.001"``.
    fault_seed : int
        The seed of random faults and lost messages, by default 0. Each run has its own faults.
    wavelengths : int
        Wavelengths per coupler, by default 1, or those of the network. The router must use them,
        as ``offline`` and ``relay`` do.

    Returns
    -------
    Runs
        The results as NumPy arrays.

    Raises
    ------
    InputError
        If a parameter is wrong.
    RuleViolation
        If the router breaks a rule of the machine.
    KeyboardInterrupt
        If interrupted. Its attribute ``runs`` has the runs that were finished.

    Examples
    --------
    >>> import popsnet
    >>> runs = popsnet.route(32, 32, router="relay", runs=1000, seed=1)
    >>> runs.slots.min() >= 10, runs.lost.sum()
    (np.True_, np.int64(0))
    >>> popsnet.route(4, 3, router="relay", matrix=[[0, 9, 1], [4, 0, 4], [2, 2, 0]]).delivered
    array([22])
    """
    require_known("route", ExperimentParameters, parameters)
    experiment = experiment_of(d, g, **parameters)
    numbers = numbers_of(runs, first, threads)
    experiment.require_run(numbers[-1])
    if trace is not None:
        if runs != 1:
            rule = f"a trace records one run, not runs = {runs}; give runs = 1."
            raise wrong("trace", trace, "runs")(rule)
        require_writable(as_path("trace", trace))
        require_traceable(experiment)
    traced = trace is not None
    chosen = choose_engine(engine, experiment, runs=len(numbers), threads=threads, traced=traced)
    done, seconds, count = list[Outcomes](), [np.empty(0)], 0

    def finished() -> Runs:
        outcomes = Outcomes.joined(done)
        shares = np.concatenate(seconds)
        return Runs(experiment, chosen.name, numbers[: len(outcomes)], outcomes, shares)

    what = f"{experiment.router} on {experiment.network}"
    with patient_progress(what, runs, progress) as report:

        def observe(event: Event) -> None:
            where = f"step {event.step + 1}, slot {event.slot:,}"
            report(detail=f"{where}, {event.pending:,} packets pending")

        shown = not callable(progress) and progress is not False
        watching = [observe, *observers] if shown else observers
        try:
            if trace is not None:
                with write_whole(Path(trace)) as file:
                    run = write_trace(experiment, numbers[0], file, watching, chosen)
                done, seconds = [Outcomes.of([run.outcome])], [np.array([run.seconds])]
            else:
                with chosen.open(experiment, threads) as session:
                    begin = time.perf_counter()
                    for block in session.run(numbers, watching):
                        share = (time.perf_counter() - begin) / max(len(block), 1)
                        done.append(block)
                        seconds.append(np.full(len(block), share))
                        count += len(block)
                        report(count)
                        begin = time.perf_counter()
        except KeyboardInterrupt as stop:
            result = finished()
            stop.runs = result  # type: ignore[attr-defined]
            text = f"{len(result):,} of {runs:,} runs were finished"
            stop.add_note(f"{text}; the attribute runs has them.")
            raise
    return finished()


def numbers_of(runs: int, first: int, threads: int | None) -> range:
    """Return the numbers of the runs, and refuse parameters that are out of their ranges."""
    runs = whole_number("runs", runs, 1)
    first = whole_number("first", first, 0, 2**62 - runs)
    if threads is not None:
        whole_number("threads", threads, 1)
    return range(first, first + runs)


def experiment_of(network: Network | Experiment | int, g: int | None, **values: Any) -> Experiment:
    """Return the experiment of parameters, or the one that is given alone.

    None stands for the default of a parameter, but for no seed and no router.
    """
    values = {
        name: value
        for name, value in values.items()
        if value is not None or name in ("seed", "router")
    }
    if not isinstance(network, Experiment):
        whole = network_of(network, g, values.pop("wavelengths", None))
        packets = with_demand(whole, values)
        return Experiment(whole.d, whole.g, wavelengths=whole.wavelengths, **packets)
    if values := values if g is None else {"g": g, **values}:
        raise InputError(
            f"The experiment already has its parameters; leave out {', '.join(values)}, or use "
            "experiment.replaced(...)."
        )
    return network
