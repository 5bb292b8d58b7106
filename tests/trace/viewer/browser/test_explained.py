"""What the page says of routers and phases is true of the runs it says it of."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from popsnet import InputError
from popsnet.programs.router import all_routers
from popsnet.trace.viewer import Recording
from tests.programs.routers.explained import explains

from .conftest import Visit
from .runs import lines_of, of_lines, run_of

WORDS = ("explanation", "phases", "conflict_graph")

SHAPES = [(1, 1), (1, 4), (4, 1), (2, 5), (3, 3), (4, 2), (6, 3), (5, 2)]

SCHEDULES = ("S", "P2 P1", "P(3,2) P1 F", "F", "S R2", "XY(2,2)", "XY(1,4)")

SAFE = (
    "nothing can collide",
    "no two packets need the same coupler",
    "no two need the same coupler",
    "on a coupler of its own",
    "each coupler carries one packet",
)
"""Said of slots in which nothing collides."""

SAFE_RUNS = ("nothing collides", "no collision", "without a collision")
"""Said of routers, of all but the slots in which every processor is asked something."""

SHIPPED = tuple(all_routers())
"""As long as no test has registered routers of its own."""

UNSAFE = (
    "group that draw the same coupler",
    "They can collide a second time here",
    "Because d > g, two may need the same coupler",
    "Only here can packets of this stage collide",
    "Only in attempts can packets of this stage collide",
    "that share a relay group and a destination group",
    "here a collision is the message",
)
"""Said of slots in which something collides, now and then."""

ASKED_ON = ((2, 5), (4, 2))
"""Where all are asked whether they have their packets, which is done in the same way anywhere."""

ASKED = re.compile("groups object|within groups")

LOOK = """() => window.popsnet.panels.map((panel) => {
  const phases = {};
  for (const slot of panel.run.slots) {
    const phase = slot.phase.replace(/(?<=.)\\d+/g, "#"); // the first digit is part of the name
    if (!Object.hasOwn(phases, phase)) {
      panel.show(slot.number, false);
      phases[phase] = { why: panel.root.querySelector(".why").textContent, collisions: 0 };
    }
    phases[phase].collisions += slot.collided.length;
  }
  return {
    name: panel.run.name, about: panel.root.querySelector(".about").textContent, phases,
    broken: panel.run.problems.length,
  };
})"""


def runs_on(d: int, g: int) -> list[Recording]:
    """A run of every router that ships, in every variant that applies there."""
    endings = ("", "+or") if (d, g) in ASKED_ON else ("",)
    found = []
    for router in SHIPPED:
        variants = [*router.variants, *(SCHEDULES if router.parse_variant else ())]
        for variant in (name + asked for name in variants for asked in endings):
            try:
                found.append(run_of(d, g, router.name, variant=variant, max_steps=12))
            except InputError:
                continue  # it does not apply, or gives statistics only
    return found


def test_what_is_said_to_be_safe_is_safe(visit: Visit) -> None:
    """Every phase of every router is explained; of those not called safe some do collide."""
    told: Counter[str] = Counter()
    abouts: set[str] = set()
    for d, g in SHAPES:
        runs = runs_on(d, g)
        seen: list[dict[str, Any]] = visit(runs).evaluate(LOOK)
        assert len(seen) == len(runs) >= 8
        for run in seen:
            assert run["broken"] == 0
            assert run["about"] != "", run["name"]
            abouts.add(run["about"])
            for phase, found in run["phases"].items():
                assert found["why"] != "", (run["name"], phase)
                told[found["why"]] += found["collisions"]
                if called_safe(run["about"], phase, found["why"]):
                    assert found["collisions"] == 0, (d, g, run["name"], phase, found["why"])
    for words in SAFE:
        assert any(words in why for why in told), words
    for words in SAFE_RUNS:
        assert any(words in about for about in abouts), words
    for words in UNSAFE:
        assert any(words in why and told[why] > 0 for why in told), words


def called_safe(about: str, phase: str, why: str) -> bool:
    if any(words in why for words in SAFE):
        return True
    if any(words in about for words in SAFE_RUNS):
        return not ASKED.search(phase)
    return phase.startswith(("park", "sweep")) and "Only" not in why  # it is where it says so


def test_the_repair_is_told_from_the_published_protocol(visit: Visit) -> None:
    about = {}
    for d, g, variant in ((4, 4, "published"), (4, 2, "published"), (4, 2, "deferred")):
        tab = visit([run_of(d, g, variant=variant)])
        tab.fill("#slot", "5")
        tab.press("#slot", "Enter")
        about[d, variant, g] = (tab.inner_text(".about"), tab.inner_text(".why"))
    assert len(set(about.values())) == 3
    assert "then it is lost" in about[4, "published", 2][0]
    assert "they are lost" in about[4, "published", 2][1]
    assert "cannot be lost" in about[4, "deferred", 2][0]
    assert "lost" not in "".join(about[4, "published", 4])


def with_words(phase: str, **words: Any) -> Recording:
    """A run with these words, whose first slot has this phase."""
    lines = lines_of(run_of(2, 2))
    lines[0] = {key: value for key, value in lines[0].items() if key not in WORDS} | words
    lines[1]["phase"] = phase
    return of_lines(lines)


def shown(visit: Visit, phase: str = "a phase", **words: Any) -> tuple[str, str]:
    """What the page says of a trace with these words, and of its first slot."""
    tab = visit([with_words(phase, **words)])
    tab.click("#forward")
    return tab.inner_text(".about"), tab.inner_text(".why")


def test_a_trace_without_words_is_not_explained(visit: Visit) -> None:
    """As traces were before there were words: nothing is guessed from names."""
    assert shown(visit, "1 to intermediate group") == ("", "")


PATTERNS = [
    ("a phase", "a phase", True),
    ("a phase", "a phase ", False),
    ("a*e", "a phase", True),
    ("*", "", True),
    ("", "", True),
    ("a*a", "a", False),
    ("*b*a*", "abab", True),
    ("ab*ba", "aba", False),
    ("*a*a*a", "aa", False),
    ("a*b*b", "ab", False),
    (".*", "a phase", False),
    ("[a-z]+", "a", False),
    ("toString", "toString", True),
    ("__proto__", "__proto__", True),
    ("constructor", "toString", False),
]

LOOK_AT_FIRST_SLOTS = """() => window.popsnet.panels.map((panel) => {
  panel.show(1, false);
  return [".about", ".why"].map((part) => panel.root.querySelector(part).textContent);
})"""


def test_patterns_are_plain_text_and_stars(visit: Visit) -> None:
    runs = [
        with_words(phase, explanation="Said.", phases={pattern: "Matched."})
        for pattern, phase, _ in PATTERNS
    ]
    told = visit(runs).evaluate(LOOK_AT_FIRST_SLOTS)
    for (pattern, phase, matches), found in zip(PATTERNS, told, strict=True):
        assert explains(pattern, phase) == matches
        assert found == ["Said.", "Matched." if matches else ""], (pattern, phase)


def test_the_first_pattern_that_matches_counts(visit: Visit) -> None:
    assert shown(visit, "b 1", phases={"a*": "A.", "b*": "B.", "b 1": "B 1."}) == ("", "B.")


def test_words_have_a_size(visit: Visit) -> None:
    """However long, they take little time and room."""
    many = {f"{'*a' * 99}{i}": "No." for i in range(300)}
    assert shown(visit, "a" * 2000, explanation="x" * 9000, phases=many) == ("x" * 2000, "")
    assert shown(visit, "b" * 9000, phases={"*": "All."}) == ("", "")
    assert shown(visit, "b", phases={"*" * 201: "Long."}) == ("", "")
    assert shown(visit, "b", phases={"*": "y" * 9000}) == ("", "y" * 2000)
