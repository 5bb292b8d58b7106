"""A traffic experiment: everything that decides one point, as one value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict

import numpy.typing as npt

from popsnet.errors import InputError, abbreviated
from popsnet.experiment import seed_number, whole_number
from popsnet.faults import Faults
from popsnet.faults.faults import faults_of
from popsnet.network import Network
from popsnet.traffic.arrivals import Arrivals, make_arrivals
from popsnet.traffic.bounds import Bounds, require_admissible
from popsnet.traffic.faulty import TrafficFaults
from popsnet.traffic.scheduler import (
    Schedule,
    Scheduler,
    all_schedulers,
    find_scheduler,
    find_scheduler_variant,
    scheduler_label,
)
from popsnet.traffic.simulation import Plan

_FORMAT = 1
"""Increased if the same fields come to mean other results."""

PRECISION = 0.02
"""The precision of the mean delay by default."""


class TrafficParameters(TypedDict, total=False):
    """The parameters of :class:`TrafficExperiment` after ``d`` and ``g``."""

    scheduler: str | Path | Scheduler | Schedule
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
    precision: float | None
    max_slots: int | None
    overload: bool
    faults: Faults | str | None
    fault_seed: int
    known_faults: bool
    wavelengths: int


@dataclass(frozen=True, init=False, repr=False)
class TrafficExperiment:
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
        A CSV file of packets in place of load and pattern. It is measured from slot 0 on, without
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

    d: int
    g: int
    scheduler: str
    version: str
    """The version of the scheduler. For one from a file it contains a digest of the file."""
    variant: str
    arrivals: str
    """When packets arrive and where they go; for files with a digest."""
    load: float
    buffer: int
    seed: int
    arrival_seed: int
    slots: int | None
    precision: float
    max_slots: int | None
    faults: str
    """The faults as a text, empty if there are none."""
    fault_seed: int
    known_faults: bool
    wavelengths: int
    """Wavelengths per coupler."""
    given: Mapping[str, Any] = field(compare=False)
    """The pattern, the burst and the names of files, as they were given, and a label if there is
    one. None of it belongs to the identity."""
    _parts: tuple[Scheduler | None, Arrivals | None] = field(compare=False)
    _arrays: Mapping[str, Any] = field(compare=False)
    """The pattern or the matrix, if it was given as an array."""

    def __init__(
        self,
        d: int,
        g: int,
        *,
        scheduler: str | Path | Scheduler | Schedule = "rotor",
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
        precision: float | None = None,
        max_slots: int | None = None,
        overload: bool = False,
        faults: Faults | str | None = None,
        fault_seed: int = 0,
        known_faults: bool = False,
        wavelengths: int = 1,
    ) -> None:
        network = Network(d, g, wavelengths)
        broken, fault_seed = faults_of(faults), seed_number("fault_seed", fault_seed)
        broken.require_on(network)
        _require_dead_parts(broken, known_faults)
        _require_one_wavelength(network, broken)
        found, name = find_scheduler_variant(scheduler, variant)
        found.require_wavelengths(network)
        buffer = whole_number("buffer", buffer, 0, 2**31 - 1)
        seed, arrival_seed = seed_number("seed", seed), seed_number("arrival_seed", arrival_seed)
        _require_used(slots, packets, precision, max_slots, overload)
        precision = PRECISION if precision is None else precision
        Plan.make(network, slots=slots, precision=precision, max_slots=max_slots)
        arrivals = make_arrivals(
            network, pattern=pattern, load=load, burst=burst, matrix=matrix, packets=packets,
            seed=arrival_seed,
        )  # fmt: skip
        given = {"pattern": pattern, "burst": burst, "matrix": matrix, "packets": packets}
        named = {key: _named(value) for key, value in given.items()}
        named |= {"scheduler_file": found.file}
        self._fill(
            network.d, network.g, found.name, found.version, name, arrivals.name,
            float(arrivals.load), buffer, seed, arrival_seed, slots, float(precision), max_slots,
            str(broken), fault_seed if broken else 0, bool(known_faults), network.wavelengths,
            MappingProxyType(named), (found, arrivals),
            {key: value for key, value in given.items() if named[key] == _UNNAMED},
        )  # fmt: skip
        if not overload and packets is None:
            require_admissible(self.bounds, arrivals.load)

    def _fill(self, *values: object) -> None:
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return (
            f"{self.scheduler} ({self.variant}) on {self.network}, {self.arrivals}, {self.load:g}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process needs to make the same experiment."""
        _, arrivals = self._parts
        found = self.resolved_scheduler
        kept = None if found.file or any(one is found for one in all_schedulers()) else found
        values = [getattr(self, one.name) for one in fields(self)]
        return _restored, (*values[:-3], dict(self.given), kept, arrivals, self._arrays)

    @classmethod
    def recorded(
        cls, identity: Mapping[str, Any], given: Mapping[str, Any] = MappingProxyType({})
    ) -> TrafficExperiment:
        """Return the experiment with these fields, as a store keeps them.

        It can be looked up and compared. To run it, :meth:`reopened` finds its scheduler and its
        arrivals.

        Parameters
        ----------
        identity : mapping
            The values of :attr:`identity`.
        given : mapping
            The values of :attr:`given`.

        Returns
        -------
        TrafficExperiment
            The experiment, which cannot be run yet.
        """
        experiment = object.__new__(cls)
        named = {**NO_FAULTS, "wavelengths": 1, **identity}
        values = (named[one.name] for one in fields(cls) if one.compare)
        experiment._fill(*values, MappingProxyType(dict(given)), (None, None), {})
        return experiment

    def reopened(self) -> TrafficExperiment:
        """Return the same experiment with its scheduler and its arrivals found again.

        Returns
        -------
        TrafficExperiment
            An equal experiment, which can be run.

        Raises
        ------
        InputError
            If they are missing, or are not those that the experiment was made with.
        """
        files = {key: value for key, value in self.given.items() if key not in _NO_ARRIVALS}
        if _UNNAMED in files.values():
            raise InputError("its arrivals were given as an array, which is not kept.")
        here = TrafficExperiment(
            self.d, self.g, scheduler=self.given.get("scheduler_file") or self.scheduler,
            variant=self.variant, load=None if files.get("packets") else self.load,
            buffer=self.buffer, seed=self.seed, arrival_seed=self.arrival_seed,
            overload=not files.get("packets"), faults=self.faults, fault_seed=self.fault_seed,
            known_faults=self.known_faults, wavelengths=self.wavelengths, **files,
        )  # fmt: skip
        for name in _LENGTH:  # a store may have more of them than are needed
            object.__setattr__(here, name, getattr(self, name))
        for name, there in self.identity.items():
            found = getattr(here, name)
            if there != found:
                raise InputError(f"the {name} here is {found}, not {there}.")
        return here.labelled(self.given.get("label", ""))

    def with_scheduler(self, scheduler: Scheduler) -> TrafficExperiment:
        """Return the same experiment with its scheduler, which has come from elsewhere.

        Parameters
        ----------
        scheduler : Scheduler
            The scheduler.

        Returns
        -------
        TrafficExperiment
            An equal experiment.

        Raises
        ------
        InputError
            If it is not the scheduler that the experiment was made with.

        Examples
        --------
        >>> from popsnet.traffic import TrafficExperiment, find_scheduler
        >>> experiment = TrafficExperiment(4, 4, scheduler="tdm", load=0.1)
        >>> experiment.with_scheduler(find_scheduler("tdm")) == experiment
        True
        """
        for name, there in (("scheduler", scheduler.name), ("version", scheduler.version)):
            if getattr(self, name) != there:
                raise InputError(f"the {name} here is {there}, not {getattr(self, name)}.")
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        same: TrafficExperiment = object.__new__(type(self))
        same._fill(*{**values, "_parts": (scheduler, self._parts[1])}.values())
        return same

    def labelled(self, label: str) -> TrafficExperiment:
        """Return the same experiment with a name for readers, which affects nothing.

        Parameters
        ----------
        label : str
            The name; an empty one is none.

        Returns
        -------
        TrafficExperiment
            An equal experiment, whose :attr:`given` has the label.

        Examples
        --------
        >>> from popsnet.traffic import TrafficExperiment
        >>> experiment = TrafficExperiment(4, 4, load=0.1)
        >>> named = experiment.labelled("small")
        >>> named == experiment, named.digest == experiment.digest, named.given["label"]
        (True, True, 'small')
        """
        given = {key: value for key, value in self.given.items() if key != "label"}
        given |= {"label": label} if label else {}
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        same: TrafficExperiment = object.__new__(type(self))
        same._fill(*{**values, "given": MappingProxyType(given)}.values())
        return same

    @property
    def network(self) -> Network:
        """The network."""
        return Network(self.d, self.g, self.wavelengths)

    @property
    def label(self) -> str:
        """The scheduler, with the variant if it is not the first."""
        return scheduler_label(self.scheduler, self.variant)

    @property
    def identity(self) -> dict[str, Any]:
        """The parameters that decide the result, by name: faults and wavelengths only if used."""
        names = (one.name for one in fields(self) if one.compare)
        left_out = () if self.faults else (*NO_FAULTS,)
        left_out += () if self.wavelengths > 1 else ("wavelengths",)
        return {name: getattr(self, name) for name in names if name not in left_out}

    @property
    def digest(self) -> str:
        """The ID of the experiment in a store: a hash of its identity."""
        text = json.dumps({"traffic": _FORMAT, **self.identity}, sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def resolved_scheduler(self) -> Scheduler:
        """The scheduler itself."""
        found, _ = self._parts
        return found or find_scheduler(self.given.get("scheduler_file") or self.scheduler)

    @property
    def resolved_arrivals(self) -> Arrivals:
        """The arrivals themselves, from slot 0 on; a new object, since bursts have a state."""
        _, arrivals = self._parts
        return replace(arrivals or self.reopened().resolved_arrivals)  # type: ignore[type-var]

    @property
    def bounds(self) -> Bounds:
        """The largest loads of the pattern, for any scheduler.

        With dead parts they hold for the flows that this scheduler can reach after the last part
        has died.
        """
        arrivals, faults = self.resolved_arrivals, self.open_faults()
        if faults is None or not faults.has_dead_parts or self.network.n > _MOST_FLOWS:
            return Bounds.of(self.network, arrivals.rates())
        paths = self.resolved_scheduler.paths
        return Bounds.with_faults(self.network, arrivals.flows(), faults.live, paths)

    def open_faults(self) -> TrafficFaults | None:
        """Return the faults of a run, with the random ones drawn, None if there are none."""
        if not self.faults:
            return None
        return TrafficFaults(
            self.network, self.resolved_scheduler, Faults.parse(self.faults), self.fault_seed,
            self.known_faults,
        )  # fmt: skip

    def replaced(self, **changes: Any) -> TrafficExperiment:
        """Return the experiment with some parameters replaced.

        Parameters
        ----------
        **changes
            New values of parameters of :class:`TrafficExperiment`.

        Returns
        -------
        TrafficExperiment
            The new experiment.

        Examples
        --------
        >>> from popsnet.traffic import TrafficExperiment
        >>> TrafficExperiment(4, 4, load=0.1).replaced(load=0.2).load
        0.2
        """
        left_out = (*_NO_ARRIVALS, "load")
        given = {key: value for key, value in self.given.items() if key not in left_out}
        same = (
            "d", "g", "buffer", "seed", "arrival_seed", *_LENGTH, "faults", "fault_seed",
            "known_faults", "wavelengths",
        )  # fmt: skip
        if not self.given.get("packets"):
            given["load"] = self.load
        before = {
            **{name: getattr(self, name) for name in same},
            **given,
            **self._arrays,
            "scheduler": self.resolved_scheduler,
            "variant": self.variant,
        }
        if "scheduler" in changes:
            del before["variant"]
        if any(one.get(name) for one in (before, changes) for name in ("slots", "packets")):
            del before["precision"], before["max_slots"]
        if any(name in changes for name in ("precision", "max_slots")):
            del before["slots"]
        return TrafficExperiment(**{**before, **changes})

    def to_json(self) -> str:
        """Return the experiment as a JSON object, which :meth:`from_json` reads.

        Returns
        -------
        str
            A JSON object.
        """
        return json.dumps({"identity": self.identity, "given": dict(self.given)})

    @classmethod
    def from_json(cls, text: str) -> TrafficExperiment:
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
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"An experiment of traffic is a JSON object, as to_json writes it; this is "
                f"{abbreviated(text)}."
            ) from error


NO_FAULTS: dict[str, Any] = {"faults": "", "fault_seed": 0, "known_faults": False}
"""The parameters of faults, which the identity of an experiment without faults does not have."""

_MOST_FLOWS = 2**12
"""Processors of the largest network on which the bounds with dead parts are computed: they need
all pairs of processors."""


_LENGTH = ("slots", "precision", "max_slots")
"""The parameters of how long a point is measured."""


def _require_used(
    slots: int | None,
    packets: str | Path | None,
    precision: float | None,
    max_slots: int | None,
    overload: bool,
) -> None:
    """Refuse parameters that change nothing."""
    if overload and packets is not None:
        raise InputError(
            "overload = True: a list of packets ends, so that any load of it is allowed; leave it "
            "out."
        )
    given = {"precision": precision, "max_slots": max_slots}
    for name, value in given.items() if slots is not None or packets is not None else ():
        if value is not None:
            why = f"slots = {slots}" if slots is not None else "the list of packets"
            raise InputError(
                f"{name} = {value}: {why} says how long to measure; leave one of the two out."
            )


def _require_one_wavelength(network: Network, faults: Faults) -> None:
    """Refuse faults on several wavelengths: the bounds of patterns do not know both."""
    if faults and network.wavelengths > 1:
        raise InputError(
            f"wavelengths = {network.wavelengths}: continuous traffic with faults runs on networks "
            "with one wavelength per coupler; leave out one of the two."
        )


def _require_dead_parts(faults: Faults, known: bool) -> None:
    """Refuse knowledge of dead parts where there are none."""
    if known and not faults.kinds - {"loss"}:
        raise InputError(
            "known_faults = True: it says that every processor knows the dead parts, and no part "
            "is dead. Give a dead part, such as 'coupler:1,0', or leave it out."
        )


_NO_ARRIVALS = ("scheduler_file", "label")
"""What was given besides the arrivals."""
_UNNAMED = "(array)"


def _named(value: object) -> object:
    """Return a value as it is kept: a file by its path, an array not at all."""
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, Path) else _UNNAMED


def _restored(*values: Any) -> TrafficExperiment:
    """Make an experiment again in another process."""
    *identity, given, scheduler, arrivals, arrays = values
    names: Iterable[str] = (one.name for one in fields(TrafficExperiment) if one.compare)
    experiment = TrafficExperiment.recorded(dict(zip(names, identity, strict=True)), given)
    object.__setattr__(experiment, "_parts", (scheduler, arrivals))
    object.__setattr__(experiment, "_arrays", arrays)
    return experiment
