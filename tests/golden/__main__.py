"""Make the goldens again: ``python -m tests.golden``, or with the names of some sections.

Do so only if what popsnet gives is meant to change, and say in CHANGELOG.md what has changed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.golden.golden import make
from tests.golden.sections import SECTIONS


def main() -> None:
    """Write the files of all sections, or of those that are named."""
    names = sys.argv[1:] or list(SECTIONS)
    for name in names if len(names) > 1 else ():  # sections register routers of the same names
        subprocess.run([sys.executable, "-m", "tests.golden", name], check=True)
    if len(names) == 1:
        with tempfile.TemporaryDirectory() as folder:
            changed = make(names[0], SECTIONS[names[0]], Path(folder))
        print(f"{names[0]}: {changed} goldens are new or differ")


if __name__ == "__main__":
    main()
