"""Compiles every kernel of the engine cuda for a compute capability; no GPU is needed.

``python -m tests.compile_kernels 9.0`` prints a line of JSON per kernel: the registers
per thread, the bytes of local memory for values that registers cannot hold, and how many operations
on 64-bit floats there are. It needs NVVM, NVRTC and ``ptxas``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda, typeof, types
from popsnet import Coins, Network
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziPurposes
from popsnet.engines.fused.relay.program import RelayPurposes
from popsnet.workloads.permutations.keyed import KeyedPermutation

from popsnet_cuda.arguments import ManyRuns, Rounds, Shape
from popsnet_cuda.jit import MOST_REGISTERS
from popsnet_cuda.mei_rizzi import many as many_mei_rizzi
from popsnet_cuda.mei_rizzi import steps
from popsnet_cuda.relay import many as many_relay
from popsnet_cuda.relay import stages
from popsnet_cuda.relay.places import RelaySteps

_1 = np.uint64(1)
_U16, _U32, _U64 = (np.zeros(1, kind) for kind in (np.uint16, np.uint32, np.uint64))
_I64, _LOG = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
_SHAPE, _ROUNDS = Shape.of(Network(4, 4)), Rounds.of(KeyedPermutation(1, Coins(0)))
_MANY = ManyRuns(*[_1] * 7)
_OUT = (_LOG, _I64, _U64, _U64)


def kernels() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """The name, the kernel, and arguments of the types that it is launched with."""
    program = many_mei_rizzi.MeiRizziSteps(MeiRizziPurposes(*[_1] * 3), _1)
    for kind in (types.uint8, types.uint16):
        kernel = many_mei_rizzi.make_kernel(kind)
        yield f"mei-rizzi, many, {kind}", kernel, (_SHAPE, program, _MANY, _U64, *_OUT)
    plan = steps.LargeRunSteps(*[_1] * 7)
    bits = (_U32, _U32, _U32, _U64)
    yield "mei-rizzi, fill", steps.fill_pending, (_SHAPE, _U32)
    yield "mei-rizzi, large", steps.route_large, (_SHAPE, plan, _ROUNDS, _U16, _U64, *bits)
    relay = RelaySteps(RelayPurposes(*[_1] * 7), _1, _1, _1)
    yield "relay, many", many_relay.route_many, (_SHAPE, relay, _MANY, _U64, _U64, *_OUT)
    yield "relay, begin", stages.begin, (_SHAPE, _ROUNDS, *bits)
    yield "relay, draw", stages.draw, (_SHAPE, relay, *[_1] * 4, _U32, _U64)
    fixed = (_SHAPE, relay, _ROUNDS)
    some = (_U32, _U64, _U32, _U32)
    yield "relay, attempt", stages.attempt, (*fixed, *[_1] * 3, _U64, _U64, *some, _U64)
    yield "relay, shower", stages.shower, (*fixed, *[_1] * 2, *some, _U32, _U64)


def compiled(kernel: Any, arguments: tuple[Any, ...], capability: tuple[int, int]) -> str:
    """Return the PTX of a kernel."""
    signature = types.void(*map(typeof, arguments))
    ptx, _ = cuda.compile(
        kernel.py_func, signature, cc=capability, output="ptx", device=False, abi="numba"
    )
    return str(ptx)


def measured(ptx: str, capability: tuple[int, int]) -> dict[str, int]:
    """Return what the assembler says of a kernel."""
    assembler = shutil.which("ptxas")
    assert assembler is not None, "ptxas is not on the path"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        target = f"--gpu-name=sm_{capability[0]}{capability[1]}"
        limit = f"--maxrregcount={MOST_REGISTERS}"
        said = subprocess.run(
            [assembler, "-v", "-c", target, limit, source, "-o", Path(folder, "kernel.cubin")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert said.returncode == 0, said.stderr
    found = {
        "registers": r"Used (\d+) registers",
        "stack": r"(\d+) bytes stack frame",
        "spill_stores": r"(\d+) bytes spill stores",
    }
    return {
        name: int(match[1]) if (match := re.search(pattern, said.stderr)) else 0
        for name, pattern in found.items()
    }


def main() -> None:
    """Compile all kernels."""
    from numba.cuda import dispatcher

    major, minor = map(int, sys.argv[1].split("."))
    # Functions that kernels call are compiled for the present device, which need not exist.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(major, minor))
    for name, kernel, arguments in kernels():
        ptx = compiled(kernel, arguments, (major, minor))
        floats = len(re.findall(r"^\s+(?:add|sub|mul|fma|div|cvt)\S*\.f64", ptx, re.MULTILINE))
        print(json.dumps({"kernel": name, **measured(ptx, (major, minor)), "floats": floats}))


if __name__ == "__main__":
    main()
