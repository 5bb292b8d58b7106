"""An experiment: everything that decides a sequence of runs, as one value.

Run r of an experiment has its own permutation and its own coins, both derived from the seeds and
r, so that more runs continue the same sequence.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations.resolved import Destinations, ResolvedPermutation, resolve_permutation
from popsnet.routing import Route, Router, Variant, find_variant
from popsnet.routing.router import is_registered, is_storable
from popsnet.slot import Ints

MOST_STEPS = 10**6
"""The largest ``max_steps``."""

MAX_STEPS = 1000
"""The step after which a run is capped by default."""

_FILES = ("router_file", "permutation_file")

_FORMAT = 1
"""Raised if the same fields come to mean other runs."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One permutation to route, and how."""

    network: Network
    router: Router
    variant: Variant | str
    """The variant, or its name."""
    destination: Destinations
    coins: Coins
    max_steps: int
    """The run is capped after this many steps."""
    start: Ints | None = None
    """Where each packet starts, if it is not packet i at processor i; for the slots engine."""
    max_slots: int | None = None
    """The run is capped after this many slots of one step; see :attr:`most_slots`."""

    @property
    def resolved_variant(self) -> Variant:
        """The variant itself."""
        return self.router.variant(self.variant)

    @property
    def most_slots(self) -> int:
        """Slots of one step after which a router that never ends is stopped.

        The default is 10^6 + 2000n, more than any router that ships takes. The longest is aks,
        up to about 1100n slots on one group of 4096.
        """
        return 10**6 + 2000 * self.network.n if self.max_slots is None else self.max_slots

    def array(self) -> Ints:
        """Return all destinations; compute them if they are not stored."""
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
        Processors per group, and groups.
    router : str, Path, Router or generator function
        The name of a registered router, a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function. ``"NAME:VARIANT"`` names the variant as well.
    variant : str, optional
        A variant of the router, or a schedule for routers that read one. The router chooses if
        it is not given.
    permutation : str, Path or array
        The name of a permutation, a file (``.npy``, ``.csv``, ``.json``), or n destinations.
    seed : int
        The seed of the router's coins.
    permutation_seed : int
        The seed of the permutations.
    max_steps : int
        A run is capped after this many steps.

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
    router: str
    version: str
    """The version of the router; for a router from a file it has a digest of the file."""
    variant: str
    permutation: str
    """A name; for a file or an array, its kind and a digest."""
    seed: int
    permutation_seed: int
    max_steps: int
    router_file: str = field(compare=False)
    """The file that the router was loaded from, if any."""
    permutation_file: str = field(compare=False)
    """The file that the permutation was read from, if any."""
    _parts: _Parts | None = field(compare=False, repr=False)
    """The router, variant and permutation; None for an experiment read from a store."""

    def __init__(
        self,
        d: int,
        g: int,
        *,
        router: str | Path | Router | Route = "mei-rizzi",
        variant: str | None = None,
        permutation: str | Path | npt.ArrayLike = "random",
        seed: int = 0,
        permutation_seed: int = 0,
        max_steps: int = MAX_STEPS,
    ) -> None:
        network = Network(d, g)
        found, variant = find_variant(router, variant)
        chosen = found.resolve(variant, network)
        max_steps = whole_number("max_steps", max_steps, 1, MOST_STEPS)
        seed = seed_number("seed", seed)
        permutation_seed = seed_number("permutation_seed", permutation_seed)
        resolved = resolve_permutation(permutation, network)
        self._fill(
            network.d, network.g, found.name, _version(found), chosen.name, resolved.name,
            seed, permutation_seed, max_steps, found.file, resolved.file,
            _Parts(found, chosen, resolved),
        )  # fmt: skip

    def _fill(self, *values: object) -> None:
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)

    @classmethod
    def recorded(cls, values: Iterable[Any], files: Iterable[str] = ("", "")) -> Experiment:
        """Return the experiment with these nine fields, as a store has them, and its files.

        It can be looked up and compared; to run it, :meth:`reopened` finds its router here.
        """
        experiment = object.__new__(cls)
        experiment._fill(*values, *files, None)
        for name in ("d", "g", "max_steps"):
            whole_number(name, getattr(experiment, name), 1)
        return experiment

    def reopened(self, unnamed: Mapping[str, Any] = MappingProxyType({})) -> Experiment:
        """Return the same experiment with its router and permutation as they are here now.

        What has no name, a router or a permutation, is given beside it.

        Raises
        ------
        InputError
            If they are not here, or are not those that the experiment was made with.
        """
        if self.permutation.startswith("array:") and "permutation" not in unnamed:
            raise InputError("its permutation was given as an array, which is not kept.")
        named = {name: value for name, value in self.identity.items() if name != "version"}
        named["router"] = self.router_file or self.router
        named["permutation"] = self.permutation_file or self.permutation
        here = Experiment(**{**named, **unnamed})
        for name in self.identity:
            there, found = getattr(self, name), getattr(here, name)
            if there != found and not (name == "version" and "router" in unnamed):
                raise InputError(f"the {name} here is {found}, not {there}.")
        return here

    def replaced(self, **changes: Any) -> Experiment:
        """Return the same experiment with other values of some parameters.

        Another network or router chooses its variant anew.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Experiment(8, 8, seed=1).replaced(seed=2).seed
        2
        """
        here = self._here
        given = {name: getattr(self, name) for name in self.identity if name != "version"}
        given |= {"router": here.router}
        if here.permutation.array is not None:
            given |= {"permutation": here.permutation}
        unknown = changes.keys() - given.keys()
        if unknown:
            raise InputError(f"There is no parameter {', '.join(sorted(unknown))}.")
        if changes.keys() & {"d", "g", "router"}:
            del given["variant"]
        return Experiment(**{**given, **changes})

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the runs, by name; the digest is made of it."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare}

    @property
    def digest(self) -> str:
        """The name of the experiment in a store: a hash of its identity."""
        text = json.dumps({"format": _FORMAT, **self.identity}, sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_json(self) -> str:
        """Return the experiment as a JSON object, from which :meth:`from_json` makes it again."""
        if self._unnamed:
            raise InputError(
                f"{self} cannot be written as JSON: its router or its permutation has no name; "
                "give files."
            )
        return json.dumps({**self.identity, **{name: getattr(self, name) for name in _FILES}})

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Return the experiment that :meth:`to_json` wrote; its files must be where they were."""
        try:
            record = json.loads(text)
            values = [record[one.name] for one in fields(cls) if one.compare]
            return cls.recorded(values, [record[name] for name in _FILES]).reopened()
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(f"This is not an experiment as JSON: {error!r}.") from error

    def __reduce__(self) -> tuple[Callable[..., Experiment], tuple[Any, ...]]:
        """Send names, and what has no name; the other side finds the rest under the names."""
        files = self.router_file, self.permutation_file
        values = tuple(self.identity.values())
        return _received, (values, files, self._parts is None, self._unnamed)

    @property
    def _unnamed(self) -> dict[str, Any]:
        """What another process could not find under its name."""
        unnamed: dict[str, Any] = {}
        if self._parts is not None and not _has_name(self._parts.router):
            unnamed["router"] = self._parts.router
        if self._parts is not None and not self.permutation_file:
            array = self._parts.permutation.array
            unnamed |= {} if array is None else {"permutation": array}
        return unnamed

    @property
    def network(self) -> Network:
        """The network."""
        return Network(self.d, self.g)

    @property
    def resolved_router(self) -> Router:
        """The router itself."""
        return self._here.router

    @property
    def resolved_variant(self) -> Variant:
        """The variant itself."""
        return self._here.variant

    @property
    def idealized(self) -> bool:
        """Whether the variant gives statistics only, never a route."""
        return self.resolved_variant.idealized

    @property
    def buffers(self) -> int:
        """Packets that a processor may hold."""
        return self.resolved_router.buffers_on(self.network, self.resolved_variant)

    @property
    def shown_permutation(self) -> str:
        """The permutation as a person names it: the file where there is one."""
        return self.permutation_file or self.permutation

    @property
    def storable(self) -> bool:
        """Whether the name and version of the router say what it does, so results can be kept."""
        return self._parts is None or is_storable(self._parts.router)

    def __str__(self) -> str:
        return f"{self.router} ({self.variant}) on {self.network}"

    def __repr__(self) -> str:
        """As it would be written, where router and permutation have names."""
        return (
            f"Experiment({self.d}, {self.g}, router={self.router_file or self.router!r}, "
            f"variant={self.variant!r}, permutation={self.shown_permutation!r}, seed={self.seed}, "
            f"permutation_seed={self.permutation_seed}, max_steps={self.max_steps})"
        )

    def instance(self, run: int) -> Instance:
        """Return one run: its permutation and its coins."""
        here = self._here
        of_run = Coins(self.permutation_seed).for_run(run)
        destination = here.permutation.destination(self.network, of_run)
        coins = Coins(self.seed).for_run(run)
        return Instance(self.network, here.router, here.variant, destination, coins, self.max_steps)

    def destination(self, run: int) -> Ints:
        """Return the permutation of a run."""
        return self.instance(run).array()

    @property
    def _here(self) -> _Parts:
        if self._parts is None:
            raise InputError(f"{self} was read from a store; reopened() gives one that can be run.")
        return self._parts


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the names of an experiment stand for here."""

    router: Router
    variant: Variant
    permutation: ResolvedPermutation


_unregistered: list[Router] = []
"""Routers that are not registered; their places tell them apart."""


def _has_name(router: Router) -> bool:
    """Whether another process finds the router: in the register, or in its file."""
    return bool(router.file) or is_registered(router)


def _version(router: Router) -> str:
    """The version of a router; one that has no name is known by what it is in this program."""
    if _has_name(router):
        return router.version
    if router not in _unregistered:
        _unregistered.append(router)
    return f"{router.version}, not registered, {_unregistered.index(router) + 1}"


_receiving = Lock()


def _received(
    values: tuple[Any, ...], files: tuple[str, str], as_recorded: bool, unnamed: dict[str, Any]
) -> Experiment:
    """Return an experiment that was pickled."""
    recorded = Experiment.recorded(values, files)
    if as_recorded:
        return recorded
    if "router" in unnamed:
        return recorded.reopened(unnamed)
    with _receiving:  # the file of a router must not be loaded by two threads at once
        try:
            if (values, files) not in _received_before:
                _received_before[values, files] = recorded.reopened(unnamed)
            return _received_before[values, files]
        except InputError as error:
            raise InputError(
                f"{recorded} is not what the work began with: {error} Begin again."
            ) from error


_received_before: dict[tuple[Any, Any], Experiment] = {}
"""So that a file is not loaded for every piece of work."""


def whole_number(
    name: str, value: object, least: int | None = None, most: int | None = None
) -> int:
    """Return the value of a parameter as an int; refuse what is not an integer in a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name} = {value!r}: it must be an integer.")
    number = operator.index(value)
    if least is not None and number < least:
        raise InputError(f"{name} = {number}: it must be at least {least:,}.")
    if most is not None and number > most:
        raise InputError(f"{name} = {number}: it must be at most {most:,}.")
    return number


def seed_number(name: str, value: object) -> int:
    """Return the value of a parameter as a seed; refuse what is not one."""
    seed = whole_number(name, value)
    if not 0 <= seed < 2**64:
        raise InputError(f"{name} = {seed}: a seed must be an integer from 0 to 2^64 - 1.")
    return seed
