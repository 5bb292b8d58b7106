"""Arrays of numbers read from files. A damaged file is refused, with the place of the damage."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError

_loading = Lock()
_ATTEMPTS = 3


def digest(data: bytes) -> str:
    """Return the digest by which an array or the content of a file is known."""
    return blake2b(data, digest_size=16).hexdigest()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Refuse a file that cannot be read."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the one array of a ``.npy`` file."""
    with path.open("rb") as file:
        return load_npy(path, file)


def load_npy(path: Path, file: IO[bytes]) -> npt.NDArray[Any]:
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
                raise InputError(
                    f"{path} is not a complete .npy file of numbers. Write it with numpy.save."
                ) from error
    if not isinstance(loaded, np.ndarray):
        raise InputError(
            f"{path} is an archive of arrays; give a .npy file, which holds one array."
        )
    return loaded
