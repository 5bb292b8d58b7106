"""The documents as a site: it builds strictly, needs no network, and has every public name."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import popsnet
from popsnet import Experiment, Network
from tests.cli.test_figures import COMMANDS
from tests.project.pages import blocks

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Request
    from playwright.sync_api import Page as Tab

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OPTIONS = ("-E", "-n", "-W", "--keep-going", "-q")
"""What makes ``make docs`` strict: it reads all pages, and every warning is an error."""
README = (ROOT / "README.md").read_text(encoding="utf-8")
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
PACKAGES = sorted(
    name for name in popsnet.__all__ if isinstance(getattr(popsnet, name), ModuleType)
)
NAMED = {
    (DOCS if name.startswith("/") else page.parent) / f"{name.strip('/')}.md"
    for page in DOCS.rglob("*.md")
    for block in blocks(page.read_text(encoding="utf-8"), "{toctree}")
    for name in re.findall(r"<(.+)>$", block.text, re.MULTILINE)
}
"""Pages that the navigation has."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as by ``make docs``."""
    assert f"sphinx-build {' '.join(OPTIONS)} " in (ROOT / "Makefile").read_text()
    folder, read = (tmp_path_factory.mktemp(name) for name in ("site", "doctrees"))
    command = [sys.executable, "-m", "sphinx", *OPTIONS, "-d", str(read), "docs", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.program
def test_the_site_needs_no_network(site: Path) -> None:
    """Links may lead elsewhere; nothing that a browser fetches by itself does."""
    fetched = re.compile(
        r"<(?:script|img|iframe|link|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//"
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        assert not fetched.search(page.read_text(encoding="utf-8")), page.relative_to(site)
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), style
    assert {path.suffix for path in (site / "_downloads").rglob("*.*")} <= {".json", ".py"}


@pytest.mark.program
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = (page.read_text(encoding="utf-8") for page in (site / "reference/api").glob("*.html"))
    anchors = {anchor for page in pages for anchor in re.findall(r'id="(popsnet\.[\w.]+)"', page)}
    names = {f"popsnet.{name}" for name in popsnet.__all__ if name not in PACKAGES}
    shared = {name: getattr(popsnet, name) for name in popsnet.__all__}
    for package in PACKAGES:
        module = shared[package]
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType) and value is not shared.get(name):
                names.add(f"{module.__name__}.{name}")
    assert not names - anchors


@pytest.mark.program
def test_every_command_is_in_the_reference(site: Path) -> None:
    page = (site / "reference/commands.html").read_text(encoding="utf-8")
    for command in ("route", "compare", "results export", "adversary two-hop"):
        assert f">popsnet {command}<" in page


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A page of the browser. Nothing may fail in it, and nothing is asked of a network."""
    page, complaints = browser.new_page(), list[str]()

    def request(one: Request) -> None:
        if not one.url.startswith(("file:", "data:", "blob:")):
            complaints.append(one.url)

    def failure(one: Request) -> None:
        if one.failure != "net::ERR_ABORTED":  # by the next page
            complaints.append(one.url)

    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", failure)
    page.on("request", request)
    yield page
    page.close()
    assert not complaints


@pytest.mark.browser
def test_every_page_opens_from_a_folder(site: Path, tab: Tab) -> None:
    """Every formula is drawn, and is one that MathJax understands."""
    for page in site.rglob("*.html"):
        if "_static" in page.parts:  # a template of the theme
            continue
        tab.goto(page.as_uri())
        if "mathjax/tex-svg.js" in page.read_text(encoding="utf-8"):
            tab.evaluate("MathJax.startup.promise")
            formulas = tab.locator(".math")
            assert 0 < formulas.count() == formulas.filter(has=tab.locator("svg")).count(), page
            assert not tab.locator("mjx-merror, [data-mjx-error]").count(), page


@pytest.mark.browser
def test_the_search_works_from_a_folder(site: Path, tab: Tab) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.keyboard.press("Control+k")
    tab.keyboard.type("tornado")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#search-results li >> text=Permutations")


def test_every_page_is_in_the_navigation() -> None:
    """The strict build says so, too; this one takes no time."""
    for page in DOCS.rglob("*.md"):
        assert page == DOCS / "index.md" or page in NAMED, page


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 150
    links = re.findall(r"\]\(([^)#\s]+)", README)
    assert len(links) > 15
    for link in links:
        assert (ROOT / link).exists(), link


def test_all_pages_have_the_numbers_of_the_summary_of_the_paper() -> None:
    page, guide = (
        (DOCS / name).read_text(encoding="utf-8")
        for name in ("reference/paper.md", "how-to/reproduce-and-cite.md")
    )
    (summary,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    numbers = re.compile(r"(\d+ of \d+) (means|standard deviations|maxima)(?: and|, | agree)")
    agree = numbers.findall(summary.partition("The published formula")[0])
    assert [name for _, name in agree] == ["means", "standard deviations", "maxima"]
    assert numbers.findall(guide) == agree
    kept = json.loads((ROOT / "results/paper/provenance.json").read_text())["summary"]
    full = numbers.findall(kept.partition("The published formula")[0])
    assert numbers.findall(README) == full
    assert numbers.findall(page.partition("The tables kept")[2]) == full


def test_readers_find_the_same_on_both_first_pages() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    here, there = (re.findall(r"^\| .*\|$", text, re.MULTILINE) for text in (README, index))
    assert len(here) == 8
    assert [row.replace("](docs/", "](") for row in here] == there


def test_every_tutorial_and_every_guide_is_on_the_first_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in (*DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md")):
        assert f"]({page.relative_to(DOCS).as_posix()})" in index.partition("## What is where")[2]


def test_the_readme_counts_what_there_is() -> None:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    shipped = [one for one in popsnet.all_routers() if not one.file]
    assert f"{words[len(shipped) - 1]} others" in README
    schedulers = [one for one in popsnet.traffic.all_schedulers() if not one.file]
    assert f"for {words[len(schedulers)]} schedulers" in README
    (said, section) = re.findall(r"^## (\w+) commands\n(.*?)^## ", README, re.M | re.S)[0]
    assert said.lower() == words[len(re.findall(r"^\*\*", section, re.MULTILINE))]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in extras["optional-dependencies"].keys() - {"dev", "docs", "preprint"}:
        assert f"`.[{extra}]`" in README, extra


def test_what_is_said_of_the_kept_tables_is_true() -> None:
    """Pages that speak of them name the version that made them, and plans that have changed."""
    kept = ROOT / "results/paper"
    program = json.loads((kept / "provenance.json").read_text())["program"]
    named = re.compile(rf"(popsnet|version) {program.removeprefix('popsnet ')}(?![\d.]*\d)")
    pages = [ROOT / "README.md", kept / "README.md", *DOCS.rglob("*.md")]
    claims = {page: page.read_text(encoding="utf-8") for page in pages}
    speaking = {page for page, text in claims.items() if "](results/paper)" in text
                or "](../../results/paper)" in text or page.parent == kept}  # fmt: skip
    assert len(speaking) >= 5
    for page in speaking:
        assert named.search(claims[page]), page
    changed = {
        Network(int(row["d"]), int(row["g"]))
        for row in csv.DictReader((kept / "relay.csv").read_text().splitlines())
        if Experiment(int(row["d"]), int(row["g"]), router="relay").variant != row["variant"]
    }
    assert changed == set()


def test_the_moving_figure_is_of_a_real_run() -> None:
    """It is drawn again and compared, has no script, and rests for those who ask for that."""
    spec = importlib.util.spec_from_file_location("draw_animation", DOCS / "draw_animation.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    kept = (DOCS / "images/pops-4-4.svg").read_text(encoding="utf-8")
    assert drawing.drawn(drawing.RUN) == kept
    assert len(kept) < 200_000
    assert "<script" not in kept
    still, moving = kept.split("@media (prefers-reduced-motion: no-preference)")
    assert "@keyframes" in moving
    assert "@keyframes" not in still


def test_the_gallery_shows_what_it_makes() -> None:
    """Every figure is made by a block before it, and every command that draws is there."""
    for command in COMMANDS:
        assert re.search(rf"^popsnet {command} .*--figure ", GALLERY, re.MULTILINE), command
    shown = list(re.finditer(r"\]\(images/gallery/([\w-]+)\.svg\)", GALLERY))
    assert len(shown) >= 12
    for figure in shown:
        blocks = re.findall(r"```(?:python|sh)\n(.*?)```", GALLERY[: figure.start()], re.DOTALL)
        assert any(f'"{figure[1]}"' in block or f"{figure[1]}.svg" in block for block in blocks)
    for path in (DOCS / "images").rglob("*.svg"):
        assert path.stat().st_size < 150_000, path
