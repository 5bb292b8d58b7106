"""What the processor can do with bits and Numba has no word for."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from popsnet.compiled import compiled

__all__ = ["lowest_bit", "ones"]


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _population(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_count_trailing_zeros = cast("Any", intrinsic)(_trailing_zeros)
_count_ones = cast("Any", intrinsic)(_population)


@compiled(inline=True)
def lowest_bit(word: np.uint64) -> int:
    """The position of the lowest bit that is set in a word that is not 0."""
    return _count_trailing_zeros(word)  # type: ignore[no-any-return]


@compiled(inline=True)
def ones(word: np.uint64) -> np.uint64:
    """How many bits are set in a word."""
    return _count_ones(word)  # type: ignore[no-any-return]
