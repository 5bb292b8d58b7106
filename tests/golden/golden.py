"""Goldens: what popsnet gave when they were made, case by case, in JSON files.

A section is a function from an empty folder, which is the current one, to its cases. Values are
kept whole if they are short. Of a long object, its parts are kept; of everything else, a hash.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

Cases: TypeAlias = dict[str, Callable[[], Any]]
Section: TypeAlias = Callable[[Path], Cases]

DATA = Path(__file__).parent / "data"

_WHOLE = 80
"""Characters of the longest value that is kept whole."""
_DEEPEST = 3
"""How deep a long object is taken apart."""
_DIGITS = 9
"""Digits of a float that count, as the last ones depend on the libraries of a computer."""


def hashed(value: bytes | str) -> str:
    """Return a hash of a text or of the contents of a file."""
    data = value.encode() if isinstance(value, str) else value
    return blake2b(data, digest_size=8).hexdigest()


def without(folder: Path, text: str) -> str:
    """Return a text without the path of the folder of the cases."""
    return text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")


def compact(value: Any, depth: int = 0) -> Any:
    """Return a value with hashes in place of its long parts."""
    plain = json.loads(json.dumps(value, default=_plain), parse_float=_rounded)
    text = json.dumps(plain)
    if len(text) <= _WHOLE:
        return plain
    if isinstance(plain, dict) and depth < _DEEPEST:
        return {name: compact(part, depth + 1) for name, part in plain.items()}
    return f"# {hashed(text)}"


def _rounded(number: str) -> float:
    return float(f"{float(number):.{_DIGITS}g}")


def _plain(value: Any) -> Any:
    """Return an array or another sequence as a list."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def value_of(name: str, case: Callable[[], Any]) -> Any:
    """Return what a case gives."""
    try:
        return compact(case())
    except Exception as error:
        error.add_note(f"The case: {name}")
        raise


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a terminal of 120 columns."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "120"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def make(name: str, section: Section, folder: Path) -> int:
    """Write the goldens of a section, and return how many have changed."""
    path = DATA / f"{name}.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    with inside(folder):
        cases = section(folder)
        found = {case: value_of(case, function) for case, function in cases.items()}
    lines = [f"{json.dumps(case)}: {json.dumps(value)}" for case, value in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return sum(before.get(case) != found.get(case) for case in before | found)


def require(name: str, section: Section, folder: Path) -> None:
    """Compare a section with its goldens; the message names every case that differs."""
    path = DATA / f"{name}.json"
    goldens = json.loads(path.read_text())
    with inside(folder):
        cases = section(folder)
        assert list(cases) == list(goldens), f"{path} has other cases than the tests."
        found = {case: value_of(case, function) for case, function in cases.items()}
    differences = [
        f"{case}\n  was {json.dumps(goldens[case])}\n  is  {json.dumps(found[case])}"
        for case in goldens
        if _ordered(found[case]) != _ordered(goldens[case])
    ]
    assert not differences, "\n".join(
        [f"{len(differences)} of {len(goldens)} goldens in {path} differ:", *differences[:10]]
    )


def _ordered(value: Any) -> str:
    """Return a text that differs if keys come in another order."""
    return json.dumps(value)
