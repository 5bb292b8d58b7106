"""The kernels on Numba's simulator: the same runs as those of fused, in every count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_simulated_runs_are_those_of_fused() -> None:
    """In a process of its own, because the simulator replaces the compiler for good."""
    pytest.importorskip("numba_cuda", reason="the package numba-cuda is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-m", "tests.cases"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "18 cases on Numba's simulator, 0 with differences" in done.stdout


@pytest.mark.long
def test_compiled_for_one_thread_of_the_processor_runs_are_those_of_fused() -> None:
    """Types and casts are those of the device."""
    pytest.importorskip("numba_cuda", reason="the package numba-cuda is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tests.one_thread"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs agree" in done.stdout
