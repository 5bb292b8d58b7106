"""A trace is data: whatever it says, nothing of it runs and nothing is asked of anybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from popsnet.trace.viewer import Recording

from .conftest import Visit, Watch
from .runs import lines_of, run_of
from .test_damaged import opened

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

HOSTILE = [
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=2</script>",
    "\"'><svg onload=window.hit=3>",
    "<!--<script>",
    "javascript:window.hit=4",
    "${window.hit=5}`",
    "</title><iframe srcdoc='<script>parent.hit=6</script>'>",
    "__proto__",
    "\u202e\u0000\ufffe&lt;b&gt;",
]

PLAYED = """() => {
  const press = (id) => document.getElementById(id).click();
  const told = (selector) => document.querySelector(selector).textContent;
  const [name, warning] = [told("h2"), document.querySelector(".run .warning")?.textContent ?? ""];
  press("forward");
  const words = told(".slot-words");
  for (const id of ["as-matrix", "last", "as-matrix", "collision", "keys", "close"]) press(id);
  const packet = document.getElementById("packet");
  packet.value = 1;
  packet.dispatchEvent(new Event("change"));
  const elements = {};
  for (const { tagName } of document.querySelectorAll("*")) {
    elements[tagName] = (elements[tagName] ?? 0) + 1;
  }
  const polluted = Object.keys(Object.prototype).length > 0;
  return { name, warning, words, elements, polluted, hit: window.hit ?? null };
}"""


def trace(text: str, kind: str) -> str:
    """A run all of whose words are this text."""
    lines = lines_of(run_of(2, 2))
    lines[0].update(router=text, variant=text, explanation=text, phases={"*": text, text: text})
    for line in lines[1:-1]:
        line["phase"] = text
    for send in lines[1]["sends"]:
        send[2] = kind
    return "".join(json.dumps(line) + "\n" for line in lines)


def assert_only_text(tab: Tab, text: str, plain: dict[str, int]) -> None:
    seen: dict[str, Any] = tab.evaluate(PLAYED)
    assert seen["name"].startswith(text)
    assert text.lstrip("0123456789") in seen["words"]
    assert json.dumps(text, ensure_ascii=False)[:40] in seen["warning"]
    assert seen["hit"] is None
    assert seen["polluted"] is False
    extra = {"SCRIPT", "IMG", "IFRAME", "OBJECT", "EMBED", "LINK", "BASE", "FORM", "A", "META"}
    found: dict[str, int] = seen["elements"]
    assert {name: found.get(name) for name in extra} == {name: plain.get(name) for name in extra}
    assert set(found) <= set(plain)


@pytest.fixture
def plain(visit: Visit) -> dict[str, int]:
    """The elements of a page that breaks the rules, so that it has a warning, without ill will."""
    tab = visit([Recording.of(trace("plain", "other"))])
    found: dict[str, int] = tab.evaluate(PLAYED)["elements"]
    return found


def test_of_a_hostile_trace_nothing_runs(visit: Visit, plain: dict[str, int]) -> None:
    for text in HOSTILE:
        recording = Recording(text, trace(text, text))
        assert_only_text(visit([recording]), text, plain)


def test_of_a_hostile_file_nothing_runs(visit: Visit, plain: dict[str, int]) -> None:
    tab = visit([run_of(2, 2)])
    for text in HOSTILE:
        opened(tab, (f"{text[:20].replace('/', '')}.jsonl", trace(text, text)))
        assert not tab.is_visible("#problem")
        assert_only_text(tab, text, plain)


def test_of_a_hostile_message_nothing_runs(visit: Visit, plain: dict[str, int]) -> None:
    """What is refused is quoted in the message, as text."""
    tab = visit([Recording.of(trace("plain", "other"))])
    image = HOSTILE[0]
    bad: list[Any] = [
        {"format": image},
        {"format": "popsnet-trace", "version": image},
        {"format": "popsnet-trace", "version": 1, "d": image, "g": 1},
        {"format": "popsnet-trace", "version": 1, "d": 1, "g": 1, "destination": [image]},
        {**lines_of(run_of(1, 1))[0], "phases": image},
        {**lines_of(run_of(1, 1))[0], "phases": {"*": [image]}},
        {**lines_of(run_of(1, 1))[0], "explanation": [image]},
    ]
    for line in bad:
        opened(tab, (f"{image}.jsonl", json.dumps(line)))
        assert image in tab.inner_text("#problem")
        assert tab.locator("img").count() == 0
        assert tab.evaluate("window.hit") is None


def test_side_by_side_they_are_text_too(visit: Visit) -> None:
    image, script = HOSTILE[:2]
    tab = visit([Recording(image, trace(image, image)), Recording(script, trace(image, image))])
    tab.click("#forward")
    assert tab.locator(".score th[scope=row]").all_text_contents() == [image, script]
    assert tab.locator("img").count() == 0
    assert tab.evaluate("window.hit") is None


def test_a_script_put_into_the_page_does_not_run(visit: Visit, watch: Watch) -> None:
    """Should text become markup one day, the policy is the second door."""
    tab = visit([run_of(2, 2)])
    blocked: list[tuple[str, str | None]] = []
    answers: list[str] = []
    tab.on("requestfailed", lambda request: blocked.append((request.url, request.failure)))
    tab.on("response", lambda response: answers.append(response.url))
    tab.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          document.body.append(script);
          const image = document.createElement("img");
          image.setAttribute("onerror", "window.hit = 2");
          image.src = "https://example.org/x.png";
          document.body.append(image);
          const module = document.createElement("script");
          module.type = "module";
          module.textContent = "window.hit = 3";
          document.body.append(module);
          const frame = document.createElement("iframe");
          frame.src = "https://example.org/";
          document.body.append(frame);
          return fetch("https://example.org/").catch(() => null);
        }"""
    )
    assert tab.evaluate("window.hit") is None
    asked = ["https://example.org/x.png", "https://example.org/"]
    complaints = watch.taken()
    assert sum("Content Security Policy" in text for text in complaints) >= 4, complaints
    assert {text for text in complaints if text.startswith("request")} <= {
        f"request: {url}" for url in asked
    }
    assert set(blocked) <= {(url, "csp") for url in asked}
    assert answers == []
