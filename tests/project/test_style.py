"""How popsnet is written: phrases that are not English, or that name one thing in two ways."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parents[2]

_COUNTED = "|".join(
    ("bits", "buffers", "columns", "couplers", "figures", "files", "groups", "line", "lines",
     "listener", "message", "messages", "one", "packet", "packets", "processors", "row", "rows",
     "sender", "slot", "slots", "steps", "values", "words")
)  # fmt: skip
_PER = "|".join(
    ("command", "coupler", "experiment", "file", "group", "hop", "level", "line", "message",
     "move", "network", "packet", "page", "phase", "point", "processor", "round", "router", "row",
     "run", "second", "shape", "shard", "slot", "source", "stage", "step", "sweep", "wire")
)  # fmt: skip

_DOES = "can|could|does|has|hears|holds|is|may|must|needs|of|receives|sends|takes|that|was|with"
"""Behind "packets a processor" these make a clause: packets a processor may hold."""

PHRASES = {
    rf"\b({_COUNTED}) an? ({_PER})s?\b(?! ({_DOES}))": "per: slots per step",
    r"\b(every|some|any|no)body\b|\bwhoever\b": "every processor, a processor that, no processor",
    r"\bso many (?!that)": "this many, or the number",
    r"\b(is|are) to be an? ": "must be",
    r"\bwhole numbers?\b": "integer",
    r"\bgive as much\b": "must be at least",
    r"(?<!there) (is|are) no (file|network|number|permutation|router|store|trace|variant)s?\b": (
        "is not a"
    ),
    r"\bwhat came of it\b": "the outcome",
    r"\b(at|bring|bringing|brought|come|came|comes|get|gets|got|is|are|reach|reached) home\b": (
        "delivered"
    ),
    r"\bhungry\b": "waiting for its packet",
    r"\balarms?\b": "objection, or the family-wise error rate",
    r"\bholds? (it|them) to it\b": "the machine enforces this",
    r"\bsee there\b": "name the place",
    r"(?<!Little.s.)\blaws?\b(?! of large numbers)": "distribution",
    r"\b(a|the|what|this|its) chances?\b": "probability",
    r"\btake a copy from before\b": "Restore it from a backup.",
    r"\bcan be had\b": "available",
    r"\bfirst signs of\b": "the start of",
    r"\bhit twice or more\b": "collisions",
    r"\bof them to the last delivery\b": "slots until the last delivery",
    r"\bmost packets at a processor\b": "peak buffer use",
    r"\bmakes? variants of a text\b": "reads schedules",
}
"""Patterns of what is not written, and what is written instead."""

_OLD_NAMES = r"\b(every|some|any|no)body\b|\bwhoever\b"
_GROWTH = r"(?<!Little.s.)\blaws?\b(?! of large numbers)"
ALLOWED = {
    ("CHANGELOG.md", _OLD_NAMES),  # an option that was renamed
    ("CHANGELOG.md", _GROWTH),  # a key that was renamed
    ("src/popsnet/cli/usage.py", _OLD_NAMES),
    ("src/popsnet/runs/batch_means.py", _GROWTH),  # an author
    ("src/popsnet/paper/figures.py", _GROWTH),  # a growth law: how a function grows
    ("src/popsnet/paper/templates/report.html", _GROWTH),
    ("src/popsnet/paper/theory/growth.py", _GROWTH),
    ("src/popsnet/paper/theory/section.py", _GROWTH),
}
"""By file and pattern: where a phrase means something else."""


FILES = "*.md", "docs/**/*.md", "src/**/*.py", "src/**/*.pyi", "src/**/*.js", "src/**/*.html"


@cache
def texts() -> dict[str, str]:
    """What is written, by the names of the files."""
    paths = [path for pattern in FILES for path in ROOT.glob(pattern)]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@each("pattern", PHRASES)
def test_no_phrase_of_the_list_is_used(pattern: str) -> None:
    found = []
    for name, text in texts().items():
        if (name, pattern) in ALLOWED:
            continue
        for match in re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: {' '.join(match[0].split())!r}")
    assert not found, f"write {PHRASES[pattern]!r} instead:\n" + "\n".join(found)


@each("pattern", PHRASES)
def test_every_pattern_can_be_found(pattern: str) -> None:
    """Each of them finds its own example, so that none is dead."""
    examples = (
        "five slots a step", "to everybody", "so many runs", "is to be a number", "whole number",
        "give as much", "it is no permutation", "what came of it", "all packets are home", "hungry",
        "false alarm", "the machine holds it to it", "see there", "the exact law", "the chance",
        "take a copy from before", "can be had", "the first signs of", "hit twice or more",
        "of them to the last delivery", "most packets at a processor", "makes variants of a text",
    )  # fmt: skip
    assert sum(bool(re.search(pattern, one)) for one in examples) == 1
