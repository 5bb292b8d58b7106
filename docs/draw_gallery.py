"""Draws the figures of the gallery: runs the blocks of its page, and keeps what it shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from draw_picture import keep

DOCS = Path(__file__).parent
PAGE = DOCS / "gallery.md"
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.*?)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draw(page: str) -> None:
    """Run what the page says in an empty folder, and keep the figures that it shows."""
    shown = re.findall(r"\]\(images/gallery/([\w-]+\.svg)\)", page)
    names: dict[str, object] = {"__name__": "__main__"}
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for language, file, block in BLOCK.findall(page):
                if file:
                    Path(file).write_text(block, encoding="utf-8")
                elif language == "python":
                    exec(block, names)  # noqa: S102
                else:
                    run(block)
            for name in shown:
                keep(Path(name).read_text(encoding="utf-8"), DOCS / "images" / "gallery" / name)
        finally:
            os.chdir(here)


def run(block: str) -> None:
    """The commands of a block."""
    for line in block.splitlines():
        command = [sys.executable, "-m", *shlex.split(line, comments=True)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


if __name__ == "__main__":
    (DOCS / "images" / "gallery").mkdir(exist_ok=True)
    draw(PAGE.read_text(encoding="utf-8"))
