"""How kernels and device functions are compiled, or simulated.

Kernels call the functions that ``fused`` compiles for the processor: Numba compiles these for the
device too. Results of such calls are cast, because a simulated kernel gets Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import cuda

from popsnet_cuda.device import is_simulated

F = TypeVar("F", bound=Callable[..., Any])

MOST_REGISTERS = 64
"""Per thread, so that a block may have 1,024 threads."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel at its first launch."""
    options = {} if is_simulated() else {"max_registers": MOST_REGISTERS}
    return cuda.jit(**options)(function)


def device(function: F) -> F:
    """Compile a function that kernels call, into each of them."""
    options = {} if is_simulated() else {"forceinline": True}
    compiled: F = cuda.jit(device=True, **options)(function)
    return compiled
