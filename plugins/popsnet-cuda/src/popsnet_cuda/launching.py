"""The device as drivers see it: how many blocks it holds, its memory, and launches."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda
from popsnet.base import system
from popsnet.base.errors import SizeError

from popsnet_cuda.device import is_simulated

PLAIN_SHARED = 48 * 1024
"""The bytes of shared memory that a block may have without asking for more."""

_SIMULATED_BLOCKS = 2
_STATIC = 256
"""Bytes of shared memory for the kernels' own counts, rounded up."""


def shared_limit() -> int:
    """Return the most bytes of dynamic shared memory that a block may have, if it asks."""
    if is_simulated():
        return PLAIN_SHARED - _STATIC
    device: Any = cuda.get_current_device()
    with suppress(Exception):  # not every version of the package knows this attribute
        return int(device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - _STATIC
    return PLAIN_SHARED - _STATIC


def multiprocessors() -> int:
    """Return how many blocks the device executes at once, at least."""
    return 1 if is_simulated() else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def require_free(needed: int) -> None:
    """Refuse work that does not fit in the memory that is free on the device now."""
    if is_simulated():
        return
    context: Any = cuda.current_context()
    free = int(context.get_memory_info().free)
    if needed > free:
        gc.collect()  # earlier runs; numba-cuda keeps up to a fifth of the memory they released
        context.deallocations.clear()
        free = int(context.get_memory_info().free)
    if needed > free:
        raise SizeError(
            f"The GPU needs about {system.format_bytes(needed)} for this, and "
            f"{system.format_bytes(free)} of its memory are free. End what else uses it, or "
            "choose a smaller d or g."
        )


def zeros(shape: int | tuple[int, ...], kind: npt.DTypeLike) -> Any:
    """Return an array of zeros on the device."""
    if is_simulated():
        return cuda.to_device(np.zeros(shape, kind))
    found = cuda.device_array(shape, kind)
    cuda.cudadrv.driver.device_memset(found, 0, found.nbytes)
    return found


@dataclass(frozen=True)
class Launch:
    """A kernel with a number of threads per block and of bytes of shared memory."""

    kernel: Any
    threads: int
    shared: int = 0

    def resident(self, arguments: Sequence[Any]) -> int:
        """Return how many blocks the device holds at once; compiles the kernel for arguments."""
        if is_simulated():
            return _SIMULATED_BLOCKS
        kinds = tuple(self.kernel.typeof_pyval(one) for one in arguments)
        definition = self.kernel.compile(kinds)
        if self.shared > PLAIN_SHARED - _STATIC:
            _ask_for_shared(definition, self.shared)
        return int(definition.max_cooperative_grid_blocks(self.threads, self.shared))

    def __call__(self, blocks: int, arguments: Sequence[Any]) -> None:
        """Start the kernel. It runs after those that were started before."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*Grid size .* will likely")  # few runs, few blocks
            self.kernel[blocks, self.threads, 0, self.shared](*arguments)


def _ask_for_shared(definition: Any, size: int) -> None:
    """Let a kernel have more shared memory than usual, for which the package has no option."""
    from cuda.bindings.driver import CUfunction_attribute

    function = definition._codelibrary.get_cufunc()
    attribute = CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    cuda.cudadrv.driver.driver.cuKernelSetAttribute(
        attribute, size, function.handle, function.device.id
    )
