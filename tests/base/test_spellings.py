"""The changelog lists every spelling that has changed."""

from __future__ import annotations

from pathlib import Path

from popsnet.base.spellings import changelog_table


def test_the_changelog_has_the_table_of_spellings() -> None:
    assert changelog_table() in Path(__file__).parents[2].joinpath("CHANGELOG.md").read_text()
