"""The numbers of the preprint are read from results, its figures drawn by the commands it names."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "docs" / "paper"
REFERENCES = (PAPER / "references.bib").read_text(encoding="utf-8")
TEXT = (PAPER / "popsnet.typ").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_preprint", PAPER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_and_column_that_it_reads_is_in_results(build: ModuleType) -> None:
    files = re.findall(r'results \+ "([\w/.-]+\.(?:csv|json))"', TEXT)
    assert len(files) >= 8
    for file in files:
        assert (ROOT / "results" / file).exists(), file
    for name in re.findall(r'own\("([\w-]+)"\)', TEXT):
        assert name in build.EXPERIMENTS, name
        assert (build.RESULTS / f"{name}.json").exists(), name
    columns = set()
    for path in (ROOT / "results" / "paper").glob("*.csv"):
        columns |= set(path.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(","))
    for path in (ROOT / "results").glob("[fp]*/*.json"):
        columns |= set(re.findall(r'"(\w+)":', path.read_text(encoding="utf-8")))
    for column in re.findall(r"\brow\.([a-z]\w*)", TEXT):
        assert column in columns | {"at", "dead"}, column


def test_every_figure_is_drawn_by_the_command_in_its_caption(build: ModuleType) -> None:
    drawn = re.findall(r'image\(figures \+ "([\w-]+)\.pdf"', TEXT)
    assert sorted(drawn) == sorted(build.FIGURES)
    captions = re.findall(r"[Dd]rawn\s+by\s+(`popsnet .*?)\]", TEXT, re.DOTALL)
    assert len(captions) == len(drawn)
    for name, caption in zip(drawn, captions, strict=True):
        command, *words = build.FIGURES[name].split()
        assert f"popsnet {command}" in caption, name
        for word in words:
            if word.startswith("--") and "{" not in build.FIGURES[name] and word != "--scheduler":
                assert word in caption, (name, word)


def test_every_reference_is_in_the_bibliography() -> None:
    entries = set(re.findall(r"^@\w+\{([\w-]+),", REFERENCES, re.MULTILINE))
    labels = set(re.findall(r"<([\w-]+)>", TEXT))
    cited = set(re.findall(r"(?<![\w`])@([a-z][\w-]*)", TEXT))
    assert cited <= entries | labels
    assert entries <= cited
