"""The page holds the runs, whole, and nothing of them as markup."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from popsnet import InputError, TraceFormatError, route
from popsnet.trace.viewer import MOST_TEXT, Page, Recording
from tests.each import each

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "@@DATA@@ @@SCRIPT@@",
    "\"'>&<!-- \ud800",
)


def trace_of(**choices: Any) -> str:
    """The trace of a run on POPS(2, 2), or what is given."""
    where = {"d": 2, "g": 2} | choices
    lines: list[dict[str, Any]] = [
        {
            "format": "popsnet-trace", "version": 1, "router": "r", "variant": "v", "seed": 0,
            "destination": list(range(where["d"] * where["g"])), **where,
        },
        {"slot": 1, "phase": choices.get("router", "p"), "sends": [], "listens": []},
        {"outcome": {"slots": 1, "delivered": 4, "lost": 0}},
    ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


class Parsed(HTMLParser):
    """Elements of a page, and the texts of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        found = zip(self.elements, self.texts, strict=True)
        return [(attributes, text) for (name, attributes), text in found if name == tag]


def data_on(page: Page) -> str:
    (data,) = (text for attributes, text in Parsed(page.html).of("script") if "id" in attributes)
    return data


def runs_on(page: Page) -> list[tuple[str, str]]:
    """Names and traces, as a browser reads them."""
    return [
        (run["name"], gzip.decompress(b64decode(run["gzip"])).decode())
        for run in json.loads(data_on(page))["runs"]
    ]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    folder = tmp_path_factory.mktemp("traces")
    for router in ("mei-rizzi", "relay"):
        route(4, 4, router=router, trace=folder / f"{router}.jsonl")
    return [Recording.read(path) for path in sorted(folder.iterdir())]


def test_what_is_on_the_page_is_what_was_traced(real: list[Recording]) -> None:
    page = Page.of(real)
    assert page.title == "POPS(4, 4): mei-rizzi (published), relay (direct)"
    assert Parsed(page.html).of("title")[0][1] == page.title
    names = ["mei-rizzi (published)", "relay (direct)"]
    assert runs_on(page) == list(zip(names, (recording.text for recording in real), strict=True))
    assert page.html == Page.of(real).html


def test_the_policy_allows_the_one_program_and_nothing_else(real: list[Recording]) -> None:
    parsed = Parsed(Page.of(real).html)
    programs = [text for kind, text in parsed.of("script") if kind.get("id") != "recordings"]
    hashed = b64encode(sha256(programs[0].encode()).digest()).decode()
    policies = [
        kind["content"]
        for kind, _ in parsed.of("meta")
        if kind.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(programs) == 1
    assert policies == [
        f"default-src 'none'; script-src 'sha256-{hashed}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    ]


def test_nothing_is_fetched(real: list[Recording]) -> None:
    parsed = Parsed(Page.of(real).html)
    attributes = [pair for _, element in parsed.elements for pair in element.items()]
    for name, value in attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "data", "action", "srcset"):
            assert (value or "").startswith(("#", "data:"))
    assert "@import" not in Page.of(real).html


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_trace_is_only_text(text: str) -> None:
    plain = Page.of([Recording.of(trace_of())])
    page = Page.of([Recording.of(trace_of(router=text, variant=text))])
    elements = [tag for tag, _ in Parsed(plain.html).elements]
    assert [tag for tag, _ in Parsed(page.html).elements] == elements
    title = f"POPS(2, 2): {text} ({text})"
    assert unescape(Parsed(page.html).of("title")[0][1]) == title.replace("\ud800", "\ufffd")
    assert [name for name, _ in runs_on(page)] == [f"{text} ({text})"]
    assert "<" not in data_on(page)
    page.html.encode()


def test_a_notebook_shows_the_same_page(real: list[Recording]) -> None:
    for recordings in (real, [Recording.of(trace_of(router=text)) for text in HOSTILE]):
        page = Page.of(recordings)
        (attributes,) = (frame for _, frame in Parsed(page._repr_html_()).elements)
        assert attributes["srcdoc"] == page.html
        assert attributes["sandbox"] == "allow-scripts allow-downloads"
        assert "allowfullscreen" in attributes
        assert (attributes["title"] or "").replace("\ufffd", "\ud800") == page.title


def test_a_notebook_says_how_large_a_large_page_is() -> None:
    page = Page("large", "&" * 240_000)
    assert page._repr_html_().endswith(
        "<p>This page adds 1.2 MB to the notebook. To keep the notebook small, write the page to "
        'a file instead: <code>run.view().save("run.html")</code>.</p>'
    )


def test_runs_of_one_name_are_told_apart() -> None:
    text = trace_of()
    same = [Recording("a", text), Recording("a", text), Recording("b", text)]
    assert [name for name, _ in runs_on(Page.of(same))] == ["a, 1 of 2", "a, 2 of 2", "b"]
    files = [Recording("a", text, "x"), Recording("a", text, "y")]
    assert [name for name, _ in runs_on(Page.of(files))] == ["a, x", "a, y"]


@each(
    ("texts", "said"),
    [
        ([], "give at least one"),
        ([trace_of(), trace_of(d=3)], r"POPS\(2, 2\) and POPS\(3, 2\)"),
        ([trace_of(), trace_of(destination=[1, 0, 3, 2])], "the same packets"),
        ([trace_of(), trace_of(start=[1, 0, 3, 2])], "the same packets"),
        ([trace_of(d=1, g=257)], "g = 257 groups, and the viewer shows up to 256; choose"),
        ([trace_of(d=2**17, g=2, destination=[])], "n = 262,144 processors"),
        ([trace_of(destination=[0])], "4 packets and 1 destinations"),
        ([trace_of(destination=[0, 1, 2, 4])], "no processor 4"),
        ([trace_of(start=[0, 1, 2, -1])], "no processor -1"),
        ([trace_of(destination=[1, 0, 1, 2])], "run 0: 2 packets are for processor 1, and .* add"),
        ([""], "empty"),
    ],
)
def test_what_cannot_be_shown_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Page.of([Recording(f"run {number}", text) for number, text in enumerate(texts)])


def test_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    path.write_text(trace_of())
    with path.open("r+b") as file:
        file.truncate(MOST_TEXT + 1)  # a hole: it takes no room
    with pytest.raises(
        InputError, match="64,000,001 bytes, and a page has room for 64,000,000; show"
    ):
        Recording.read(path)
    monkeypatch.setattr("popsnet.trace.viewer.page.MOST_TEXT", 2 * len(trace_of()) - 1)
    with pytest.raises(InputError, match=r"together, and a page has room for \d+; show fewer"):
        Page.of([Recording("a", trace_of()), Recording("b", trace_of())])


def test_files_are_read_as_the_checker_reads_them(tmp_path: Path) -> None:
    """A mark at the beginning and half a character are no reason to fail."""
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbf" + trace_of().replace('"p"', '"\xa0p"').encode("latin-1"))
    assert Recording.read(path) == ("r (v)", trace_of().replace('"p"', '"\ufffdp"'), "t")
    with pytest.raises(TraceFormatError, match="cannot be read"):
        Recording.read(tmp_path)


def test_the_file_appears_whole(tmp_path: Path) -> None:
    page = Page.of([Recording.of(trace_of())])
    path = page.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == page.html
    with pytest.raises(InputError, match="no folder"):
        page.save(tmp_path / "nowhere" / "page.html")


def test_packets_of_traffic_are_not_in_the_header() -> None:
    assert Page.of([Recording.of(trace_of(traffic=True, destination=[], variant=""))]).title == (
        "POPS(2, 2): r"
    )
    with pytest.raises(TraceFormatError, match='has "traffic", so packets arrive in slots'):
        Page.of([Recording.of(trace_of(traffic=True))])


def test_traffic_and_a_router_are_not_side_by_side() -> None:
    traffic = Recording.of(trace_of(traffic=True, destination=[]))
    with pytest.raises(InputError, match="do not have the same packets to route"):
        Page.of([Recording.of(trace_of()), traffic])
