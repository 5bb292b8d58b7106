"""The report in Chromium: nothing is wider than a telephone, and nothing moves that should not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from popsnet import route
from popsnet.paper import Reproduction
from popsnet.paper.figures import PaperFigure
from popsnet.paper.plan import make_plan
from popsnet.paper.report import embed, write_report
from popsnet.paper.rows import make_rows
from popsnet.paper.theory.section import Theory
from popsnet.plots import Series, draw_slots

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a few runs with one figure of two panels, without its theory."""
    folder = tmp_path_factory.mktemp("report")
    plan = replace(make_plan(runs=10, max_n=16), rivals=(), exact=(), attacked=())
    results = {
        (experiment, runs): route(experiment, runs=runs).tally for experiment, runs in plan.wanted
    }
    rows = make_rows(plan, results)
    found = Reproduction(folder, plan, rows, Theory((), (), (), ()), ())
    series = [Series("ours", (4, 16), (15.0, 21.7))]
    drawn = draw_slots({"d = g": series, "d = 4g": series})
    figure = embed(1, PaperFigure("steps", "Steps.", "Steps.", drawn), folder)
    write_report(found, {"steps": figure}, [("date", "today")], {"lost-packets.html": "Lost."})
    return found.report_file


@contextmanager
def opened(browser: Browser, report: Path, width: int, **options: Any) -> Iterator[Tab]:
    """Open the report; it must neither complain nor ask for anything but itself."""
    with browser.new_context(viewport={"width": width, "height": 900}, **options) as context:
        said: list[str] = []
        context.on("console", lambda message: said.append(message.text))
        context.on("request", lambda request: said.append(request.url))
        tab = context.new_page()
        tab.goto(report.as_uri())
        yield tab
        assert [address for address in said if not address.startswith("data:")] == [report.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_only_frames_scroll_sideways(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    with opened(browser, report, width, color_scheme=scheme) as tab:
        tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        wider = "one => one.scrollWidth > one.clientWidth"
        frames = f"[...document.querySelectorAll('.wide')].filter({wider})"
        assert (tab.evaluate(f"{frames}.length") > 0) == (width == 400)
        signs = f"{frames}.map(one => getComputedStyle(one).backgroundImage)"
        assert all("linear-gradient" in sign for sign in tab.evaluate(signs))


@pytest.mark.parametrize("width", [1280, 400])
def test_panels_and_legend_are_stacked_where_it_is_narrow(
    browser: Browser, report: Path, width: int
) -> None:
    boxes = "all => all.map(one => one.getBoundingClientRect()).map(b => [b.left, b.right, b.top])"
    with opened(browser, report, width) as tab:
        parts = tab.locator("#figure-steps .parts svg").evaluate_all(boxes)
        assert len(parts) == 3  # two panels and one entry of their legend
        if width == 1280:
            assert not tab.locator("#figure-steps .parts").is_visible()
            return
        assert all(0 <= left < right <= width for left, right, _ in parts)
        tops = [top for *_, top in parts]
        assert tops == sorted(set(tops))
        drawn = tab.locator("#figure-steps .parts use").evaluate_all(
            "all => all.map(one => one.getBBox().width)"
        )
        assert min(drawn) > 0  # each names a part that is there
