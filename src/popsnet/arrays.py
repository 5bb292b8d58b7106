"""Arrays of numbers read from files. A damaged file is refused, with the place of the damage."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError

_loading = Lock()
_ATTEMPTS = 3
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")


@contextmanager
def named_errors(path: Path, refuse: type[InputError]) -> Iterator[None]:
    """Raise ``refuse`` for a file that cannot be read."""
    try:
        yield
    except OSError as error:
        raise refuse(f"{path} cannot be read: {error.strerror}.") from error


def read_npy(path: Path, refuse: type[InputError] = InputError) -> npt.NDArray[Any]:
    """Read the one array of a ``.npy`` file."""
    with path.open("rb") as file:
        return load_npy(path, file, refuse)


def load_npy(
    path: Path, file: IO[bytes], refuse: type[InputError] = InputError
) -> npt.NDArray[Any]:
    """Read the one array of a ``.npy`` file that is open.

    NumPy parses the header of a file as Python. Python 3.11 counts the nesting depth of the parser
    for all threads together, and raises SystemError if another thread is parsing. So files are
    loaded one at a time, and again if the error came from another thread.
    """
    loaded: Any = None
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            file.seek(0)
            with _loading, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python 2 has written the file, for example
                loaded = np.load(file, allow_pickle=False)
            break
        except OSError:
            raise
        except Exception as error:  # a damaged file makes NumPy raise almost anything
            if not isinstance(error, SystemError) or attempt == _ATTEMPTS:
                raise refuse(
                    f"{path} is not a complete .npy file of numbers. Write it with numpy.save."
                ) from error
    if not isinstance(loaded, np.ndarray):
        raise refuse(f"{path} is an archive of arrays; give a .npy file, which holds one array.")
    return loaded


def read_rows(path: Path, refuse: type[InputError] = InputError) -> list[tuple[int, list[str]]]:
    """Read the rows of a CSV file that are not empty, each with its line number."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [(line, row) for line, row in enumerate(csv.reader(file), start=1) if any(row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise refuse(f"{path} is not a CSV text file ({error}).") from error


def parse_integers(
    path: Path, line: int, row: list[str], refuse: type[InputError] = InputError
) -> list[int]:
    """Parse the cells of a row as integers, written with the digits 0 to 9."""
    for cell in row:
        if not _INTEGER.fullmatch(cell):
            raise refuse(f"{path}, line {line}: {cell!r:.60} is not an integer.")
    try:
        return [int(cell) for cell in row]
    except ValueError:  # thousands of digits
        raise refuse(f"{path}, line {line} contains a number that is too large.") from None
