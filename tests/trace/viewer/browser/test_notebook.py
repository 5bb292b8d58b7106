"""Inside a notebook: the same page in a frame that can reach nothing around it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from popsnet.trace.viewer import Page

from .conftest import Visit
from .replay import Replay
from .runs import run_of

if TYPE_CHECKING:
    from playwright.sync_api import Frame


def framed(visit: Visit) -> Frame:
    page = Page.of([run_of(4, 4)])._repr_html_()
    tab = visit(f"<!DOCTYPE html><title>notebook</title><script>secret = 1</script>{page}")
    frame = tab.frames[1]
    frame.wait_for_selector("html[data-ready]", state="attached")
    return frame


def test_the_page_plays_in_a_notebook(visit: Visit) -> None:
    frame = framed(visit)
    frame.click("#first")
    frame.click("#forward")
    assert frame.text_content(".slot-words") == Replay(run_of(4, 4).text).words(1)
    frame.check("#as-matrix")
    assert frame.locator("canvas").count() == 1
    frame.click("#collision")


def test_a_slot_is_saved_from_there(visit: Visit) -> None:
    frame = framed(visit)
    frame.click("#first")
    for kind, begins in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        with frame.page.expect_download() as download:
            frame.click(f".save-{kind}")
        assert Path(download.value.path()).read_bytes().startswith(begins)


def test_its_dialog_can_be_closed_there(visit: Visit) -> None:
    """A frame that may not send forms would keep a dialog open that is closed by one."""
    frame = framed(visit)
    frame.click("#keys")
    assert frame.is_visible("#help")
    frame.click("#close")
    assert not frame.is_visible("#help")


def test_it_reaches_nothing_of_the_notebook(visit: Visit) -> None:
    frame = framed(visit)
    reached = """() => {
      try { return parent.document.title; } catch (error) { return error.name; }
    }"""
    assert frame.evaluate(reached) == "SecurityError"
    assert frame.evaluate("origin") == "null"
