"""Tables of a sweep's file: read and checked, their networks, and what is wrong in words."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from msgspec import Meta, Struct, ValidationError, convert

from popsnet.base.errors import InputError, closest, wrong
from popsnet.base.files import is_file
from popsnet.base.spellings import new_spelling
from popsnet.workloads.permutations import NAMES
from popsnet.workloads.permutations.files import SUFFIXES

NETWORK_KEYS = ("shapes", "d", "g", "n", "ratio")
_Value = TypeVar("_Value")
Several: TypeAlias = Annotated[tuple[_Value, ...], Meta(min_length=1)]


class NetworksTable(Struct, frozen=True):
    """What all tables of a sweep have: a label and networks."""

    what: ClassVar[str] = "table"
    """What a message calls the table."""

    label: str = ""
    shapes: Several[tuple[int, int]] = ()
    d: Several[int] = ()
    g: Several[int] = ()
    n: Several[int] = ()
    ratio: Several[int | str] = ()

    def shapes_given(self) -> Iterable[tuple[int, int]]:
        """Return d and g of the networks, which are given in one of three ways."""
        keys = [key for key in NETWORK_KEYS if getattr(self, key)]
        if keys == ["shapes"]:
            return self.shapes
        if keys == ["d", "g"]:
            return itertools.product(self.d, self.g)
        if keys == ["n", "ratio"]:
            return itertools.starmap(_shape, itertools.product(self.n, map(_ratio, self.ratio)))
        raise InputError(
            f"networks are given by d and g, by n and ratio (which is d/g), or by shapes; this "
            f"{self.what} has {', '.join(sorted(keys)) or 'none'}."
        )


_Table = TypeVar("_Table", bound=NetworksTable)


def top_keys(table: type[NetworksTable]) -> tuple[str, ...]:
    """Return the keys that may stand above the tables of a kind and hold for all of them."""
    networks = NetworksTable.__struct_fields__
    return tuple(key for key in table.__struct_fields__ if key not in networks)


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{path} is not a TOML file: {error}.") from error


def tables_of(path: Path, table: dict[str, Any], kinds: Collection[str]) -> dict[str, Any]:
    """Remove the tables of each kind from what a file says, and return them."""
    tables_by_kind = {kind: table.pop(kind) for kind in kinds if kind in table}
    for kind, tables in tables_by_kind.items():
        are_tables = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
        if not tables or not are_tables:
            raise InputError(f"{path} has no {kind}; begin one with a line [[{kind}]].")
    if not tables_by_kind:
        raise InputError(
            f"{path} has no grid; begin one with a line [[grid]], or with [[traffic]] for "
            "continuous traffic."
        )
    return tables_by_kind


def require_known(
    where: str, table: Mapping[str, Any], known: Collection[str], others: Mapping[str, str]
) -> None:
    """Refuse a key that is not known; of others it is known where they belong."""
    for key in table:
        if key not in known:
            if key == "order":
                raise InputError(f"{where}: order is of the whole file; write it above all tables.")
            if new := new_spelling("key", key, "grid") or new_spelling("key", key, "traffic"):
                raise InputError(f"{where}: there is no key {key!r} here; it is now {new!r}.")
            close = closest(key, [*known, *others])
            meant = f"did you mean {close!r}?" if close else f"give {', '.join(known)}."
            if close and close not in known:
                meant = f"{close!r} belongs in a [[{others[close]}]]."
            raise InputError(f"{where}: there is no key {key!r} here; {meant}")


def checked(table: Mapping[str, Any], kind: type[_Table]) -> _Table:
    """Return a table whose values have the right types; a value may stand for a list of one."""
    defaults = zip(kind.__struct_fields__, kind.__struct_defaults__, strict=True)
    lists = [key for key, default in defaults if isinstance(default, tuple)]
    single = {key for key in lists if not isinstance(table.get(key, []), list)}
    listed = {key: [value] if key in single else value for key, value in table.items()}
    try:
        values = convert(listed, kind)
    except ValidationError as error:
        raise InputError(_explained(listed, str(error))) from error
    _require_distinct(listed, lists)
    return values


def in_words(skipped: Iterable[str]) -> str:
    """Return what does not apply, with equal reasons together.

    Examples
    --------
    >>> reasons = ["stage S needs d >= g.", "it needs d >= g.", "it needs d >= g."]
    >>> names = ["relay (S) on POPS(2, 8)", "mei-rizzi on POPS(2, 8)", "mei-rizzi on POPS(2, 9)"]
    >>> in_words(map("{}: {}".format, names, reasons))
    'relay (S) needs d ≥ g: POPS(2, 8); mei-rizzi needs d ≥ g: POPS(2, 8), POPS(2, 9)'
    >>> in_words(f"Load {load} of incast:4 on POPS(2, 2): too large." for load in (0.3, 0.4, 0.5))
    'Loads 0.3 to 0.5 of incast:4 on POPS(2, 2): too large'
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


_SKIPPED = r"(.+) on (POPS\(\d+, \d+\)(?: with \d+ wavelengths)?): (.+?)\.?"


def _sentence(names: list[str], why: str, networks: tuple[str, ...]) -> str:
    who = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    loads = [name.removeprefix("Load ").partition(" of ") for name in names]
    if names[0].startswith("Load ") and len(names) > 1 == len({pattern for *_, pattern in loads}):
        who = f"Loads {loads[0][0]} to {loads[-1][0]} of {loads[0][2]}"
    if re.match(r"d [<>=]", why):
        condition = why.replace(">=", "≥").replace("<=", "≤")
        return f"{who} need{'s' * (len(names) == 1)} {condition}: {', '.join(networks)}"
    return f"{who} on {', '.join(networks)}: {why}"


def _ratio(value: int | str) -> Fraction:
    """Return d/g, given as an integer or as a fraction of digits."""
    ratio = Fraction(0)
    if isinstance(value, int) or re.fullmatch(r"\d{1,18}(/\d{1,18})?", value.strip()):
        with suppress(ZeroDivisionError):
            ratio = Fraction(value)
    if ratio <= 0:
        raise wrong("ratio", repr(value))('d/g is a positive number, as 2 or "1/4".')
    return ratio


def _shape(n: int, ratio: Fraction) -> tuple[int, int]:
    """Return the d and g that have these n and d/g.

    With d/g = p/q in lowest terms, d = p·k and g = q·k for an integer k, and n = p·q·k².
    """
    p, q = ratio.numerator, ratio.denominator
    k = isqrt(max(n, 0) // (p * q))
    if n < 1 or p * q * k * k != n:
        below, above = (p * q * max(root, 1) ** 2 for root in (k, k + 1))
        nearest = f"{below} or {above}" if below < above else f"{above}"
        raise InputError(
            f"n = {n} with ratio = {ratio}: no integers d and g have d·g = n and d/g = {ratio}; "
            f"the nearest n that do are {nearest}."
        )
    return p * k, q * k


def _require_distinct(table: Mapping[str, Any], lists: Collection[str]) -> None:
    for key in lists:
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
    quoted = isinstance(value, str) and re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", value)
    cure = "; remove the quotes" if quoted and ("`int`" in reason or "`float`" in reason) else ""
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
    "float": "a number",
    "int": "an integer",
    "int | str": "an integer, or a fraction in quotes",
    "str": "a text in quotes",
}


def program_file(folder: Path, name: str) -> str:
    """Return the name of a program, relative to the folder if it is that of a file."""
    return str(folder / name) if re.match(r".+\.py(:|$)", name) else name


def any_file(folder: Path, name: str) -> str:
    """Return the name of a file, relative to the folder of the sweep."""
    return str(folder / name)


def file_of(folder: Path, key: str, name: str) -> str:
    """Return the path of a file, which must exist; empty if there is none."""
    if name and not is_file(folder / name):
        raise wrong(key, repr(name))(f"the file {folder / name} does not exist.")
    return str(folder / name) if name else ""


def permutation_file(folder: Path, name: str) -> str:
    """Return a name, relative to the folder of the sweep if it is that of a file."""
    if name in NAMES or Path(name).suffix.lower() not in SUFFIXES:
        return name
    return str(folder / name)


def require_file(key: str, permutation: str) -> None:
    """Refuse the name of a file that does not exist, even if others may be skipped."""
    path = Path(permutation)
    if path.suffix.lower() in SUFFIXES and not is_file(path):
        raise InputError(f"{key}: the file {path} does not exist.")
