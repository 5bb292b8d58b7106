"""The types of the page's program, which comments declare, are right."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from platformdirs import user_cache_path

ROOT = Path(__file__).parents[3]
TYPESCRIPT = "typescript@5.9.3"


@pytest.fixture(scope="module")
def compiler() -> Path:
    """The compiler of TypeScript, installed outside of this folder once."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no Node.js here")
    folder = user_cache_path("popsnet-tests") / TYPESCRIPT
    found = folder / "node_modules" / ".bin" / "tsc"
    if not found.exists():
        command = [npm, "install", "--silent", "--no-save", "--prefix", str(folder), TYPESCRIPT]
        if subprocess.run(command, capture_output=True).returncode or not found.exists():
            pytest.skip("npm cannot install TypeScript here")
    return found


def test_the_program_has_the_types_it_says(compiler: Path) -> None:
    checked = subprocess.run(
        [compiler, "--project", ROOT / "tsconfig.json"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
