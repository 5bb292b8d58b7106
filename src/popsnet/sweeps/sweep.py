"""Sweeps: a TOML file that says which points are wanted, and how many runs of each.

The format is in docs/reference/sweep-format.md. Everything is checked before any work starts.
"""

from __future__ import annotations

import difflib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import isqrt
from operator import add
from pathlib import Path
from typing import Any

from popsnet.engines import choose_engine
from popsnet.errors import InputError, PermutationError
from popsnet.experiment import MAX_STEPS, Experiment
from popsnet.network import Network
from popsnet.permutations import NAMES, find_permutation
from popsnet.permutations.files import SUFFIXES
from popsnet.routing import Router, Schedules, all_routers, find_router
from popsnet.sweeps.shard import MOST_RUNS

__all__ = ["GRID_KEYS", "Sweep", "read_sweep"]

_SHAPE_KEYS = ("shapes", "d", "g", "n", "ratio")
_DEFAULTS: dict[str, Any] = {
    "routers": ["mei-rizzi"],
    "variants": [],
    "permutations": ["random"],
    "runs": 10,
    "seed": 0,
    "permutation_seed": 0,
    "max_steps": MAX_STEPS,
    "skip_inapplicable": False,
}
GRID_KEYS = ("label", *_SHAPE_KEYS, *_DEFAULTS)


@dataclass(frozen=True, repr=False)
class Sweep:
    """Experiments, with the number of runs of each; read from a file, or made of a grid.

    Examples
    --------
    >>> import popsnet
    >>> sweep = popsnet.Sweep.of_grid(d=[4, 8], g=4, routers=["mei-rizzi", "direct"], runs=20)
    >>> [str(experiment) for experiment in sweep.experiments]  # doctest: +NORMALIZE_WHITESPACE
    ['mei-rizzi (published) on POPS(4, 4)', 'direct (standard) on POPS(4, 4)',
     'mei-rizzi (deferred) on POPS(8, 4)', 'direct (standard) on POPS(8, 4)']
    """

    experiments: tuple[Experiment, ...]
    runs: tuple[int, ...]
    """The runs of each experiment."""
    labels: tuple[str, ...]
    """A name for people for each experiment; may be empty."""
    skipped: tuple[str, ...] = ()
    """What does not apply and was skipped, as the file allows."""

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Return the sweep that a TOML file describes; see docs/reference/sweep-format.md."""
        return read_sweep(Path(path))

    @classmethod
    def of_grid(cls, **keys: Any) -> Sweep:
        """Return the sweep of one grid, given by the keys that a file has for it."""
        return _grid("the grid", keys, Path())

    @property
    def wanted(self) -> list[tuple[Experiment, int]]:
        """The experiments and their runs."""
        return list(zip(self.experiments, self.runs, strict=True))

    def __repr__(self) -> str:
        return f"<sweep of {len(self.experiments):,} experiments, {sum(self.runs):,} runs>"

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(
            self.experiments + other.experiments,
            self.runs + other.runs,
            self.labels + other.labels,
            self.skipped + other.skipped,
        )


def read_sweep(path: Path) -> Sweep:
    """The sweep that a file describes; refuses what cannot be done, and says where it is."""
    table = _read(path)
    grids = table.pop("grid", None)
    if not isinstance(grids, list) or not grids or not all(isinstance(one, dict) for one in grids):
        raise InputError(f"{path} has no grid; begin one with a line [[grid]].")
    with_names = enumerate(grids, start=1)
    sweeps = (_grid(f"{path}, grid {i}", {**table, **one}, path.parent) for i, one in with_names)
    sweep = reduce(add, sweeps)
    if not sweep.experiments:
        raise InputError(f"{path}: nothing of it applies: {'; '.join(sweep.skipped)}")
    return sweep


def _read(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}.") from error
    _require_known(str(path), table, (*_DEFAULTS, "grid"))
    return table


def _require_known(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, GRID_KEYS, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"give {', '.join(known)}."
            if close and close[0] not in known:
                meant = f"{close[0]!r} belongs in a [[grid]]."
            raise InputError(f"{where}: there is no key {key!r} here; {meant}")


def _grid(where: str, table: Mapping[str, Any], folder: Path) -> Sweep:
    _require_known(where, table, GRID_KEYS)
    try:
        return _Grid.of(table, folder).sweep()
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


@dataclass(frozen=True)
class _Grid:
    """One grid: every network with every router, variant and permutation."""

    networks: tuple[Network, ...]
    routers: tuple[str, ...]
    variants: tuple[str | None, ...]
    permutations: tuple[str, ...]
    runs: int
    seed: int
    permutation_seed: int
    max_steps: int
    skip: bool
    label: str

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> _Grid:
        """The grid that a table describes; names of files are those in a folder."""
        given = {**_DEFAULTS, "label": "", **table}
        routers = _several(given, "routers", str)
        permutations = _several(given, "permutations", str)
        variants = _several(given, "variants", str) if given["variants"] != [] else (None,)
        return cls(
            networks=tuple(_networks(table)),
            routers=tuple(_found(folder, one, (".py",)) for one in routers),
            variants=variants,
            permutations=tuple(_found(folder, one, SUFFIXES) for one in permutations),
            runs=_at_least_one(given, "runs"),
            seed=_one(given, "seed", int),
            permutation_seed=_one(given, "permutation_seed", int),
            max_steps=_one(given, "max_steps", int),
            skip=_one(given, "skip_inapplicable", bool),
            label=_one(given, "label", str),
        )

    def sweep(self) -> Sweep:
        """All experiments that apply."""
        routers = {name: _router(name) for name in self.routers}
        self._require_variants(list(routers.values()))
        found = [
            one
            for network, router, variant in itertools.product(
                self.networks, routers.values(), self.variants
            )
            for one in self._experiments(network, router, variant)
        ]
        inapplicable = [one for one in found if isinstance(one, str)]
        if inapplicable and not self.skip:
            raise InputError(
                f"{'; '.join(text.rstrip('.') for text in inapplicable)}. Take them out, or "
                "say skip_inapplicable = true."
            )
        experiments = tuple(one for one in found if isinstance(one, Experiment))
        count = len(experiments)
        return Sweep(experiments, (self.runs,) * count, (self.label,) * count, tuple(inapplicable))

    def _experiments(
        self, network: Network, router: Router, variant: str | None
    ) -> Iterator[Experiment | str]:
        """The experiments of a network and a variant, or why there is none."""
        try:
            chosen = router.choose_variant(variant, network)
        except InputError as error:
            yield str(error)
            return
        for permutation in self.permutations:
            _require_file(permutation)
            try:
                experiment = Experiment(
                    network.d,
                    network.g,
                    router=router,
                    variant=chosen,
                    permutation=permutation,
                    seed=self.seed,
                    permutation_seed=self.permutation_seed,
                    max_steps=self.max_steps,
                )
            except PermutationError as error:
                find_permutation(permutation)  # a name that means nothing is a slip
                yield f"Permutation {permutation} on {network}: {error}"
            else:
                choose_engine("auto", experiment)  # refuses what does not fit
                yield experiment

    def _require_variants(self, routers: list[Router]) -> None:
        """A variant that no router of the grid has is a slip, whatever may be skipped."""
        known = [variant for router in routers for variant in router.variants]
        making = [router.schedules for router in routers if router.schedules is not None]
        for variant in self.variants:
            if variant is None or variant in known:
                continue
            if not making:
                _refuse("variants", variant, known)
            _require_schedule(variant, making)


def _require_schedule(variant: str, making: list[Schedules]) -> None:
    """One of the routers makes a variant of the text; if none does, they say why."""
    reasons: list[str] = []
    for make in making:
        try:
            make(variant)
            return
        except InputError as error:
            reasons.append(str(error))
    raise InputError(f"variants: {' '.join(reasons)}")


def _require_file(permutation: str) -> None:
    """A file that is not there is a slip, whatever may be skipped."""
    path = Path(permutation)
    if path.suffix.lower() in SUFFIXES and not path.is_file():
        raise InputError(f"permutations: there is no file {path}.")


def _router(name: str) -> Router:
    if not name.endswith(".py") and name not in (known := [one.name for one in all_routers()]):
        _refuse("routers", name, [*known, "a file name.py"])
    return find_router(name)


def _refuse(key: str, value: str, known: list[str]) -> None:
    close = difflib.get_close_matches(value, known, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"{key}: there is no {value!r}; give {', '.join(known)}.{meant}")


def _networks(table: Mapping[str, Any]) -> Iterator[Network]:
    given = {key for key in _SHAPE_KEYS if key in table}
    if given == {"shapes"}:
        yield from (_pair(shape) for shape in _several(table, "shapes", list))
    elif given == {"d", "g"}:
        d, g = _several(table, "d", int), _several(table, "g", int)
        yield from itertools.starmap(Network, itertools.product(d, g))
    elif given == {"n", "ratio"}:
        ratios = [_ratio(one) for one in _values(table, "ratio")]
        for n, ratio in itertools.product(_several(table, "n", int), ratios):
            yield _network(n, ratio)
    else:
        found = f"has {', '.join(sorted(given))}" if given else "has none"
        raise InputError(
            f"networks are given by d and g, by n and ratio (which is d/g), or by shapes; "
            f"this grid {found}."
        )


def _pair(shape: list[Any]) -> Network:
    if len(shape) != 2:
        raise InputError(f"shapes: {shape} is not a pair [d, g].")
    return Network(*shape)


def _ratio(value: object) -> Fraction:
    if isinstance(value, str) and not re.fullmatch(r"\d{1,18}(/\d{1,18})?", value.strip()):
        value = "0"  # no number, or one that would take for ever
    try:
        ratio = Fraction(value) if isinstance(value, str) else Fraction(_typed("ratio", value, int))
    except (ValueError, ZeroDivisionError):
        ratio = Fraction(0)
    if ratio <= 0:
        raise InputError(f'ratio = {value!r}: d/g is a positive number, as 2 or "1/4".')
    return ratio


def _network(n: int, ratio: Fraction) -> Network:
    """With d/g = p/q in lowest terms, d = p·k and g = q·k for a whole k, and n = p·q·k²."""
    p, q = ratio.numerator, ratio.denominator
    k = isqrt(max(n, 0) // (p * q))
    if n < 1 or p * q * k * k != n:
        below, above = (p * q * max(one, 1) ** 2 for one in (k, k + 1))
        nearest = f"{below} or {above}" if below < above else f"{above}"
        raise InputError(
            f"n = {n} with ratio = {ratio}: no whole d and g have d·g = n and d/g = {ratio}; "
            f"the nearest n that do are {nearest}."
        )
    return Network(p * k, q * k)


def _values(table: Mapping[str, Any], key: str) -> list[Any]:
    """A list, or a value that stands for a list of one."""
    value = table[key]
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InputError(f"{key} = []: it needs at least one value.")
    return values


def _several(table: Mapping[str, Any], key: str, kind: type) -> tuple[Any, ...]:
    """Values of one kind, none of them twice."""
    values = _values(table, key)
    for value in values:
        _typed(key, value, kind)
        if values.count(value) > 1:
            raise InputError(f"{key}: {value!r} is there twice; give it once.")
    return tuple(values)


_KINDS = {int: "a whole number", str: "a text", bool: "true or false", list: "a pair [d, g]"}


def _typed(key: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise InputError(f"{key} = {value!r}: it is to be {_KINDS[kind]}.")
    return value


def _one(table: Mapping[str, Any], key: str, kind: type) -> Any:
    return _typed(key, table[key], kind)


def _at_least_one(table: Mapping[str, Any], key: str) -> int:
    value: int = _one(table, key, int)
    if value < 1:
        raise InputError(f"{key} = {value}: there is nothing to do; give at least 1.")
    if value > MOST_RUNS:
        raise InputError(f"{key} = {value:,}: a point has at most {MOST_RUNS:,} runs.")
    return value


def _found(folder: Path, name: str, endings: tuple[str, ...]) -> str:
    """The name of a file is relative to the folder of the sweep; other names stay."""
    if name in NAMES or Path(name).suffix.lower() not in endings:
        return name
    return str(folder / name)
