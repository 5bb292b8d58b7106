"""A browser, and pages in it that are watched: what they complain of or ask for fails a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from popsnet.trace.viewer import Page, Recording

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog
    from playwright.sync_api import Page as Tab

Visit = Callable[..., "Tab"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


class Watch:
    """What a page did that it should not; a test that provokes it takes it from here."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.addresses: set[str] = {"about:srcdoc"}

    def over(self, context: BrowserContext) -> None:
        context.on("console", lambda message: self._told(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        context.on("dialog", self._spoke)
        context.on("request", lambda request: self._asked(request.url))
        context.on("page", lambda tab: self._opened(tab))

    def _spoke(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if url not in self.addresses:
            self.complaints.append(f"request: {url}")

    def _opened(self, tab: Tab) -> None:
        if len(tab.context.pages) > 1:
            self.complaints.append(f"window: {tab.url}")

    def taken(self) -> list[str]:
        """All that happened so far, which is then forgiven."""
        complaints, self.complaints = self.complaints, []
        return complaints


class Desk:
    """A browser with a tab that is used again and again: to open one takes longer than a test."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.watch = Watch()
        self._usual: Tab | None = None

    def tab(self, *, stopped: bool) -> Tab:
        """The usual tab, or another, whose time can be stopped."""
        if stopped:
            tab = self._new()
            tab.clock.install(time=0)
            return tab
        if self._usual is None:
            self._usual = self._new()
        return self._usual

    def _new(self) -> Tab:
        context = self.browser.new_context()
        context.set_default_timeout(10_000)
        self.watch.over(context)
        return context.new_page()

    def clear(self) -> None:
        for context in self.browser.contexts:
            if self._usual is None or context != self._usual.context:
                context.close()


@pytest.fixture(scope="session")
def desk(browser: Browser) -> Desk:
    return Desk(browser)


@pytest.fixture
def watch(desk: Desk) -> Watch:
    return desk.watch


@pytest.fixture
def visit(desk: Desk, watch: Watch, tmp_path: Path) -> Iterator[Visit]:
    """Open runs, or a whole page, from a file, as a reader does who was sent one."""
    opened = 0

    def open_tab(
        content: Sequence[Recording] | str,
        *,
        size: tuple[int, int] = (1280, 900),
        scheme: Literal["light", "dark"] = "light",
        still: bool = False,
        stopped: bool = False,
        at: str = "#slot=0",
    ) -> Tab:
        """Open it on a screen of that size, for a reader who wants that theme, or no motion.

        With ``stopped`` the page's time stands still, until ``tab.clock.run_for``. The link ends
        with ``at``; without a moment in it the page plays by itself.
        """
        nonlocal opened
        opened += 1
        html = content if isinstance(content, str) else Page.of(content).html
        path = tmp_path / f"page-{opened}.html"
        path.write_text(html, encoding="utf-8")
        watch.addresses |= {path.as_uri(), path.as_uri() + at}
        tab = desk.tab(stopped=stopped)
        tab.set_viewport_size({"width": size[0], "height": size[1]})
        motion: Literal["reduce", "no-preference"] = "reduce" if still else "no-preference"
        tab.emulate_media(media="screen", color_scheme=scheme, reduced_motion=motion)
        tab.goto(path.as_uri() + at)
        if tab.locator("#recordings").count() > 0:
            tab.wait_for_selector("html[data-ready]", state="attached")
        if stopped:
            tab.clock.pause_at(3_600_000)
        return tab

    yield open_tab
    desk.clear()
    assert watch.taken() == []
