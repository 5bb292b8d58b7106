"""The kernels compiled for the processor, with one block of one thread, against fused.

The simulator executes kernels in Python, where integers keep their types in other ways than in
compiled code. Here Numba compiles the same sources, so types and casts are those of the device, and
thousands of runs take seconds once they are compiled. There is nothing parallel about it.

``python -m tests.one_thread`` must have a process of its own: it replaces the module
``numba.cuda``.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.extending import overload

_SHARED = 200_000
"""Numbers of each type in shared memory. Arrays of different types do not overlap in kernels."""


def module(name: str, **names: object) -> ModuleType:
    """A module with these names."""
    made = ModuleType(name)
    made.__dict__.update(names)
    return made


class DeviceArray:
    """An array that only kernels read and write."""

    def __init__(self, array: Any) -> None:
        self.array = np.array(array, order="C")

    def copy_to_host(self) -> Any:
        return self.array.copy()


class Kernel:
    """A kernel for one thread, whatever the configuration."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._compiled = njit(error_model="numpy")(function)

    def __getitem__(self, configuration: object) -> Kernel:
        return self

    def __call__(self, *arguments: Any) -> None:
        plain = (one.array if isinstance(one, DeviceArray) else one for one in arguments)
        self._compiled(*plain)


def nothing() -> None: ...


def same(value: Any) -> Any:
    return value


def popc(word: Any) -> Any:
    count, rest = np.uint32(0), np.uint64(word)
    while rest != np.uint64(0):
        rest &= rest - np.uint64(1)
        count += np.uint32(1)
    return count


def ffs(word: Any) -> Any:
    rest, at = np.uint64(word), np.uint32(1)
    if rest == np.uint64(0):
        return np.uint32(0)
    while rest & np.uint64(1) == np.uint64(0):
        rest >>= np.uint64(1)
        at += np.uint32(1)
    return at


def or_(array: Any, at: Any, value: Any) -> Any:
    old = array[at]
    array[at] = old | value
    return old


def add(array: Any, at: Any, value: Any) -> Any:
    old = array[at]
    array[at] = old + value
    return old


def largest(array: Any, at: Any, value: Any) -> Any:
    old = array[at]
    array[at] = max(old, value)
    return old


def shared_array(shape: Any, dtype: Any) -> Any: ...


def first(dimensions: Any) -> int:
    return 0


def only(dimensions: Any) -> int:
    return 1


def _overload_shared(shape: Any, dtype: Any) -> Any:
    kind = dtype.dtype

    def zeros(shape: Any, dtype: Any) -> Any:
        return np.zeros(max(shape, _SHARED), kind)

    return zeros


def replace_cuda() -> None:
    """Put a module for one thread in the place of ``numba.cuda``, before kernels are imported."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    overload(shared_array)(_overload_shared)
    fake = module(
        "numba.cuda",
        threadIdx=module("threadIdx", x=0), blockIdx=module("blockIdx", x=0),
        blockDim=module("blockDim", x=1), gridDim=module("gridDim", x=1),
        grid=njit(first), gridsize=njit(only), popc=njit(popc), ffs=njit(ffs),
        syncthreads=njit(nothing), syncthreads_or=njit(same),
        atomic=module("atomic", or_=njit(or_), add=njit(add), max=njit(largest)),
        shared=module("shared", array=shared_array), to_device=DeviceArray,
    )  # fmt: skip
    sys.modules["numba.cuda"] = numba.cuda = fake
    importlib.import_module("popsnet_cuda")
    sys.modules["popsnet_cuda.jit"] = module(
        "popsnet_cuda.jit", kernel=Kernel, device=njit(error_model="numpy")
    )
    _import_without_grid("popsnet_cuda.mei_rizzi.steps")
    for name in ("many._SIMULATED_THREADS", "mei_rizzi.large._SIMULATED_THREADS",
                 "launching._SIMULATED_BLOCKS"):  # fmt: skip
        where, _, constant = name.rpartition(".")
        setattr(importlib.import_module(f"popsnet_cuda.{where}"), constant, 1)


def _import_without_grid(name: str) -> None:
    """Import a module whose blocks wait for each other; there is one."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    text = text.replace("cuda.cg.this_grid()", "0").replace("grid.sync()", "pass")
    made = module(name, __file__=spec.origin)
    exec(compile(text, spec.origin, "exec"), made.__dict__)  # it is our own source
    sys.modules[name] = made
    setattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2], made)


SCHEDULES = ("S", "P2 P1", "P(3,2,1) F", "P2 R2", "R1", "P1 P1 P1 P1 P1 P1 R3", "P70 R2")


def experiments() -> list[tuple[int, dict[str, Any]]]:
    """How many runs, and of what."""
    relay = [{"router": "relay", "variant": variant} for variant in SCHEDULES]
    found: list[tuple[int, dict[str, Any]]] = [(200, {"d": g, "g": g}) for g in range(1, 6)]
    found += [(50, {"d": d, "g": g, "variant": "idealized"}) for d, g in ((10, 3), (6, 5), (8, 2))]
    found += [(50, {"d": g, "g": g, **one}) for one in relay for g in (2, 5)]
    for permutation in ("keyed", "random", "transpose"):
        fixed = {"permutation": permutation}
        found += [(1, {"d": g, "g": g, **fixed}) for g in (7, 33, 64, 256)]
        found += [(1, {"d": 513, "g": 64, "variant": "idealized", **fixed})]
        found += [(1, {"d": g, "g": g, **fixed, **one}) for one in relay for g in (7, 100)]
    return found + [(one[0], {**one[1], "max_steps": 2}) for one in found[:10]]


def main() -> None:
    """Compare all runs."""
    replace_cuda()
    from popsnet import Experiment

    from tests import cases

    checked = 0
    for runs, choices in experiments():
        experiment = Experiment(**choices, seed=7, permutation_seed=8)
        for one in cases.differences(experiment, range(runs)):
            sys.exit(f"{one.case}\n  expected {one.expected}\n  found    {one.found}")
        checked += runs
    print(f"{checked} runs agree")


if __name__ == "__main__":
    main()
