"""Writes permutations to files that can be read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from popsnet.errors import PermutationError
from popsnet.files import require_writable, write_whole
from popsnet.permutations.files import SUFFIXES
from popsnet.slot import Ints

__all__ = ["require_permutation_file", "write_permutation"]


def require_permutation_file(path: Path) -> None:
    """Refuse a name under which no permutation can be written, before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise PermutationError(f"{path}: a permutation file ends in {', '.join(SUFFIXES)}.")
    require_writable(path)


def write_permutation(path: Path, permutation: Ints) -> None:
    """Write a permutation in the form that the name's ending says."""
    require_permutation_file(path)
    with write_whole(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file.buffer, permutation)
        elif path.suffix.lower() == ".json":
            json.dump(permutation.tolist(), file)
        else:
            file.write("\n".join(map(str, permutation.tolist())) + "\n")
