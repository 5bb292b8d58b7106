"""What popsnet gives is what it gave when the goldens were made; see CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.each import rarely
from tests.golden.golden import require
from tests.golden.sections import LONG, SECTIONS


@pytest.mark.parametrize("name", [one for one in SECTIONS if one not in LONG] + rarely(LONG))
def test_nothing_has_changed(name: str, tmp_path: Path) -> None:
    require(name, SECTIONS[name], tmp_path)
