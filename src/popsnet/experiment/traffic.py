"""A traffic experiment: everything that decides one point, as one value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict

import numpy.typing as npt

from popsnet.base.errors import InputError, abbreviated, wrong
from popsnet.experiment.experiment import (
    NOTHING,
    Experiment,
    Spelling,
    medium_fields,
    seed_number,
    whole_number,
)
from popsnet.experiment.stop import StopRule, share_of_mean
from popsnet.model.coins import Coins
from popsnet.model.faults import Faults
from popsnet.model.faults.faults import faults_of
from popsnet.model.network import Network, network_of
from popsnet.programs.scheduler import (
    ProgramFunction,
    Scheduler,
    find_scheduler_variant,
    scheduler_label,
)
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.workloads.arrivals import Arrivals, make_arrivals
from popsnet.workloads.largest_loads import Bounds, require_admissible

PRECISION = 0.02
"""The precision of the mean delay by default."""


class TrafficParameters(TypedDict, total=False):
    """The parameters of :class:`TrafficExperiment` after ``d`` and ``g``."""

    scheduler: str | Path | Scheduler | ProgramFunction
    variant: str | None
    load: float | None
    pattern: str | Path | npt.ArrayLike
    burst: float | None
    matrix: str | Path | npt.ArrayLike | None
    packets: str | Path | None
    buffer: int
    seed: int
    arrival_seed: int
    slots: int | None
    precision: float | str | None
    max_slots: int | None
    overload: bool
    faults: Faults | str | None
    fault_seed: int
    known_faults: bool
    wavelengths: int


@dataclass(frozen=True, init=False, repr=False)
class TrafficExperiment(Experiment):
    """A scheduler on a network with its arrivals, and everything else that decides a point.

    An experiment is a value: it can be compared, hashed, pickled and written as JSON. The same
    experiment gives the same result, on either engine, on any machine.

    Parameters
    ----------
    d, g : int
        Processors per group, and groups, each at least 1.
    scheduler : str, Path, Scheduler or generator function
        The name of a registered scheduler, a file ``name.py`` that registers one, a
        :class:`Scheduler`, or a generator function. ``"NAME:VARIANT"`` names the variant as well.
    variant : str, optional
        A variant of the scheduler, by default its first.
    load : float, optional
        Packets per processor and slot, above 0 and at most 1. A packet list has its own.
    pattern : str, Path or array
        Where packets go: ``uniform``, ``hotspot:1:0.2``, the name of a permutation, and others;
        or a permutation as a file or an array.
    burst : float, optional
        The mean length of bursts of packets. By default packets arrive independently (Bernoulli).
    matrix : str, Path or array, optional
        Rates between processors (n × n) or groups (g × g) in place of a pattern, scaled to the
        load.
    packets : str or Path, optional
        A CSV file of packets in place of load and pattern. It is measured from slot 1 on, without
        a warm-up, until all packets are delivered.
    buffer : int
        Packets of its own that a processor may hold, and as many of others; 0 for any number.
    seed, arrival_seed : int
        The seeds of the scheduler's coins and of the arrivals, from 0 to 2^64 - 1.
    slots : int, optional
        The slots to measure. By default as many as ``precision`` needs.
    precision : float, optional
        The half-width of the 95 % interval of the mean delay that is enough, as a share of the
        mean, by default 0.02. Not given with ``slots`` or ``packets``.
    max_slots : int, optional
        The most slots to measure. Not given with ``slots`` or ``packets``.
    overload : bool
        Allow a load above the bound that holds for any scheduler. Not given with ``packets``.
    faults : Faults or str, optional
        What does not work, as :class:`~popsnet.Faults` or as the text of it. By default everything
        works.
    fault_seed : int
        The seed of random faults and lost messages, from 0 to 2^64 - 1.
    known_faults : bool
        Whether every processor knows the dead parts, as it knows d and g. Packets without a path
        are then refused when they arrive, and schedulers do not use dead couplers and relays.
    wavelengths : int
        Wavelengths per coupler, at least 1. The scheduler must use them.

    Raises
    ------
    InputError
        If a parameter is wrong, or no scheduler can carry the load.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment
    >>> experiment = TrafficExperiment(8, 8, scheduler="aloha", load=0.1)
    >>> experiment.variant, experiment.arrivals
    ('backoff', 'bernoulli uniform')
    >>> TrafficExperiment.from_json(experiment.to_json()) == experiment
    True
    """

    load: float
    buffer: int
    slots: int | None
    precision: float
    max_slots: int | None
    known_faults: bool

    _unchecked: ClassVar[tuple[str, ...]] = ("slots", "precision", "max_slots")
    spelling: ClassVar[Spelling] = Spelling(
        "traffic",
        {
            "d": "d", "g": "g", "scheduler": "program", "version": "version", "variant": "variant",
            "arrivals": "workload", "load": "load", "buffer": "buffer", "seed": "seed",
            "arrival_seed": "workload_seed", "slots": "slots", "precision": "precision",
            "max_slots": "max_slots", "faults": "faults", "fault_seed": "fault_seed",
            "known_faults": "known_faults", "wavelengths": "wavelengths",
        },
        ({"faults": "", "fault_seed": 0, "known_faults": False}, {"wavelengths": 1}),
        {"scheduler": "version"},
        unused={"max_steps": 0},
    )  # fmt: skip

    def __init__(
        self,
        d: Network | int,
        g: int | None = None,
        *,
        scheduler: str | Path | Scheduler | ProgramFunction = "rotor",
        variant: str | None = None,
        load: float | None = None,
        pattern: str | Path | npt.ArrayLike = "uniform",
        burst: float | None = None,
        matrix: str | Path | npt.ArrayLike | None = None,
        packets: str | Path | None = None,
        buffer: int = 0,
        seed: int = 0,
        arrival_seed: int = 0,
        slots: int | None = None,
        precision: float | str | None = None,
        max_slots: int | None = None,
        overload: bool = False,
        faults: Faults | str | None = None,
        fault_seed: int = 0,
        known_faults: bool = False,
        wavelengths: int = 1,
    ) -> None:
        is_whole = isinstance(d, Network) and wavelengths == 1
        network = network_of(d, g, None if is_whole else wavelengths)
        medium = medium_fields(network, faults, fault_seed)
        _require_dead_parts(faults_of(faults), known_faults)
        resolved, name = find_scheduler_variant(scheduler, variant)
        resolved.require_wavelengths(network)
        buffer = whole_number("buffer", buffer, 0, 2**31 - 1)
        seed, arrival_seed = seed_number("seed", seed), seed_number("arrival_seed", arrival_seed)
        _require_used(slots, packets, overload, precision=precision, max_slots=max_slots)
        precision = PRECISION if precision is None else share_of_mean(precision)
        StopRule(network, slots=slots, precision=precision, max_slots=max_slots)
        arrivals = make_arrivals(
            network, pattern=pattern, load=load, burst=burst, matrix=matrix, packets=packets,
            seed=arrival_seed,
        )  # fmt: skip
        kinds = {"pattern": pattern, "burst": burst, "matrix": matrix, "packets": packets}
        named = {key: _named(value) for key, value in kinds.items()}
        arrays = {key: value for key, value in kinds.items() if named[key] == _UNNAMED}
        self._fill(
            program=resolved.name, version=resolved.version, variant=name, workload=arrivals.name,
            load=float(arrivals.load), buffer=buffer, seed=seed, workload_seed=arrival_seed,
            slots=slots, precision=float(precision), max_slots=max_slots,
            known_faults=bool(known_faults), given={**named, "scheduler_file": resolved.file},
            _parts=_TrafficParts(resolved, arrivals, arrays), **self.spelling.unused, **medium,
        )  # fmt: skip
        if not overload and packets is None:
            require_admissible(self.bounds, arrivals.load)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        text = (
            f"{self.scheduler} ({self.variant}) on {self.network}, {self.arrivals}, {self.load:g}"
        )
        return f"{text}, {self.faults}" if self.faults else text

    @property
    def _objects(self) -> dict[str, Any]:
        """The parameters that need not be found under their names, since they are here."""
        arrays = {} if self._parts is None else self._parts.arrays
        return {"scheduler": self.resolved_scheduler, **arrays}

    @property
    def files(self) -> dict[str, tuple[str, str]]:
        """The files that it was made from, each with a part of the identity that has its digest."""
        arrivals = self._parts and self._parts.arrivals.file
        use = next(key for key in ("packets", "matrix", "pattern") if self.given.get(key))
        return super().files | ({use: (arrivals, self.arrivals)} if arrivals else {})

    def _parameters(self, objects: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that make the experiment: names, or some objects."""
        arrivals = {key: value for key, value in self.given.items() if key in _ARRIVALS}
        if any(value == _UNNAMED for key, value in arrivals.items() if key not in objects):
            raise InputError("its arrivals were given as an array, which is not kept.")
        parameters = {**arrivals, **super()._parameters({}), **objects}
        unwanted = {"arrivals"} | ({"load"} if parameters["packets"] else set())
        if parameters["packets"] or parameters["slots"]:
            unwanted |= {"precision", "max_slots"}
        return {key: value for key, value in parameters.items() if key not in unwanted}

    def _decided(self, changes: Mapping[str, Any]) -> set[str]:
        """Return the parameters that are chosen again if others change."""
        decided = {"variant"} if "scheduler" in changes else set()
        if changes.get("slots") or changes.get("packets"):
            decided |= {"precision", "max_slots"}
        return decided | ({"slots"} if changes.keys() & {"precision", "max_slots"} else set())

    def reopened(self, unnamed: Mapping[str, Any] = NOTHING) -> Self:
        """Return the same experiment with its scheduler and its arrivals found again.

        Its load may be above the bound, as it was allowed before.
        """
        return super().reopened({"overload": not self.given.get("packets"), **unnamed})

    def for_run(self, run: int) -> Self:
        """Return the experiment of one run of many: the same, with other seeds.

        Parameters
        ----------
        run : int
            The number of the run. Run 0 is this experiment.

        Returns
        -------
        TrafficExperiment
            The experiment, whose seeds are derived from these and the number, as
            :meth:`popsnet.Coins.for_run` derives them. A list of packets stays as it is.

        Examples
        --------
        >>> from popsnet import Coins
        >>> from popsnet.traffic import TrafficExperiment
        >>> point = TrafficExperiment(4, 4, scheduler="tdm", load=0.1, arrival_seed=7)
        >>> point.for_run(0) == point
        True
        >>> point.for_run(1).arrival_seed == Coins(7).for_run(1).seed
        True
        """
        if whole_number("run", run, 0) == 0:
            return self
        is_drawn = not self.given.get("packets")
        names = "seed", "fault_seed", *["arrival_seed"] * is_drawn
        seeds = {name: Coins(getattr(self, name)).for_run(run).seed for name in names}
        return self.replaced(overload=is_drawn, **seeds)

    @property
    def scheduler(self) -> str:
        """The name of the scheduler."""
        return self.program

    @property
    def arrivals(self) -> str:
        """When packets arrive and where they go; for files with a digest."""
        return self.workload

    @property
    def arrival_seed(self) -> int:
        """The seed of the arrivals."""
        return self.workload_seed

    @property
    def label(self) -> str:
        """The scheduler, with the variant if it is not the first."""
        return scheduler_label(self.scheduler, self.variant)

    @property
    def resolved_scheduler(self) -> Scheduler:
        """The scheduler itself."""
        name = self.given.get("scheduler_file") or self.scheduler
        return Scheduler.find(name if self._parts is None else self._parts.program)

    @property
    def resolved_arrivals(self) -> Arrivals:
        """The arrivals themselves, from slot 0 on; a new object, since bursts have a state."""
        parts = self._parts or self.reopened()._parts
        arrivals: Arrivals = replace(parts.arrivals)
        return arrivals

    @property
    def bounds(self) -> Bounds:
        """The largest loads of the pattern, for any scheduler.

        With dead parts they hold for the flows that this scheduler can reach after the last part
        has died.
        """
        arrivals, faults = self.resolved_arrivals, self.open_faults()
        if not faults.has_dead_parts or self.network.n > _MOST_FLOWS:
            return Bounds.of(self.network, arrivals.rates())
        paths = self.resolved_scheduler.paths
        return Bounds.with_faults(self.network, arrivals.flows(), faults.live, paths)

    def open_faults(self) -> TrafficFaults:
        """Return the faults of a run, with the random ones drawn."""
        return TrafficFaults(
            self.network, self.resolved_scheduler, Faults.parse(self.faults), self.fault_seed,
            self.known_faults,
        )  # fmt: skip

    def to_json(self) -> str:
        """Return the experiment as a JSON object, which :meth:`from_json` reads.

        Returns
        -------
        str
            A JSON object.
        """
        return json.dumps({"identity": self.identity, "given": dict(self.given)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the experiment that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            A JSON object.

        Returns
        -------
        TrafficExperiment
            An equal experiment; :meth:`reopened` gives one that can be run.
        """
        try:
            values = json.loads(text)
            return cls.recorded(values["identity"], values["given"])
        except InputError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"An experiment of traffic is a JSON object, as to_json writes it; this is "
                f"{abbreviated(text)}."
            ) from error


_MOST_FLOWS = 2**12
"""Processors of the largest network on which the bounds with dead parts are computed: they need
all pairs of processors."""


def _require_used(
    slots: int | None, packets: object, overload: bool, **length: float | str | None
) -> None:
    """Refuse parameters that change nothing."""
    if overload and packets is not None:
        raise wrong("overload", "True")(
            "a list of packets ends, so that any load of it is allowed; leave it out."
        )
    for name, value in length.items() if slots is not None or packets is not None else ():
        if value is not None:
            why = f"slots = {slots}" if slots is not None else "the list of packets"
            raise wrong(name, value)(f"{why} says how long to measure; leave one of the two out.")


def _require_dead_parts(faults: Faults, known: bool) -> None:
    """Refuse knowledge of dead parts where there are none."""
    if known and not faults.kinds - {"loss"}:
        raise wrong("known_faults", "True")(
            "it says that every processor knows the dead parts, and no part is dead. Give a dead "
            "part, such as 'coupler:0-1', or leave it out."
        )


@dataclass(frozen=True, slots=True)
class _TrafficParts:
    """The objects that the names of an experiment stand for."""

    program: Scheduler
    arrivals: Arrivals
    arrays: Mapping[str, Any]
    """The pattern or the matrix, if it was given as an array."""


_ARRIVALS = ("pattern", "burst", "matrix", "packets")
"""What was given of the arrivals."""
GIVEN = frozenset({*_ARRIVALS, "scheduler_file", "label"})
"""What is known of an experiment besides its identity."""

_UNNAMED = "(array)"


def _named(value: object) -> object:
    """Return a value as it is kept: a file by its path, an array not at all."""
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, Path) else _UNNAMED
