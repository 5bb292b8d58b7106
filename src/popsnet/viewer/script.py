"""The page's program: its modules joined into one text, because the page fetches nothing."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

MODULES = (
    "faults.js", "trace.js", "words.js", "shapes.js", "save.js", "network.js", "matrix.js",
    "conflicts.js", "charts.js", "guide.js", "player.js", "panel.js", "opening.js",
    "link.js", "main.js",
)  # fmt: skip
"""Each module comes after those it imports from."""

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./[\w-]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def read_static(name: str) -> str:
    """Read a file that ships with the page."""
    return (files("popsnet.viewer") / "static" / name).read_text(encoding="utf-8")


@cache
def script_text() -> str:
    """Join all modules into one scope, without imports and exports."""
    return "\n".join(join_ready(name, read_static(name)) for name in MODULES)


def join_ready(name: str, text: str) -> str:
    """Return a module that can share one scope with the others, inside a page.

    Comments on lines of their own and indentation are left out: every page has a copy.
    """
    text = _EXPORT.sub("", _IMPORT.sub("", text))
    if left := _LEFT.search(text):
        raise ValueError(f"{name}: {left[0]!r} is neither an import by name nor a plain export.")
    if re.search("</script|<!--", text, re.IGNORECASE):
        raise ValueError(f"{name}: </script or <!-- would end the program in the middle.")
    return _INDENT.sub("", _COMMENT.sub("", text))
