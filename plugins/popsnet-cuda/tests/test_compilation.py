"""The kernels compile for devices that are not here."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MOST_SPILLED = 300
"""Bytes per thread. More would be slow, and a sign of an accident."""


def missing() -> str | None:
    """What is missing to compile, None if nothing is."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "the package numba-cuda is not installed"
    if shutil.which("ptxas") is None:
        return "ptxas is not on the path"
    pathfinder = importlib.import_module("cuda.pathfinder")
    for library in ("nvvm", "nvrtc"):
        try:
            pathfinder.load_nvidia_dynamic_lib(library)
        except pathfinder.DynamicLibNotFoundError:
            return f"{library} is not installed"
    return None


@pytest.mark.parametrize("capability", ["7.5", "8.0", "9.0"])
def test_kernels_compile_with_few_registers_and_without_floats(capability: str) -> None:
    """A signed and an unsigned 64-bit integer would become a float, silently."""
    if reason := missing():
        pytest.skip(
            f"{reason}; pip install 'popsnet-cuda[cu13]' brings libraries, CUDA's toolkit ptxas"
        )
    done = subprocess.run(
        [sys.executable, "-m", "tests.compile_kernels", capability],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 9
    for one in found:
        assert one["registers"] <= 64, one
        assert one["spill_stores"] <= MOST_SPILLED, one
        # remainders of computed destinations are found by a product with 1 / g
        assert one["floats"] == 0 or one["kernel"] == "mei-rizzi, large", one
