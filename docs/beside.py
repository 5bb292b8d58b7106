"""What the site has beside the files in docs: pages of the repository, and runs to watch."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from command_reference import commands_page
from docutils import nodes
from json_reference import json_page
from pygments.lexers.special import TextLexer
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from watch import WATCHED, page_of

ROOT = Path(__file__).parents[1]
BESIDE = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
"""Pages that stand beside docs, where a code host looks for them."""

BROKEN = re.compile(r"[-+=<>,]|\\(le|ge|in|to|cdot|approx)\b|.{30}")
"""Formulas that may end one line and begin the next."""
TEXTS: dict[str, Callable[[], str]] = {
    "reference/commands": commands_page,
    "reference/json": json_page,
    **{name: partial((ROOT / f"{name}.md").read_text, "utf-8") for name in BESIDE},
}
"""What takes the place of pages that are only their titles."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Add what follows to Sphinx."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", read_page)
    app.connect("doctree-read", keep_together)
    app.connect("doctree-read", link_figures, priority=900)  # when all images have names
    app.connect("build-finished", write_runs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn links between docs and the rest of the repository into links of the site.

    In the repository a page beside docs is one level above it; on the site it is inside. The
    source of a module is not on the site, so a link to it becomes its name. An image of a run to
    watch leads to itself in the repository, and to the run on the site. The title of a block is
    its caption.
    """
    text = TEXTS[page]() if page in TEXTS else source[0]
    if page in BESIDE:
        text = text.replace("](docs/", "](")
    text = re.sub(r"\)\]\(images/gallery/([\w-]+)\.png\)", r")](watch/\1.html){.external}", text)
    names = "|".join(BESIDE)
    text = re.sub(rf"\]\(\.\./((?:\.\./)*(?:{names})\.md)", r"](\1", text)
    text = re.sub(r"\[([^]]*)\]\((?:\.\./)*((?:src|results|docs/examples)/[^)]*)\)", _named, text)
    source[0] = re.sub(
        r'^( *)(`{3,})(\w+) title="([^"]+)"$',
        r"\1\2{code-block} \3\n\1:caption: \4\n",
        text,
        flags=re.MULTILINE,
    )


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return text if path in text else f"{text} (`{path}`)"


def keep_together(app: Sphinx, page: nodes.document) -> None:
    """Let no line end between a formula and what is written to it, such as a comma."""
    for formula in list(page.findall(nodes.math)):
        line, place = formula.parent, formula.parent.index(formula)
        after = line[place + 1] if place + 1 < len(line) else None
        if isinstance(after, nodes.Text) and not BROKEN.search(formula.astext()):
            parts = re.split(r"(?=\s)", after, maxsplit=1)  # what is before the first space
            together = nodes.inline("", "", formula, nodes.Text(parts[0]), classes=["together"])
            line[place : place + 2] = [together, *map(nodes.Text, parts[1:])]


def link_figures(app: Sphinx, page: nodes.document) -> None:
    """Let a figure that links to itself open its file on the site, instead of a copy to save."""
    for link in list(page.findall(download_reference)):
        for figure in list(link.findall(nodes.image)):
            app.env.dlfiles.pop(Path(figure["uri"]), None)
            up = "../" * app.env.docname.count("/")
            name = app.env.images[figure["uri"]][1]
            link.replace_self(nodes.reference("", "", figure, refuri=f"{up}_images/{name}"))


def write_runs(app: Sphinx, exception: Exception | None) -> None:
    """Write the pages of the viewer that the pages of the site link to."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "watch"
    folder.mkdir(exist_ok=True)
    for name, experiments in WATCHED.items():
        (folder / f"{name}.html").write_text(page_of(experiments).html, "utf-8")
