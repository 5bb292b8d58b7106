"""A browser, and pages in it that are watched: what they complain of or ask for fails a test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from popsnet.viewer import Page, Recording

from .chromium import find_chromium, launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog
    from playwright.sync_api import Page as Tab

Visit = Callable[..., "Tab"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def missing(what: str) -> NoReturn:
    """Without a browser nothing is tested, which is a failure where it was asked for."""
    if os.environ.get("POPSNET_BROWSER") == "required":
        pytest.fail(f"{what} is not installed, and POPSNET_BROWSER=required.")
    pytest.skip(f"{what} is not installed; make test-browser installs it")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright")
    path = find_chromium()
    if path is None:
        missing("Chromium")
    with sync_playwright() as playwright, launched(playwright, path) as browser:
        yield browser


class Watch:
    """What pages did that they should not; a test that provokes it takes it from here."""

    def __init__(self) -> None:
        self.complaints: list[str] = []

    def add(self, tab: Tab, address: str) -> None:
        tab.on("console", lambda message: self._told(message.type, message.text))
        tab.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        tab.on("dialog", self._spoke)
        tab.on("popup", lambda other: self.complaints.append(f"popup: {other.url}"))
        tab.context.on("request", lambda request: self._asked(request.url, address))

    def _spoke(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(f"{kind}: {text}")

    def _asked(self, url: str, address: str) -> None:
        if url not in (address, "about:srcdoc"):
            self.complaints.append(f"request: {url}")

    def taken(self) -> list[str]:
        """All that happened so far, which is then forgiven."""
        complaints, self.complaints = self.complaints, []
        return complaints


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def visit(browser: Browser, watch: Watch, tmp_path: Path) -> Iterator[Visit]:
    """Opens runs, or a whole page, from a file, as whoever was sent one does."""
    contexts: list[BrowserContext] = []

    def open_tab(content: Sequence[Recording] | str, **options: Any) -> Tab:
        html = content if isinstance(content, str) else Page.of(content).html
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(**options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        tab = context.new_page()
        watch.add(tab, path.as_uri())
        tab.goto(path.as_uri())
        if 'id="recordings"' in html:
            tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert watch.complaints == []
