"""What the site has beside the files in docs: pages of the repository, and runs to watch."""

import re
from pathlib import Path

from command_reference import commands_page
from json_reference import json_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from watch import WATCHED, page_of

ROOT = Path(__file__).parents[1]
PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that stand beside docs, where a code host looks for them."""


def on_config(config: MkDocsConfig) -> None:
    """Leave out the page for wrong addresses, which only a server shows."""
    config.theme.static_templates.discard("404.html")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from beside docs, the references of commands and JSON, and runs to watch."""
    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    files.append(File.generated(config, "reference/json.md", content=json_page()))
    for name, experiments in WATCHED.items():
        files.append(
            File.generated(config, f"watch/{name}.html", content=page_of(experiments).html)
        )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between docs and the rest of the repository into links of the site.

    In the repository a page beside docs is one level above it; on the site it is inside. The
    source of a module is not on the site, so a link to it becomes its name. An image of a run to
    watch leads to itself in the repository, and to the run on the site.
    """
    if page.parent is None:
        page.meta["hide"] = ["navigation"]  # a page of its own has nothing beside it
    if page.file.src_uri in PAGES:
        markdown = markdown.replace("](docs/", "](")
    markdown = re.sub(r"\)\]\(images/gallery/([\w-]+)\.png\)", r")](watch/\1.html)", markdown)
    names = "|".join(map(re.escape, PAGES))
    markdown = re.sub(rf"\]\(\.\./((?:\.\./)*(?:{names}))", r"](\1", markdown)
    return re.sub(
        r"\[([^]]*)\]\((?:\.\./)*((?:src|results|docs/examples)/[^)]*)\)", _named, markdown
    )


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return text if path in text else f"{text} (`{path}`)"
