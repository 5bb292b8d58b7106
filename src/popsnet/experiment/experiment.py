"""An experiment: everything that decides a sequence of runs, as one value.

Run r of an experiment has its own permutation and its own coins, both derived from the seeds and
r, so that more runs continue the same sequence.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, unknown, wrong
from popsnet.base.files import is_file
from popsnet.base.spellings import new_spelling, refusing_old
from popsnet.model.coins import Coins
from popsnet.model.faults import ActiveFaults, Faults
from popsnet.model.faults.faults import as_recorded, faults_of, from_record
from popsnet.model.network import Network, network_of
from popsnet.model.slot import Ints
from popsnet.programs.router import Route, Router, Variant, find_variant
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.files import demand_of_matrix, read_demand, read_matrix
from popsnet.workloads.permutations.resolved import (
    Destinations,
    ResolvedPermutation,
    resolve_permutation,
)

MOST_STEPS = 10**6
"""The largest ``max_steps``."""

MAX_STEPS = 1000
"""The step after which a run is capped by default."""

_FILES = ("router_file", "permutation_file")

_WAYS = {"demand": "packets", "matrix": "matrix"}
"""The parameter that gives a demand, by the beginning of its name."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Spelling:
    """How the identity of a kind of experiments is written."""

    tag: str
    """The key of the format in what is hashed; no two kinds have the same."""
    names: Mapping[str, str]
    """The field of the experiment that each key stands for, in the order of the identity."""
    absent: tuple[Mapping[str, Any], ...]
    """Keys that an identity lacks if all of them have these values."""
    files: Mapping[str, str]
    """The field with the digest of the file of a router, a permutation and others."""
    unused: Mapping[str, Any]
    """Fields that have no key, and their value."""
    format: int = 1
    """Increased if the same values come to mean other results."""

    @property
    def defaults(self) -> dict[str, Any]:
        """The keys that an identity may lack, with their values."""
        return {key: value for group in self.absent for key, value in group.items()}

    def identity(self, experiment: Experiment) -> dict[str, Any]:
        """Return the values of an experiment by key."""
        values = {key: getattr(experiment, name) for key, name in self.names.items()}
        values["faults"] = as_recorded(values["faults"])
        for group in self.absent:
            if group.items() <= values.items():
                values = {key: value for key, value in values.items() if key not in group}
        return values

    def keys(self, record: Mapping[str, Any]) -> list[str]:
        """Return the keys of an identity that has those of a record."""
        lacks = [key for group in self.absent if not group.keys() & record.keys() for key in group]
        return [key for key in self.names if key not in lacks]

    def fields(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the fields of an experiment with this identity."""
        values = {**self.defaults, **identity}
        values["faults"] = from_record(values["faults"])
        return {**self.unused, **{name: values[key] for key, name in self.names.items()}}


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One run to execute: a permutation, a router and its coins.

    Examples
    --------
    >>> import popsnet
    >>> instance = popsnet.Experiment(2, 2, permutation="identity").instance(0)
    >>> instance.network, instance.resolved_variant.name, instance.array()
    (Network(d=2, g=2), 'published', array([0, 1, 2, 3], dtype=int32))
    """

    network: Network
    router: Router
    variant: Variant | str
    """The variant, or its name."""
    destination: Destinations
    coins: Coins
    max_steps: int
    """The run is capped after this many steps."""
    start: Ints | None = None
    """Where each packet starts, if packet i does not start at processor i (engine slots only)."""
    faults: ActiveFaults | None = None
    """What does not work in this run (engine slots only)."""
    max_slots: int | None = None
    """The run is capped after this many slots of one step, by default :attr:`most_slots`."""

    @property
    def resolved_variant(self) -> Variant:
        """The variant itself."""
        return self.router.variant(self.variant)

    @property
    def most_slots(self) -> int:
        """Slots of one step after which the run is stopped.

        The default is 10^6 + 2000n, more than any router that ships needs. The longest is aks,
        with up to about 1100n slots on one group of 4096.
        """
        return 10**6 + 2000 * self.network.n if self.max_slots is None else self.max_slots

    def array(self) -> Ints:
        """Return the destinations of all packets, computed now if they are not stored."""
        if isinstance(self.destination, np.ndarray):
            return self.destination
        destination = self.destination.array()
        destination.flags.writeable = False  # a router reads it, never changes it
        return destination


@dataclass(frozen=True, init=False, repr=False)
class Experiment:
    """A router on a network, with everything that decides its runs.

    An experiment is a value: it can be compared, hashed, pickled and written as JSON. The same
    experiment gives the same runs, on any engine that can run it, on any machine.

    Parameters
    ----------
    d, g : int
        Processors per group, and groups, each at least 1; or a network alone.
    router : str, Path, Router or generator function
        The name of a registered router, a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function. ``"NAME:VARIANT"`` names the variant as well.
    variant : str, optional
        A variant of the router, or a schedule for routers that read one. By default the router
        chooses.
    permutation : str, Path or array
        The name of a permutation, a file (``.npy``, ``.csv``, ``.json``), n destinations for all
        runs, or an array of shape (runs, n), whose row r is the permutation of run r.
    seed : int
        The seed of the router's coins, from 0 to 2^64 - 1.
    permutation_seed : int
        The seed of the permutations, from 0 to 2^64 - 1.
    max_steps : int
        A run is capped after this many steps, at most 10^6.
    packets : Demand, str or Path, optional
        The packets of every run, any number per processor, instead of a permutation; or a file of
        them. The router must serve demands.
    matrix : str or Path, optional
        A file with the packets from each group to each group, or from each processor to each,
        instead of a list.
    faults : Faults or str, optional
        What does not work, as :class:`Faults` or as the text of it. By default everything works.
    fault_seed : int
        The seed of random faults and lost messages, from 0 to 2^64 - 1. Each run has its own.
    wavelengths : int
        Wavelengths per coupler, at least 1. The router must use them.

    Raises
    ------
    InputError
        If a parameter is wrong, or the router does not apply to the network.

    Examples
    --------
    >>> import popsnet
    >>> experiment = popsnet.Experiment(8, 8, router="relay", variant="P2  P1 R1", seed=1)
    >>> experiment.variant
    'P2 P1 R1'
    >>> experiment.network
    Network(d=8, g=8)
    >>> popsnet.Experiment.from_json(experiment.to_json()) == experiment
    True
    """

    d: int
    g: int
    program: str
    """The name of the router, or of the scheduler of continuous traffic."""
    version: str
    """The version of the program. For one from a file it contains a digest of the file."""
    variant: str
    workload: str
    """The name of the permutation or of the arrivals; for a file, an array or a demand its kind
    and a digest."""
    seed: int
    workload_seed: int
    """The seed of the permutations or of the arrivals."""
    max_steps: int
    faults: str
    """The faults as a text, empty if there are none."""
    fault_seed: int
    wavelengths: int
    """Wavelengths per coupler."""
    given: Mapping[str, Any] = field(compare=False)
    """The names of files, and what else is known without belonging to the identity."""
    _parts: Any = field(compare=False)
    """The objects that the names stand for, None for an experiment read from a store."""

    spelling: ClassVar[Spelling] = Spelling(
        "format",
        {
            "d": "d", "g": "g", "router": "program", "version": "version", "variant": "variant",
            "permutation": "workload", "seed": "seed", "permutation_seed": "workload_seed",
            "max_steps": "max_steps", "faults": "faults", "fault_seed": "fault_seed",
            "wavelengths": "wavelengths",
        },
        ({"faults": "", "fault_seed": 0, "wavelengths": 1}, {"wavelengths": 1}),
        {"router": "version", "permutation": "workload"},
        unused={},
    )  # fmt: skip

    @refusing_old
    def __init__(
        self,
        d: Network | int,
        g: int | None = None,
        *,
        router: str | Path | Router | Route = "mei-rizzi",
        variant: str | None = None,
        permutation: str | Path | npt.ArrayLike = "random",
        seed: int = 0,
        permutation_seed: int = 0,
        max_steps: int = MAX_STEPS,
        packets: Demand | ResolvedDemand | str | Path | None = None,
        matrix: ResolvedDemand | str | Path | None = None,
        faults: Faults | str | None = None,
        fault_seed: int = 0,
        wavelengths: int = 1,
    ) -> None:
        is_whole = isinstance(d, Network) and wavelengths == 1
        network = network_of(d, g, None if is_whole else wavelengths)
        resolved, variant = find_variant(router, variant)
        workload: Workload
        if packets is None and matrix is None:
            chosen = _resolved(resolved, variant, network)
            workload = resolve_permutation(permutation, network)
        else:
            workload = resolve_demand(network, permutation, packets=packets, matrix=matrix)
            chosen = resolved.serve(variant, workload.demand)
        max_steps = whole_number("max_steps", max_steps, 1, MOST_STEPS)
        seed = seed_number("seed", seed)
        permutation_seed = seed_number("permutation_seed", permutation_seed)
        self._fill(
            program=resolved.name, version=_version(resolved), variant=chosen.name,
            workload=workload.name, seed=seed, workload_seed=permutation_seed, max_steps=max_steps,
            given=dict(zip(_FILES, (resolved.file, workload.file), strict=True)),
            _parts=_Parts(resolved, chosen, workload), **medium_fields(network, faults, fault_seed),
        )  # fmt: skip

    def _fill(self, *, given: Mapping[str, Any], **values: object) -> None:
        values["given"] = MappingProxyType(dict(given))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _copied(self, **changes: Any) -> Self:
        """Return the experiment with some fields replaced, which are not checked."""
        same = object.__new__(type(self))
        same._fill(**{**vars(self), **changes})
        return same

    @classmethod
    def recorded(
        cls,
        identity: Mapping[str, Any] | Iterable[Any],
        given: Mapping[str, Any] | Iterable[str] = NOTHING,
    ) -> Self:
        """Return the experiment with these fields, as a store keeps them.

        It can be looked up and compared. To run it, :meth:`reopened` finds its program and its
        workload.

        Parameters
        ----------
        identity : mapping or iterable
            :attr:`identity`, or its values in order.
        given : mapping or iterable of str
            :attr:`given`; or the file of the router and that of the permutation, empty if there is
            none.

        Returns
        -------
        Experiment
            The experiment, which cannot be run yet.

        Examples
        --------
        >>> import popsnet
        >>> experiment = popsnet.Experiment(4, 4)
        >>> popsnet.Experiment.recorded(experiment.identity) == experiment
        True
        """
        if not isinstance(identity, Mapping):
            identity = dict(zip(cls.spelling.names, identity, strict=False))
        if not isinstance(given, Mapping):
            given = dict(zip(_FILES, given, strict=True))
        values = cls.spelling.fields(identity)
        experiment = object.__new__(cls)
        experiment._fill(**values, given=given, _parts=None)
        for name in ("d", "g", "max_steps", "wavelengths"):
            if name in cls.spelling.names:
                whole_number(name, values[name], 1)
        return experiment

    def reopened(self, unnamed: Mapping[str, Any] = NOTHING) -> Self:
        """Return the same experiment with its program and its workload found again.

        Parameters
        ----------
        unnamed : mapping
            The parameters of the experiment that have no name under which to find them, such as
            ``router``, ``permutation`` or ``packets``.

        Returns
        -------
        Experiment
            An equal experiment, which can be run.

        Raises
        ------
        InputError
            If they are missing, or are not those that the experiment was made with.

        Examples
        --------
        >>> import popsnet
        >>> recorded = popsnet.Experiment.recorded(popsnet.Experiment(4, 4).identity)
        >>> popsnet.route(recorded.reopened()).delivered
        array([16])
        """
        here = type(self)(**self._parameters(unnamed))
        here = here._copied(**{name: getattr(self, name) for name in self._unchecked})
        for key, name in self.spelling.names.items():
            identity, identity_here = getattr(self, name), getattr(here, name)
            if identity != identity_here and not (
                key == "version" and isinstance(unnamed.get("router"), Router)
            ):
                raise InputError(f"the {key} here is {identity_here}, not {identity}.")
        return here.labelled(self.given.get("label", ""))

    def replaced(self, **changes: Any) -> Self:
        """Return the experiment with some parameters replaced.

        Parameters
        ----------
        **changes
            New values of parameters of the experiment. If the network or the program is replaced,
            the variant is chosen again unless it is given.

        Returns
        -------
        Experiment
            The new experiment.

        Raises
        ------
        InputError
            If there is no parameter of that name, or its value is wrong.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Experiment(8, 8, seed=1).replaced(seed=2).seed
        2
        """
        known = sorted(signature(type(self)).parameters)
        for name in sorted(changes.keys() - {*known}):
            if new := new_spelling("parameter", name, "replaced"):
                raise InputError(f"There is no parameter {name}. It is now {new}.")
            raise unknown("parameter", name, known)
        parameters = self._parameters(self._objects)
        for name in self._decided(changes):
            parameters.pop(name, None)
        return type(self)(**{**parameters, **changes})

    _unchecked: ClassVar[tuple[str, ...]] = ()
    """Fields that an experiment takes over when it is reopened."""

    def _parameters(self, objects: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that make the experiment: names, or some objects."""
        parameters = {key: getattr(self, name) for key, name in self.spelling.names.items()}
        parameters |= {use: path for use, (path, _) in self.files.items()}
        del parameters["version"]
        if self.workload.startswith("array:") and "permutation" not in objects:
            raise InputError("its permutation was given as an array, which is not kept.")
        if self.way != "permutation":
            del parameters["permutation"]
            if self.way not in {**parameters, **objects}:
                raise InputError("its demand was not given as a file, and is not kept.")
        return {**parameters, **objects}

    @property
    def way(self) -> str:
        """The parameter that gives the packets: ``permutation``, ``packets`` or ``matrix``."""
        return _WAYS.get(re.split("[.:]", self.workload)[0], "permutation")

    def _decided(self, changes: Mapping[str, Any]) -> set[str]:
        """Return the parameters that are chosen again if others change."""
        return {"variant"} if changes.keys() & {"d", "g", "router", "wavelengths"} else set()

    @property
    def _objects(self) -> dict[str, Any]:
        """The parameters that need not be found under their names, since they are here."""
        objects, workload = {"router": self._here.program}, self._here.workload
        value = workload if workload.file else workload.given
        return objects if value is None else {**objects, self.way: value}

    @property
    def identity(self) -> dict[str, Any]:
        """The parameters that decide the results, by name.

        Those of faults, and ``wavelengths``, are there only if they are used.
        """
        return self.spelling.identity(self)

    @property
    def record(self) -> str:
        """The text that a store keeps of the experiment: its identity and the kind, as JSON."""
        named = {self.spelling.tag: self.spelling.format, **self.identity}
        return json.dumps(named, sort_keys=True)

    @property
    def digest(self) -> str:
        """The ID of the experiment in a store: a hash of its identity."""
        return blake2b(self.record.encode(), digest_size=16).hexdigest()

    def labelled(self, label: str) -> Self:
        """Return the same experiment with a name for readers, which affects nothing.

        Parameters
        ----------
        label : str
            The name; an empty one is none.

        Returns
        -------
        Experiment
            An equal experiment, whose :attr:`given` has the label.

        Examples
        --------
        >>> import popsnet
        >>> experiment = popsnet.Experiment(4, 4)
        >>> named = experiment.labelled("small")
        >>> named == experiment, named.digest == experiment.digest, named.given["label"]
        (True, True, 'small')
        """
        names = {key: value for key, value in self.given.items() if key != "label"}
        return self._copied(given={**names, "label": label} if label else names)

    def to_json(self) -> str:
        """Return the experiment as a JSON object, which :meth:`from_json` reads.

        Returns
        -------
        str
            A JSON object with the fields of the experiment.

        Raises
        ------
        InputError
            If the router or the permutation has no name.

        Examples
        --------
        >>> import json, popsnet
        >>> json.loads(popsnet.Experiment(4, 4).to_json())["variant"]
        'published'
        """
        if self.unnamed:
            raise InputError(
                f"{self} cannot be written as JSON: its router, permutation or packets have no "
                "name; give a name or a file."
            )
        return json.dumps({**self.identity, **{name: getattr(self, name) for name in _FILES}})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the experiment that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON object. Files that it names must still be in the same place.

        Returns
        -------
        Experiment
            The experiment.

        Raises
        ------
        InputError
            If the text is not an experiment, or its router or permutation is not found.

        Examples
        --------
        >>> import popsnet
        >>> text = popsnet.Experiment(4, 4, seed=3).to_json()
        >>> popsnet.Experiment.from_json(text).seed
        3
        """
        try:
            record = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"An experiment is a JSON object; this is not JSON: {error}."
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                f"An experiment is a JSON object, as to_json writes it; this is {text:.60}."
            )
        written = cls.spelling.keys(record)
        if missing := [name for name in (*written, *_FILES) if name not in record]:
            raise InputError(
                f"The JSON object is not a complete experiment: it lacks {', '.join(missing)}. "
                "Write it with to_json."
            )
        identity, files = ({name: record[name] for name in names} for names in (written, _FILES))
        try:
            return cls.recorded(identity, files).reopened()
        except InputError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(f"The JSON object has a field of the wrong type: {error}.") from error

    def __reduce__(self) -> tuple[Callable[..., Experiment], tuple[Any, ...]]:
        """Return names, and what has no name. The receiver finds the rest under the names."""
        unnamed = None if self._parts is None else self.unnamed
        return _received, (type(self), self.identity, dict(self.given), unnamed)

    @property
    def unnamed(self) -> dict[str, Any]:
        """The parameters that another process could not find under their names."""
        if self._parts is None:
            return {}
        program, *_ = self.spelling.files
        named = {*self.files, *[program] * self._parts.program.is_registered}
        return {use: value for use, value in self._objects.items() if use not in named}

    @property
    def files(self) -> dict[str, tuple[str, str]]:
        """The files that it was made from, each with a part of the identity that has its digest."""
        named = {use: self.given.get(f"{use}_file") for use in self.spelling.files}
        texts = {use: getattr(self, name) for use, name in self.spelling.files.items()}
        uses = {"permutation": self.way}
        return {uses.get(use, use): (path, texts[use]) for use, path in named.items() if path}

    def _spelled(self, key: str) -> Any:
        """Return the value of a key, which experiments of another kind do not have."""
        if key not in self.spelling.names:
            raise AttributeError(f"{self!r} has no {key}.", name=key, obj=self)
        return getattr(self, self.spelling.names[key])

    @property
    def router(self) -> str:
        """The name of the router."""
        return str(self._spelled("router"))

    @property
    def permutation(self) -> str:
        """The name of the permutation; for a file, an array or a demand its kind and a digest."""
        return str(self._spelled("permutation"))

    @property
    def permutation_seed(self) -> int:
        """The seed of the permutations."""
        return int(self._spelled("permutation_seed"))

    @property
    def router_file(self) -> str:
        """The file that the router was loaded from, if any."""
        return str(self.given.get("router_file", ""))

    @property
    def permutation_file(self) -> str:
        """The file that the permutation or the demand was read from, if any."""
        return str(self.given.get("permutation_file", ""))

    @property
    def network(self) -> Network:
        """The network, ``Network(d, g, wavelengths)``."""
        return Network(self.d, self.g, self.wavelengths)

    @property
    def resolved_router(self) -> Router:
        """The router itself."""
        return self._here.program

    @property
    def resolved_variant(self) -> Variant:
        """The variant itself."""
        return self._here.variant

    @property
    def demand(self) -> Demand | None:
        """The packets of every run, None if the runs route permutations."""
        return None if self._parts is None else self._here.workload.demand

    @property
    def packets(self) -> int:
        """The number of packets of a run: n, or those of the demand."""
        return self.network.n if self.demand is None else self.demand.packets

    @property
    def idealized(self) -> bool:
        """Whether the variant gives statistics only, not a route."""
        return self.resolved_variant.idealized

    @property
    def buffers(self) -> int:
        """The number of packets that a processor may hold."""
        return self.resolved_router.buffers_on(self.network, self.resolved_variant)

    @property
    def shown_permutation(self) -> str:
        """The name of the permutation, or its file if it has one."""
        return self.permutation_file or self.permutation

    @property
    def storable(self) -> bool:
        """Whether a store keeps results: the program's name and version identify what it does."""
        return self._parts is None or self._parts.program.is_storable

    def __str__(self) -> str:
        return f"{self.router} ({self.variant}) on {self.network}"

    def __repr__(self) -> str:
        """Return the call that makes the experiment, if router and permutation have names."""
        way = self.way if self.permutation_file else "permutation"
        more = f", faults={self.faults!r}, fault_seed={self.fault_seed}" if self.faults else ""
        more += f", wavelengths={self.wavelengths}" if self.wavelengths > 1 else ""
        return (
            f"Experiment({self.d}, {self.g}, router={self.router_file or self.router!r}, "
            f"variant={self.variant!r}, {way}={self.shown_permutation!r}, seed={self.seed}, "
            f"permutation_seed={self.permutation_seed}, max_steps={self.max_steps}{more})"
        )

    def instance(self, run: int) -> Instance:
        """Return one run of the sequence: its permutation and its coins.

        Parameters
        ----------
        run : int
            The number of the run, at least 0.

        Returns
        -------
        Instance
            What an engine executes.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Experiment(2, 2, permutation="reversal").instance(0).array()
        array([3, 2, 1, 0], dtype=int32)
        """
        here, coins = self._here, Coins(self.seed).for_run(run)
        of_run = Coins(self.permutation_seed).for_run(run)
        return Instance(
            self.network, here.program, here.variant,
            here.workload.destination(self.network, of_run, run), coins, self.max_steps,
            here.workload.start, self.faults_of(run),
        )  # fmt: skip

    def require_run(self, run: int) -> None:
        """Refuse a run that has no permutation, in advance.

        Parameters
        ----------
        run : int
            The number of the run, at least 0.

        Raises
        ------
        InputError
            If the permutations were given as an array with fewer rows.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Experiment(2, 1, permutation=[[0, 1], [1, 0]]).require_run(1)
        """
        if isinstance(self._parts, _Parts):
            self._parts.workload.require_run(run)

    def faults_of(self, run: int) -> ActiveFaults | None:
        """Return the faults of one run, with the random ones drawn, None if there are none.

        Parameters
        ----------
        run : int
            The number of the run, at least 0.

        Returns
        -------
        ActiveFaults or None
            Its attribute ``faults`` lists them.

        Examples
        --------
        >>> import popsnet
        >>> experiment = popsnet.Experiment(4, 4, faults="random:couplers=2")
        >>> print(experiment.faults_of(0).faults, "|", experiment.faults_of(1).faults)
        coupler:1-0 coupler:1-2 | coupler:3-1 coupler:2-3
        """
        if not self.faults:
            return None
        coins = Coins(self.fault_seed).for_run(run)
        return ActiveFaults(self.network, Faults.parse(self.faults), coins)

    def destination(self, run: int) -> Ints:
        """Return the permutation of a run.

        Parameters
        ----------
        run : int
            The number of the run, at least 0.

        Returns
        -------
        array of int
            The destination of each packet.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Experiment(2, 2, permutation="shift:1").destination(0)
        array([1, 2, 3, 0], dtype=int32)
        """
        return self.instance(run).array()

    @property
    def _here(self) -> _Parts:
        if self._parts is None:
            raise InputError(f"{self} was read from a store and cannot be run; use reopened().")
        if not isinstance(self._parts, _Parts):
            raise InputError(f"{self} is continuous traffic, not runs of a router; use simulate().")
        return self._parts


@dataclass(frozen=True, slots=True)
class _Parts:
    """The objects that the names of an experiment stand for."""

    program: Router
    variant: Variant
    workload: Workload


_unregistered: list[Router] = []
"""Routers that are not registered. Their positions tell them apart."""


def _version(router: Router) -> str:
    """Return the version of a router, with a number if no other process finds it."""
    if router.file or router.is_registered:
        return router.version
    if router not in _unregistered:
        _unregistered.append(router)
    return f"{router.version}, not registered, {_unregistered.index(router) + 1}"


def _received(
    kind: type[Experiment],
    identity: Mapping[str, Any],
    given: Mapping[str, Any],
    unnamed: Mapping[str, Any] | None,
) -> Experiment:
    """Return the experiment that was pickled."""
    recorded = kind.recorded(identity, given)
    if unnamed is None:
        return recorded
    if unnamed.keys() & {"router", "scheduler"}:
        return recorded.reopened(unnamed)
    try:
        return opened_once((recorded, *given.items()), lambda: recorded.reopened(unnamed))
    except InputError as error:
        raise InputError(
            f"{recorded} has changed since the work began: {error} Start again."
        ) from error


_MOST_OPENED = 1000
"""Experiments that a process keeps, so that it loads a file once."""

_opening = Lock()
_opened_before: dict[Hashable, Experiment] = {}


def opened_once(key: Hashable, reopen: Callable[[], Experiment]) -> Experiment:
    """Return what ``reopen`` returned for the same key; a file is not loaded by two threads."""
    with _opening:
        if key not in _opened_before:
            if len(_opened_before) >= _MOST_OPENED:
                _opened_before.clear()
            _opened_before[key] = reopen()
        return _opened_before[key]


def medium_fields(network: Network, faults: Faults | str | None, fault_seed: int) -> dict[str, Any]:
    """Return the fields of the network and its faults, without a seed that nothing needs."""
    fault_seed, broken = seed_number("fault_seed", fault_seed), faults_of(faults)
    broken.require_on(network)
    sizes = {"d": network.d, "g": network.g, "wavelengths": network.wavelengths}
    return {**sizes, "faults": str(broken), "fault_seed": fault_seed if broken else 0}


def whole_number(
    name: str, value: object, least: int | None = None, most: int | None = None
) -> int:
    """Return the value of a parameter as an int, and refuse one that is not in the range."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
        cure = f" Write {value:.0f}." if is_whole else ""
        raise wrong(name, f"{value!r:.60}")(f"it must be an integer.{cure}")
    if least is not None and number < least:
        raise wrong(name, number)(f"it must be at least {least:,}.")
    if most is not None and number > most:
        raise wrong(name, number)(f"it must be at most {most:,}.")
    return number


def _resolved(router: Router, variant: str | None, network: Network) -> Variant:
    """Return the variant to run; if no variant applies, say which router does."""
    try:
        return router.resolve(variant, network)
    except InputError as error:
        if router.applies_to(network) or network.wavelengths > 1:
            raise
        text = f"{error} Use router='relay', which runs on any network."
        raise InputError(text, parameter=error.parameter, others=["router"]) from error


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedDemand:
    """The packets of all runs of an experiment that has a demand."""

    name: str
    """How it was given, with a digest of the file or of the packets."""
    file: str
    """The file that it was read from, if any."""
    demand: Demand

    @property
    def given(self) -> Demand:
        """What must be given to make it again, if there is no file."""
        return self.demand

    @property
    def start(self) -> Ints:
        """Where the packets start."""
        return self.demand.source

    def destination(self, network: Network, coins: Coins, run: int) -> Ints:
        """Return where the packets go, in every run."""
        return self.demand.destination

    def require_run(self, run: int) -> None:
        """Refuse no run: each has the same packets."""


Workload: TypeAlias = ResolvedPermutation | ResolvedDemand
"""What the runs of an experiment send."""


def resolve_demand(
    network: Network, permutation: object = "random", **ways: object
) -> ResolvedDemand:
    """Return what one of the parameters ``packets`` and ``matrix`` gives, and refuse several."""
    (way, workload), *others = ((way, value) for way, value in ways.items() if value is not None)
    if others:
        raise InputError("packets and matrix each give the packets to send; give only one.")
    if not (isinstance(permutation, str) and permutation == "random"):
        raise InputError(f"permutation and {way} each give the packets to send; give only one.")
    if isinstance(workload, ResolvedDemand):
        if workload.demand.network == network:
            return workload
        workload = workload.file or workload.demand
    if isinstance(workload, str | Path):
        return _demand_of_file(network, way, Path(workload))
    if way != "packets" or not isinstance(workload, Demand):
        raise wrong(way, f"{workload!r:.40}")(f"give a file or a Demand, or use route({way}=…).")
    if workload.network != network:
        raise InputError(f"The packets are for {workload.network}, not for {network}.")
    own = _constant(Demand(network, workload.source.copy(), workload.destination.copy()))
    return ResolvedDemand(f"demand:{own.digest}", "", own)


def _demand_of_file(network: Network, way: str, path: Path) -> ResolvedDemand:
    """Return the demand of a file of packets, or of a matrix between groups."""
    if not is_file(path):
        raise wrong(way, repr(str(path)))("this file does not exist.")
    before = path.read_bytes()
    if way == "packets":
        demand = read_demand(path, network).demand
    else:
        demand = demand_of_matrix(network, read_matrix(path, network).counts)
    if path.read_bytes() != before:
        raise InputError(f"{path} changed while it was being read; try again.")
    return named_after(way, path, demand)


def named_after(way: str, path: Path, demand: Demand) -> ResolvedDemand:
    """Return a demand with the name of the file that it was read from."""
    digest = blake2b(path.read_bytes(), digest_size=16).hexdigest()
    name = f"{'demand' if way == 'packets' else way}{path.suffix.lower()}:{digest}"
    return ResolvedDemand(name, str(path.resolve()), _constant(demand))


def _constant(demand: Demand) -> Demand:
    """Return a demand whose packets a router can read and not change."""
    for ends in (demand.source, demand.destination):
        ends.flags.writeable = False
    return demand


def seed_number(name: str, value: object) -> int:
    """Return the value of a parameter as a seed, and refuse one that is not in the range."""
    seed = whole_number(name, value)
    if not 0 <= seed < 2**64:
        raise wrong(name, seed)("a seed must be an integer from 0 to 2^64 - 1.")
    return seed
