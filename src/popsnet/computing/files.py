"""Files of values: .npy, or text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.files import write_whole

__all__ = ["read_values", "write_values"]

Values = npt.NDArray[Any]


def read_values(path: Path) -> Values:
    """Read numbers from a .npy file, or from text with one per line or commas between them."""
    try:
        if path.suffix.lower() == ".npy":
            values: Values = np.load(path, allow_pickle=False)
            return values
        return _numbers(path.read_text(encoding="utf-8-sig").replace(",", " ").split())
    except OSError as error:
        raise InputError(
            f"{path} could not be read ({error.strerror}); give random or a file."
        ) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{path} is not a file of numbers: {error}.") from error


def _numbers(words: list[str]) -> Values:
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array([float(word) for word in words], dtype=np.float64)


def write_values(path: Path, values: Values) -> None:
    """Write numbers to a .npy file, or as text with one per line."""
    with write_whole(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file.buffer, values)
        else:
            file.writelines(f"{one}\n" for one in values.tolist())
