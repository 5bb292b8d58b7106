"""The page's modules can be joined: what they say about each other is true."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files

import pytest

from popsnet.trace.viewer.page import MODULES, join_ready, read_static, script_text
from tests.each import each

IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w-]+\.js)";$', re.MULTILINE)
DECLARED = re.compile(
    r"^(export )?(?:async )?(?:function\*?|class|const|let|var)\s+(\w+|\{[^}]*\}|\[[^\]]*\])",
    re.MULTILINE,
)
TOKENS = ("TITLE", "CSP", "STYLE", "SCRIPT", "DATA")


def declared(text: str, *, exported: bool = False) -> list[str]:
    """Names at the top level of a module."""
    found = [names for export, names in DECLARED.findall(text) if export or not exported]
    return [name for names in found for name in re.findall(r"(\w+)\s*(?:[,}\]=]|$)", names)]


def imported(text: str) -> list[tuple[str, str]]:
    """Names and the modules they come from."""
    return [
        (name.strip(), module)
        for names, module in IMPORT.findall(text)
        for name in names.split(",")
        if name.strip()
    ]


def test_all_modules_are_joined() -> None:
    static = files("popsnet.trace.viewer") / "static"
    there = {path.name for path in static.iterdir()}
    assert there == {*MODULES, "page.html", "style.css"}


@each("module", MODULES)
def test_what_is_imported_is_there_and_comes_before(module: str) -> None:
    for name, other in imported(read_static(module)):
        assert MODULES.index(other) < MODULES.index(module)
        assert name in declared(read_static(other), exported=True), (name, other)


def test_names_mean_one_thing() -> None:
    times = Counter(name for module in MODULES for name in declared(read_static(module)))
    assert [name for name, number in times.items() if number > 1] == []


def test_declarations_are_found() -> None:
    text = "export const { a, b } = x;\nlet [c, d] = y;\nexport async function e() {\n  let f;\n}\n"
    assert declared(text) == ["a", "b", "c", "d", "e"]
    assert declared(text, exported=True) == ["a", "b", "e"]


def test_the_program_is_one_script() -> None:
    text = script_text()
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert "</script" not in text.lower()
    assert "\r" not in text
    assert "</style" not in read_static("style.css").lower()


def test_imports_and_exports_are_taken_away() -> None:
    text = 'import {\n  a,\n  b,\n} from "./x.js";\n'
    text += "export const c = a;\nexport async function d() {}\n"
    assert join_ready("y.js", text) == "const c = a;\nasync function d() {}\n"


@each(
    "text",
    [
        'import x from "./x.js";\n',
        'import "./x.js";\n',
        'import { a } from "https://example.org/x.js";\n',
        "export default c;\n",
        "export { a };\n",
        'const a = "</SCRIPT>";\n',
        'const a = "<!--";\n',
    ],
)
def test_what_cannot_be_joined_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^y\.js"):
        join_ready("y.js", text)


def test_every_token_is_there_once() -> None:
    assert Counter(re.findall("@@([A-Z]+)@@", read_static("page.html"))) == Counter(TOKENS)
