"""Take screenshots of viewer pages for the documents, in Chromium; every run can be repeated."""

import shutil
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from watch import WATCHED, page_of

IMAGES = Path(__file__).parent / "images"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDE = 1280


class Shot(NamedTuple):
    """A page in one slot."""

    page: str
    """Its name in ``WATCHED``."""
    slot: int
    high: int
    theme: Literal["light", "dark"] = "light"
    follow: int | None = None
    top: str = "#runs"
    """What is at the upper edge."""
    wide: int = WIDE
    """The width of the window: in the gallery's, what is seen must be readable at half the size."""


SHOTS = {
    "viewer-3-3-light": Shot("one-packet", 1, 860, follow=4),
    "viewer-6-6-side-by-side-dark": Shot("side-by-side", 2, 900, "dark", top="#score"),
    "viewer-64-64-matrix-light": Shot("matrix", 6, 860),
    "gallery/two-routers": Shot("two-routers", 2, 800),
    "gallery/one-packet": Shot("one-packet", 1, 500, follow=4, wide=800),
    "gallery/lost-packets": Shot("lost-packets", 10, 800),
    "gallery/schedule": Shot("schedule", 1, 500, wide=800),
    "gallery/side-by-side": Shot("side-by-side", 2, 800, "dark"),
    "gallery/matrix": Shot("matrix", 6, 500, wide=800),
}


def take(browser: Browser, shot: Shot, path: Path) -> None:
    """Save a page as a reader sees it who has scrolled to its runs."""
    with TemporaryDirectory() as folder:
        address = page_of(WATCHED[shot.page]).save(Path(folder) / "page.html").as_uri()
        context = browser.new_context(
            viewport={"width": shot.wide, "height": shot.high},
            color_scheme=shot.theme,
            reduced_motion="reduce",
        )
        tab = context.new_page()
        followed = "" if shot.follow is None else f"&follow={shot.follow}"
        tab.goto(f"{address}#slot={shot.slot}{followed}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        tab.locator(shot.top).evaluate("(top) => scrollTo(0, top.offsetTop - 8)")
        with Image.open(BytesIO(tab.screenshot())).convert("RGB") as picture:
            # a few colours and their shades: 256 are enough, at a third of the size
            small = picture.quantize(256, dither=Image.Dither.NONE)
            small.save(path, optimize=True)
        context.close()


def draw() -> None:
    """Take all screenshots, if there is a browser."""
    chromium = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if chromium is None:
        print(
            "Chromium is not installed: the screenshots of the viewer stay as they are.",
            file=sys.stderr,
        )
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        for name, shot in SHOTS.items():
            take(browser, shot, IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    draw()
