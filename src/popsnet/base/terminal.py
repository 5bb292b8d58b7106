"""Texts as terminals may show them: no character of a name or a file moves the cursor."""

from __future__ import annotations

from unicodedata import category

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters, lone surrogates, and separators of lines and paragraphs."""


def escape_controls(text: str, lines: bool = True) -> str:
    r"""Return a text with characters that a terminal would obey, or hide, written as escapes.

    These are control characters, among them ESC and those of C1; characters that change the
    direction of text; characters without width; and surrogates, which file names may have.

    Parameters
    ----------
    text : str
        A text that may have names from files in it.
    lines : bool
        Whether line breaks are kept. Names have none.

    Returns
    -------
    str
        The text, in which all other characters are as they were.

    Examples
    --------
    >>> print(escape_controls("Zürich → 東京: \x1b[2J\u202e"))
    Zürich → 東京: \x1b[2J\u202e
    >>> print(escape_controls("relay\nOK", lines=False))
    relay\nOK
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) if char != "\n" or not lines else char for char in text)


def _shown(character: str) -> str:
    if category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()
