"""What the site has beside the files in docs: pages of the repository, and runs to watch."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from command_reference import commands_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page as SitePage

from popsnet import route
from popsnet.viewer import Page, Recording

ROOT = Path(__file__).parents[1]
PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages that stand beside docs, where a code host looks for them."""

WATCHED = {
    "paper-and-relay": ((4, 4, "mei-rizzi", None, 0), (4, 4, "relay", "S", 0)),
    "lost-packets": ((3, 2, "mei-rizzi", "published", 17), (3, 2, "mei-rizzi", "deferred", 17)),
    "conflict-graph": ((8, 8, "mei-rizzi", None, 0),),
    "schedule": ((6, 6, "offline", None, 0),),
    "matrix": ((32, 32, "relay", None, 0),),
}
"""Runs to watch: d, g, router, variant, and both seeds; runs of one page share a permutation."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from beside docs, the reference of the commands, and runs to watch."""
    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    for name, runs in WATCHED.items():
        page = File.generated(
            config, f"watch/{name}.html", content=watched(runs), inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Turn links between docs and the rest of the repository into links of the site.

    In the repository a page beside docs is one level above it; on the site it is inside. The
    source of a module is not on the site, so a link to it becomes its name.
    """
    if page.file.src_uri in PAGES:
        markdown = markdown.replace("](docs/", "](")
    names = "|".join(map(re.escape, PAGES))
    markdown = re.sub(rf"\]\(\.\./((?:\.\./)*(?:{names}))", r"](\1", markdown)
    return re.sub(
        r"\[([^]]*)\]\((?:\.\./)*((?:src|results|docs/examples)/[^)]*)\)", _named, markdown
    )


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return text if path in text else f"{text} (`{path}`)"


def watched(runs: tuple[tuple[int, int, str, str | None, int], ...]) -> str:
    """The page that plays these runs, one beside the other."""
    recordings = []
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        for d, g, router, variant, seed in runs:
            route(
                d, g, router=router, variant=variant, seed=seed, permutation_seed=seed, trace=trace
            )
            recordings.append(Recording.of(trace.read_text("utf-8")))
    return Page.of(recordings).html
