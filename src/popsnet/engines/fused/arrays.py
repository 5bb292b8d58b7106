"""Types of arrays, and records whose fields have names in Python and in compiled code."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
Records: TypeAlias = npt.NDArray[np.void]
"""Rows with the fields of a class, as :func:`record_type` makes them."""

_TYPES = {"int": np.int64, "np.uint64": np.uint64}


def record_type(fields: type) -> np.dtype[np.void]:
    """Return the data type of records with the annotated fields of a class."""
    return np.dtype([(name, _TYPES[kind]) for name, kind in fields.__annotations__.items()])
