"""Characters that a terminal would obey, or hide."""

from __future__ import annotations

import doctest
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

import popsnet.base.terminal
from popsnet.base.report import Column, Report, Table
from popsnet.base.terminal import escape_controls
from tests.each import examples

HOSTILE = "\x1b]0;t\x07\x1b[2J\x9b31m\r\t\x7f\u202e\u2066\u200b\ufeff\u2028\x85\udcff\U000e0041"


def hidden(text: str) -> set[str]:
    """Characters that are not seen; line breaks and spaces are."""
    return {
        char for char in text if char != "\n" and category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def test_examples() -> None:
    assert doctest.testmod(popsnet.base.terminal).failed == 0


@examples(40)
@given(st.text(), st.booleans())
def test_nothing_hidden_remains_and_nothing_else_changes(text: str, lines: bool) -> None:
    shown = escape_controls(text, lines)
    assert not hidden(shown)
    assert lines or "\n" not in shown
    assert escape_controls(shown, lines) == shown
    plain = "".join(char for char in text if char not in hidden(text) and (lines or char != "\n"))
    assert escape_controls(plain, lines) == plain


def test_ordinary_text_is_left_as_it_is() -> None:
    text = "é → 中文 عربي ≥ ± – “quoted” 🙂\u00a0\u3000end"
    assert escape_controls(text) == text


def test_reports() -> None:
    columns = Column("name", kind="text"), Column("shown", HOSTILE, show=lambda row: HOSTILE)
    table = Table("t", HOSTILE, columns, [{"name": HOSTILE}], HOSTILE)
    text = str(Report(HOSTILE, (), (table, HOSTILE), HOSTILE))
    assert not hidden(text)
    assert "\\x1b]0;t\\x07" in text
    assert str(Table("t", "", columns[:1], [{"name": "a\nb"}])) == "name\na\\nb"
