"""Sweeps: TOML files that say which experiments to run, and how many runs of each.

The format is in docs/reference/sweep-format.md. Everything is checked before any work starts.
"""

from __future__ import annotations

import difflib
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce
from math import isqrt
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from popsnet.engines import choose_engine
from popsnet.errors import InputError, PermutationError
from popsnet.experiment import MAX_STEPS, Experiment
from popsnet.files import is_file
from popsnet.network import Network
from popsnet.permutations import NAMES, find_permutation
from popsnet.permutations.files import SUFFIXES
from popsnet.routing import Router, Schedules, find_variant
from popsnet.sweeps.shard import MOST_RUNS

_NETWORK_KEYS = ("shapes", "d", "g", "n", "ratio")
_Value = TypeVar("_Value")
_Several: TypeAlias = Annotated[tuple[_Value, ...], Meta(min_length=1)]


@dataclass(frozen=True, repr=False)
class Sweep:
    """Hold experiments with the number of runs of each.

    :meth:`read` makes a sweep from a TOML file, :meth:`of_grid` from the keys of one grid. Sweeps
    can be added.

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
    """A label for the reader for each experiment; it may be empty."""
    skipped: tuple[str, ...] = ()
    """What was skipped because it does not apply, and why."""

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Return the sweep that a TOML file describes.

        The format is in docs/reference/sweep-format.md. Names of files in it are relative to its
        folder.

        Raises
        ------
        InputError
            If something in the file is wrong; the message says where.
        """
        path = Path(path)
        table = _read(path)
        grids = table.pop("grid", None)
        are_tables = isinstance(grids, list) and all(isinstance(one, dict) for one in grids)
        if not grids or not are_tables:
            raise InputError(f"{path} has no grid; begin one with a line [[grid]].")
        sweeps = (
            _grid(f"{path}, grid {number}", {**table, **grid}, path.parent)
            for number, grid in enumerate(grids, start=1)
        )
        sweep = reduce(add, sweeps)
        if not sweep.experiments:
            raise InputError(f"{path}: nothing in it applies: {in_words(sweep.skipped)}.")
        return sweep

    @classmethod
    def of_grid(cls, **keys: Any) -> Sweep:
        """Return the sweep of one grid, given by the keys that a ``[[grid]]`` of a file has."""
        return _grid("the grid", keys, Path())

    @property
    def wanted(self) -> list[tuple[Experiment, int]]:
        """The experiments and their runs."""
        return list(zip(self.experiments, self.runs, strict=True))

    def __repr__(self) -> str:
        return f"<sweep of {len(self.experiments):,} experiments, {sum(self.runs):,} runs>"

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def in_words(skipped: Iterable[str]) -> str:
    """Return what does not apply, with equal reasons together.

    Examples
    --------
    >>> reasons = ["stage S needs d >= g.", "it needs d >= g.", "it needs d >= g."]
    >>> names = ["relay (S) on POPS(2, 8)", "mei-rizzi on POPS(2, 8)", "mei-rizzi on POPS(2, 9)"]
    >>> in_words(map("{}: {}".format, names, reasons))
    'relay (S) needs d ≥ g: POPS(2, 8); mei-rizzi needs d ≥ g: POPS(2, 8), POPS(2, 9)'
    """
    networks: dict[tuple[str, str], dict[str, None]] = {}
    for text in skipped:
        name, network, reason = re.fullmatch(_SKIPPED, text, re.DOTALL).groups()  # type: ignore[union-attr]
        condition = re.search(r"needs (d (?:[<>]=?|=) g)", reason)
        why = condition[1] if condition else reason
        networks.setdefault((why, name), {})[network] = None
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (why, name), where in networks.items():
        alike.setdefault((why, tuple(where)), []).append(name)
    return "; ".join(_sentence(names, why, where) for (why, where), names in alike.items())


_SKIPPED = r"(.+) on (POPS\(\d+, \d+\)): (.+?)\.?"


def _sentence(names: list[str], why: str, networks: tuple[str, ...]) -> str:
    who = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    if re.match(r"d [<>=]", why):
        condition = why.replace(">=", "≥").replace("<=", "≤")
        return f"{who} need{'s' * (len(names) == 1)} {condition}: {', '.join(networks)}"
    return f"{who} on {', '.join(networks)}: {why}"


def _read(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{path} is not a TOML file: {error}.") from error
    _require_known(str(path), table, (*_TOP_KEYS, "grid"))
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


class _Grid(Struct, frozen=True):
    """A grid: every network with every router, variant and permutation."""

    label: str = ""
    shapes: _Several[tuple[int, int]] = ()
    d: _Several[int] = ()
    g: _Several[int] = ()
    n: _Several[int] = ()
    ratio: _Several[int | str] = ()
    routers: _Several[str] = ("mei-rizzi",)
    variants: tuple[str, ...] = ()
    permutations: _Several[str] = ("random",)
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 10
    seed: int = 0
    permutation_seed: int = 0
    max_steps: int = MAX_STEPS
    skip_inapplicable: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> _Grid:
        """Return the grid that a table describes; names of files are relative to a folder."""
        single = {key for key in _LISTS if not isinstance(table.get(key, []), list)}
        listed = {key: [value] if key in single else value for key, value in table.items()}
        try:
            grid = convert(listed, cls)
        except ValidationError as error:
            raise InputError(_explained(listed, str(error))) from error
        _require_distinct(listed)
        return replace(
            grid,
            routers=tuple(_router_file(folder, one) for one in grid.routers),
            permutations=tuple(_found(folder, one, SUFFIXES) for one in grid.permutations),
        )

    def sweep(self) -> Sweep:
        """Return all experiments that apply."""
        routers = list(map(_router, self.routers))
        self._require_variants([router for router, variant in routers if variant is None])
        several = self.variants or (None,)
        pairs = [
            (router, one)
            for router, variant in routers
            for one in (several if variant is None else (variant,))
        ]
        found = list(
            dict.fromkeys(  # relay and relay:S may be one experiment
                one
                for network, pair in itertools.product(self.networks(), pairs)
                for one in self._experiments(network, *pair)
            )
        )
        inapplicable = [one for one in found if isinstance(one, str)]
        if inapplicable and not self.skip_inapplicable:
            what = "it" if len(inapplicable) == 1 else "them"
            raise InputError(
                f"{in_words(inapplicable)}. Remove {what} from the grid, or set "
                "skip_inapplicable = true."
            )
        experiments = tuple(one for one in found if isinstance(one, Experiment))
        count = len(experiments)
        return Sweep(experiments, (self.runs,) * count, (self.label,) * count, tuple(inapplicable))

    def _experiments(
        self, network: Network, router: Router, variant: str | None
    ) -> Iterator[Experiment | str]:
        """Yield the experiments of a network and a variant, or why there is none."""
        try:
            chosen = router.choose_variant(variant, network)
        except InputError as error:
            name = router.name if variant is None else f"{router.name} ({variant})"
            _, _, reason = str(error).rpartition(f"{network}: ")
            yield f"{name} on {network}: {re.split(r'(?<=[.]) |; ', reason)[0].rstrip('.')}."
            return
        for permutation in self.permutations:
            _require_file(permutation)
            try:
                experiment = Experiment(
                    network.d, network.g, router=router, variant=chosen, permutation=permutation,
                    seed=self.seed, permutation_seed=self.permutation_seed,
                    max_steps=self.max_steps,
                )  # fmt: skip
            except PermutationError as error:
                find_permutation(permutation)  # an unknown name is an error in any case
                yield f"Permutation {permutation} on {network}: {error}"
            else:
                choose_engine("auto", experiment)  # refuses what does not fit
                yield experiment

    def _require_variants(self, routers: list[Router]) -> None:
        """Refuse a variant that no router of the grid has, even if others may be skipped."""
        if self.variants and not routers:
            raise InputError(
                "variants: every router of this grid names its variant; leave variants out."
            )
        known = [variant for router in routers for variant in router.variants]
        making = [router.schedules for router in routers if router.schedules is not None]
        for variant in self.variants:
            if variant not in known:
                if not making:
                    _refuse("variants", variant, known)
                _require_schedule(variant, making)

    def networks(self) -> Iterable[Network]:
        """Return the networks, which are given in one of three ways."""
        given = [key for key in _NETWORK_KEYS if getattr(self, key)]
        if given == ["shapes"]:
            return itertools.starmap(Network, self.shapes)
        if given == ["d", "g"]:
            return itertools.starmap(Network, itertools.product(self.d, self.g))
        if given == ["n", "ratio"]:
            return itertools.starmap(_network, itertools.product(self.n, map(_ratio, self.ratio)))
        raise InputError(
            f"networks are given by d and g, by n and ratio (which is d/g), or by shapes; this "
            f"grid has {', '.join(sorted(given)) or 'none'}."
        )


GRID_KEYS = _Grid.__struct_fields__
_TOP_KEYS = tuple(key for key in GRID_KEYS if key not in ("label", *_NETWORK_KEYS))
_LISTS = (*_NETWORK_KEYS, "routers", "variants", "permutations")


def _require_schedule(variant: str, making: list[Schedules]) -> None:
    """Refuse a text that no router can read as a schedule."""
    reasons: list[str] = []
    for make in making:
        try:
            make(variant)
            return
        except InputError as error:
            reasons.append(str(error))
    raise InputError(f"variants: {' '.join(reasons)}")


def _require_file(permutation: str) -> None:
    """Refuse a file that does not exist, even if others may be skipped."""
    path = Path(permutation)
    if path.suffix.lower() in SUFFIXES and not is_file(path):
        raise InputError(f"permutations: the file {path} does not exist.")


def _router(name: str) -> tuple[Router, str | None]:
    """Return a router, and the variant if the name has one; refuse what does not exist."""
    try:
        router, variant = find_variant(name)
        if variant is not None:
            router.variant(variant)
    except InputError as error:
        raise InputError(f"routers: {error}") from error
    return router, variant


def _refuse(key: str, value: str, known: list[str]) -> None:
    close = difflib.get_close_matches(value, known, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"{key}: there is no {value!r}; give {', '.join(known)}.{meant}")


def _ratio(value: int | str) -> Fraction:
    """Return d/g, given as an integer or as a fraction of digits."""
    ratio = Fraction(0)
    if isinstance(value, int) or re.fullmatch(r"\d{1,18}(/\d{1,18})?", value.strip()):
        with suppress(ZeroDivisionError):
            ratio = Fraction(value)
    if ratio <= 0:
        raise InputError(f'ratio = {value!r}: d/g is a positive number, as 2 or "1/4".')
    return ratio


def _network(n: int, ratio: Fraction) -> Network:
    """Return the network with these n and d/g.

    With d/g = p/q in lowest terms, d = p·k and g = q·k for an integer k, and n = p·q·k².
    """
    p, q = ratio.numerator, ratio.denominator
    k = isqrt(max(n, 0) // (p * q))
    if n < 1 or p * q * k * k != n:
        below, above = (p * q * max(one, 1) ** 2 for one in (k, k + 1))
        nearest = f"{below} or {above}" if below < above else f"{above}"
        raise InputError(
            f"n = {n} with ratio = {ratio}: no integers d and g have d·g = n and d/g = {ratio}; "
            f"the nearest n that do are {nearest}."
        )
    return Network(p * k, q * k)


def _require_distinct(table: Mapping[str, Any]) -> None:
    for key in _LISTS:
        values = table.get(key, [])
        for value in values if key != "ratio" else ():
            if values.count(value) > 1:
                raise InputError(f"{key}: {value!r} is given twice; give it once.")


def _explained(table: Mapping[str, Any], error: str) -> str:
    """Return what msgspec finds wrong, with the key and the value."""
    reason, _, place = error.partition(" - at `$.")
    key, *indices = re.findall(r"\w+", place)
    value = table[key]
    for index in indices:
        value = value[int(index)]
    quoted = isinstance(value, str) and re.fullmatch(r"\s*-?\d+\s*", value)
    cure = "; remove the quotes" if quoted and "`int`" in reason else ""
    return f"{key} = {value!r}: {_rule(reason)}{cure}."


def _rule(reason: str) -> str:
    """Return the rule that a value breaks, in words.

    >>> _rule("Expected `int` >= 1")
    'it must be at least 1'
    """
    expected = re.match(r"Expected `([^`]*)`(?: of length)? ?([<>]=)? ?(\d*)", reason)
    kind, limit, number = expected.groups() if expected else ("", None, "")
    if kind == "int" and limit:
        return f"it must be at {'least' if limit == '>=' else 'most'} {int(number):,}"
    if kind == "array" and number:
        return "give at least one value" if limit else f"it must be {number} numbers"
    return f"it must be {_KINDS[kind]}" if kind in _KINDS else reason


_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "int": "an integer",
    "int | str": "an integer, or a fraction in quotes",
    "str": "a text in quotes",
}


def _router_file(folder: Path, name: str) -> str:
    """Return a router's name, relative to the folder if it is that of a file."""
    return str(folder / name) if re.match(r".+\.py(:|$)", name) else name


def _found(folder: Path, name: str, endings: tuple[str, ...]) -> str:
    """Return a name, relative to the folder of the sweep if it is that of a file."""
    if name in NAMES or Path(name).suffix.lower() not in endings:
        return name
    return str(folder / name)
