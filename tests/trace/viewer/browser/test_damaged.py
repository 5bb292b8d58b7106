"""What is no trace is refused in words; a trace that breaks rules is played, and it is said."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from popsnet.trace.viewer import Page, Recording
from tests.conftest import Cli

from .conftest import Visit, Watch
from .runs import deaf, lines_of, of_lines, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

Change = Callable[[list[dict[str, Any]]], None]


def changed(change: Change) -> str:
    """The trace of a run, after a change of its lines."""
    lines = lines_of(run_of(4, 4))
    change(lines)
    return "".join(json.dumps(line) + "\n" for line in lines)


def header(**fields: Any) -> str:
    return changed(lambda lines: lines[0].update(fields))


def slot(number: int = 3, **fields: Any) -> str:
    return changed(lambda lines: lines[number].update(fields))


def without(place: int, name: str) -> str:
    return changed(lambda lines: lines[place].pop(name))


def first(change: Callable[[dict[str, Any]], None]) -> str:
    """After a change of the first slot."""
    return changed(lambda lines: change(lines[1]))


def first_send(place: int, value: Any) -> str:
    return first(lambda slot: slot["sends"][0].__setitem__(place, value))


def outcome(**fields: Any) -> str:
    return changed(lambda lines: lines[-1]["outcome"].update(fields))


def deaf_outcome(**fields: Any) -> str:
    """Of a trace that does not say who holds what."""
    lines = lines_of(deaf(run_of(4, 4)))
    lines[-1]["outcome"].update(fields)
    return of_lines(lines).text


def whole() -> str:
    return run_of(4, 4).text


def count() -> int:
    return len(lines_of(run_of(4, 4)))


DAMAGED: dict[str, tuple[Callable[[], str | bytes], str]] = {
    "empty": (lambda: "", "The file is empty; a trace begins with a header."),
    "blank": (lambda: "\n \n\n", "The file is empty; a trace begins with a header."),
    "torn": (lambda: whole()[:-20], r"Line {last}: is cut off: the trace was not written to its"),
    "torn in the middle": (lambda: whole()[:2000], r"Line \d+: is cut off"),
    "not JSON": (lambda: "Dear reader,\n", "Line 1: is not JSON"),
    "not JSON within": (lambda: whole().replace("\n", "\n{]\n", 1), "Line 2: is not JSON"),
    "binary": (lambda: bytes(range(256)) * 9, "Line 1: is not JSON"),
    "a list": (lambda: "[1, 2]\n", "Line 1: is not a JSON object"),
    "null": (lambda: whole() + "null\n", "is not a JSON object"),
    "foreign": (lambda: '{"name": "package"}\n', "This is not a popsnet trace"),
    "no header": (lambda: whole().split("\n", 1)[1], "This is not a popsnet trace"),
    "of the future": (lambda: header(version=2), "Line 1: has version 2; this page reads 1"),
    "d is a text": (lambda: header(d="4"), 'Line 1: d is "4"; it must be an integer of at least 1'),
    "d is 0": (lambda: header(d=0), "Line 1: d is 0"),
    "g is no whole number": (lambda: header(g=4.5), "Line 1: g is 4.5"),
    "no g": (lambda: without(0, "g"), "Line 1: g is missing"),
    "many groups": (
        lambda: header(d=1, g=257),
        "Line 1: g is 257; this page shows up to 256 groups",
    ),
    "many processors": (
        lambda: header(d=2**30, g=1, start=[], destination=[]),
        "Line 1: there are 1073741824 processors; this page reads up to 131072",
    ),
    "no permutation": (lambda: header(destination=[0] * 16), "Line 1: the destinations are not a"),
    "few destinations": (lambda: header(destination=[0, 1]), "Line 1: the destinations are not a"),
    "destination outside": (lambda: header(destination=[16] * 16), "Line 1: destination 0 is 16"),
    "destination a text": (lambda: header(destination="all"), 'Line 1: destination is "all"'),
    "starts that are short": (lambda: header(start=[1]), "Line 1: there are 1 starts and 16"),
    "explanation a number": (lambda: header(explanation=5), "Line 1: explanation is 5, not a text"),
    "explanation of null": (lambda: header(explanation=None), "Line 1: explanation is null"),
    "phases a list": (lambda: header(phases=[1]), r"Line 1: phases is \[1\], not a JSON object"),
    "phase a number": (lambda: header(phases={"*": 5}), "Line 1: a text of phases is 5"),
    "conflict graph a number": (lambda: header(conflict_graph=1), "Line 1: conflict_graph is 1"),
    "faults a list": (lambda: header(faults=[1]), "Line 1: faults is not a JSON object"),
    "a coupler outside": (
        lambda: header(faults={"couplers": [[4, 0, 1]]}),
        "Line 1: faults has couplers that are not lists of",
    ),
    "a dead processor without a slot": (
        lambda: header(faults={"processors": [[0]]}),
        "Line 1: faults has processors that are not lists of",
    ),
    "a loss of 2": (lambda: header(faults={"loss": 2}), "Line 1: faults has a loss that is not"),
    "misses a number": (lambda: slot(misses=3), "Line 4: misses is 3, not a list of processors"),
    "router a number": (lambda: header(router=5), "Line 1: router is 5, not a text"),
    "buffers of -1": (lambda: header(buffers=-1), "Line 1: buffers is -1"),
    "holdings without buffers": (
        lambda: without(0, "buffers"),
        "Line 2: keeps is there, and the header has no buffers",
    ),
    "holdings missing": (
        lambda: without(4, "drops"),
        "Line 5: drops is missing, and the header has buffers",
    ),
    "neither slot nor outcome": (lambda: without(3, "slot"), 'Line 4: has neither "slot" nor'),
    "slot a text": (lambda: slot(slot="3"), 'Line 4: slot is "3"'),
    "phase a list": (lambda: slot(phase=[]), r"Line 4: phase is \[\], not a text"),
    "step of -1": (lambda: slot(step=-1), "Line 4: step is -1"),
    "sends an object": (lambda: slot(sends={}), r"Line 4: sends is \{\}, not a list"),
    "no listens": (lambda: without(3, "listens"), "Line 4: listens is missing, not a list"),
    "kind a number": (lambda: slot(sends=[[0, [0], 7, 0]]), r"Line 4: .* is not \[processor, \["),
    "message short": (lambda: slot(sends=[[0, [0]]]), r"Line 4: .* is not \[processor, \[groups"),
    "message null": (lambda: slot(sends=[None]), r"Line 4: null is not \[processor, \[groups\]"),
    "listens a half": (lambda: slot(listens=[[0, 0.5]]), "Line 4: .* in listens is not a pair"),
    "drops a text": (lambda: slot(drops=["x"]), 'Line 4: "x" in drops is not a pair of numbers'),
    "keeps null": (lambda: slot(keeps=None), "Line 4: keeps is null, not a list"),
    "step null": (
        lambda: slot(step=None),
        "Line 4: step is null; it must be an integer of at least 0",
    ),
    "seed a text": (lambda: header(seed="lucky"), 'Line 1: seed is "lucky", not a number'),
    "damage after the outcome": (
        lambda: whole() + '{"slot": 9}\n',
        "Line {after}: keeps is missing, and the header has buffers",
    ),
    "outcome a number": (
        lambda: changed(lambda lines: lines[-1].update(outcome=4)),
        "Line {last}: outcome is 4, not a JSON object",
    ),
    "outcome without names": (
        lambda: changed(lambda lines: lines[-1]["outcome"].pop("lost_packets")),
        "Line {last}: lost_packets is missing, and the header has buffers",
    ),
    "lost texts": (
        lambda: outcome(lost_packets=["x"]),
        r'lost_packets is \["x"\], not a list of n',
    ),
    "outcome of texts": (lambda: outcome(slots="all"), 'Line {last}: slots is "all"'),
}
"""Of no trace's form: refused."""

BROKEN: dict[str, tuple[Callable[[], str], int, str]] = {
    "sender outside": (
        lambda: slot(sends=[[16, [0], "packet", 0]]),
        3,
        r'\[16,\[0\],"packet",0\] names something that POPS\(4, 4\) does not have',
    ),
    "group outside": (lambda: slot(sends=[[0, [4], "ack", None]]), 3, "names something that"),
    "group below": (lambda: slot(sends=[[0, [-1], "ack", None]]), 3, "names something that"),
    "packet outside": (lambda: slot(sends=[[0, [0], "packet", 99]]), 3, "names something that"),
    "listener outside": (lambda: slot(listens=[[-1, 0]]), 3, r"\[-1,0\] names something that"),
    "listened outside": (lambda: slot(listens=[[0, 4]]), 3, r"\[0,4\] names something that"),
    "keeps outside": (lambda: slot(keeps=[[0, 16]]), 3, r"\[0,16\] names something that"),
    "drops outside": (lambda: slot(drops=[[16, 0]]), 3, r"\[16,0\] names something that"),
    "numbers that jump": (lambda: slot(slot=9), 3, "the slot has the number 9 instead of 3"),
    "numbers from 5 on": (lambda: slot(1, slot=5), 1, "the slot has the number 5 instead of 1"),
    "steps that go back": (
        lambda: slot(8, step=0),
        8,
        "its step 0 is lower than that of earlier slots",
    ),
    "an ack of nothing": (
        lambda: slot(1, sends=[[0, [1], "ack", 9]]),
        1,
        "processor 0 acknowledges packet 9, which it never heard of",
    ),
    "little room": (lambda: header(buffers=1), 1, "holds more than 1 packet[.;]"),
    "too little room": (lambda: header(start=[0] * 16), 0, "processor 0 holds more than 3 packets"),
    "slots that were not": (lambda: outcome(slots=99), -1, "the outcome gives 99 slots instead of"),
    "deliveries that were not": (
        lambda: outcome(delivered=17),
        -1,
        "the outcome gives 17 as delivered instead of 16",
    ),
    "losses that were not": (
        lambda: outcome(lost=1),
        -1,
        "the outcome gives 1 as lost instead of 0",
    ),
    "others lost": (
        lambda: outcome(lost_packets=[3]),
        -1,
        "the outcome names the wrong packets as lost",
    ),
    "more lost than there are": (
        lambda: deaf_outcome(lost=17),
        -1,
        "the outcome gives 17 as lost and 16 as delivered of 16",
    ),
    "more after the outcome": (
        lambda: whole() + whole().split("\n")[1] + "\n",
        -1,
        "something follows the outcome",
    ),
    "a packet of others": (
        lambda: first(lambda slot: slot["sends"].append([15, [0], "packet", 0])),
        1,
        "processor 15 sends packet 0, which it does not hold",
    ),
    "two messages": (
        lambda: first(lambda slot: slot["sends"].extend([slot["sends"][0]] * 2)),
        1,
        "sends two messages",
    ),
    "two ears": (
        lambda: first(lambda slot: slot["listens"].append([slot["listens"][0][0], 3])),
        1,
        "listens to two couplers",
    ),
    "kept unheard": (
        lambda: first(lambda slot: slot["keeps"].append([15, 0])),
        1,
        "processor 15 keeps packet 0, which it did not hear",
    ),
    "given up unheld": (
        lambda: first(lambda slot: slot["drops"].append([15, 0])),
        1,
        "processor 15 drops packet 0, which it does not hold",
    ),
    "to no group": (lambda: first_send(1, []), 1, "sends to no group"),
    "to one twice": (lambda: first_send(1, [1, 1]), 1, "sends to a group twice"),
    "a parcel": (lambda: first_send(2, "parcel"), 1, 'the unknown kind "parcel"'),
    "no number": (lambda: first_send(3, None), 1, "sends a packet without a number"),
}
"""Traces that break a rule in that slot, or at the end (-1): played."""


def opened(tab: Tab, *files: tuple[str, str | bytes]) -> None:
    payloads = [
        {
            "name": name,
            "mimeType": "application/json",
            "buffer": text.encode() if isinstance(text, str) else text,
        }
        for name, text in files
    ]
    tab.set_input_files("#open", payloads)  # type: ignore[arg-type]
    tab.wait_for_function("() => document.getElementById('open').files.length === 0")


def test_a_damaged_trace_is_refused_and_the_run_stays(visit: Visit) -> None:
    tab = visit([run_of(3, 3)])
    tab.click("#forward")
    words, title = tab.inner_text(".slot-words"), tab.title()
    assert not tab.is_visible("#problem")
    for name, (text, message) in DAMAGED.items():
        opened(tab, (f"{name}.jsonl", text()))
        assert tab.is_visible("#problem"), name
        told = tab.inner_text("#problem")
        assert told.startswith(f"{name}.jsonl is not shown. ")
        message = message.replace("{last}", str(count())).replace("{after}", str(count() + 1))
        assert re.search(message, told), (name, told)
        assert (tab.inner_text(".slot-words"), tab.title()) == (words, title)
        assert tab.locator(".run").count() == 1
    tab.click("#forward")
    assert tab.input_value("#slot") == "2"
    opened(tab, ("good.jsonl", whole()))
    assert not tab.is_visible("#problem")
    assert tab.inner_text("h2") == "mei-rizzi (published), good.jsonl"
    assert tab.input_value("#slot") == "1"


def test_broken_rules_are_told_and_the_rest_is_played(visit: Visit) -> None:
    tab = visit([run_of(3, 3)])
    for name, (text, at, message) in BROKEN.items():
        opened(tab, (f"{name}.jsonl", text()))
        assert not tab.is_visible("#problem"), name
        last = int(tab.inner_text("#of").removeprefix("of "))
        assert last == count() - 2
        slot = last if at == -1 else at
        warning = tab.inner_text(".run .warning")
        assert warning.startswith("This trace breaks the rules of the network "), name
        where = "at the start" if slot == 0 else f"in slot {slot}"
        assert f", first {where}: " in warning, (name, warning)
        tab.evaluate("(slot) => popsnet.player.jump(slot)", slot)
        why = tab.inner_text(".why")
        assert re.search(f"Rules broken: .*{message}", why), (name, why)
        tab.evaluate("popsnet.player.jump(popsnet.slots)")


@pytest.mark.parametrize("first", [0, 1])
def test_slots_may_be_counted_from_0_or_1(visit: Visit, first: int) -> None:
    lines = lines_of(run_of(4, 4))
    for number, line in enumerate(lines[1:-1], start=first):
        line["slot"] = number
    tab = visit([of_lines(lines)])
    assert tab.locator(".run .warning").count() == 0
    tab.click("#forward")
    assert tab.inner_text(".slot-words b").startswith("Slot 1, ")


def test_the_command_line_takes_what_the_page_takes(cli: Cli, tmp_path: Path) -> None:
    """What the page refuses it refuses, and finds fault with what the page finds fault with."""
    path, page = tmp_path / "run.jsonl", tmp_path / "view.html"
    texts: dict[str, str | bytes] = {"sound": whole()}
    texts |= {name: text() for name, (text, _) in DAMAGED.items()}
    texts |= {name: text() for name, (text, _, _) in BROKEN.items()}
    for name, text in texts.items():
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        finished = cli("view", path, "--json", "-o", page)
        expected = 2 if name in DAMAGED else int(name != "sound")
        assert finished.code == expected, (name, finished.err)
        assert page.exists() == (name not in DAMAGED)
        if name not in DAMAGED:
            (run,) = json.loads(finished.out)["outcomes"]
            assert run["ok"] == (name == "sound")
            page.unlink()


def test_a_mended_file_can_be_opened_again(visit: Visit, tmp_path: Any) -> None:
    tab = visit([run_of(3, 3)])
    path = tmp_path / "mine.jsonl"
    for text, bad in ((whole()[:-20], True), (whole(), False)):
        path.write_text(text)
        tab.set_input_files("#open", path)
        tab.wait_for_function("() => document.getElementById('open').files.length === 0")
        assert tab.is_visible("#problem") == bad


def test_files_of_two_networks_are_not_played_together(visit: Visit) -> None:
    tab = visit([run_of(3, 3)])
    for other in (run_of(2, 2), run_of(4, 4, permutation_seed=1)):
        opened(tab, ("one.jsonl", whole()), ("two.jsonl", other.text))
        assert tab.inner_text("#problem") == (
            "mei-rizzi (published), two.jsonl is not shown. Runs side by side must have the same "
            "network and packets, and mei-rizzi (published), one.jsonl has others."
        )
        assert tab.locator(".run").count() == 1
    opened(tab, ("one.jsonl", whole()), ("two.jsonl", whole()[:-9]))
    assert "two.jsonl is not shown. Line" in tab.inner_text("#problem")
    assert tab.inner_text("h2") == "mei-rizzi (published)"


def test_several_files_are_played_together(visit: Visit) -> None:
    tab = visit([run_of(3, 3)])
    relay = run_of(4, 4, "relay", variant="S")
    opened(tab, ("one.jsonl", whole()), ("two.jsonl", relay.text))
    names = ["mei-rizzi (published), one.jsonl", f"{relay.name}, two.jsonl"]
    assert tab.locator("h2:not(#help-title)").all_inner_texts() == names
    assert tab.title() == f"POPS(4, 4): {', '.join(names)}"
    assert not tab.is_visible("#problem")


def test_a_file_may_be_dropped(visit: Visit) -> None:
    tab = visit([run_of(3, 3)])
    tab.evaluate(
        """(text) => {
          const dropped = new DataTransfer();
          dropped.items.add(new File([text], "dropped.jsonl"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped }));
        }""",
        whole(),
    )
    tab.wait_for_selector("h2:text-is('mei-rizzi (published), dropped.jsonl')")
    assert tab.title() == "POPS(4, 4): mei-rizzi (published), dropped.jsonl"
    assert not tab.is_visible("#problem")


def test_a_trace_without_an_end_is_shown_and_says_so(visit: Visit) -> None:
    tab = visit([Recording.of(whole().rsplit("\n", 2)[0] + "\n")])
    assert tab.inner_text(".outcome").endswith("the trace ends without an outcome")


def test_damaged_data_of_the_page_are_told(visit: Visit) -> None:
    html = Page.of([run_of(3, 3)]).html
    packed = re.search(r'"gzip": "([^"]*)"', html)
    assert packed is not None
    half = packed[1][: len(packed[1]) // 8 * 4]
    for data in (half, "", "!!!", b64encode(b"no gzip").decode(), packed[1][:-8] + "AAAAAAAA"):
        tab = visit(html.replace(packed[1], data))
        assert tab.inner_text("#problem") == (
            "The run of this page is not shown. The data of mei-rizzi (published) are damaged "
            "and cannot be unpacked. Make the page again."
        )
        assert not tab.is_visible("#player")
    opened(tab, ("good.jsonl", whole()))
    assert tab.is_visible("#player")
    assert not tab.is_visible("#problem")


def test_a_page_that_is_cut_off_says_so(visit: Visit, watch: Watch) -> None:
    page = Page.of([run_of(3, 3)]).html
    html = re.sub(r'(id="recordings">).*?(</script>)', r'\1{"runs": [\2', page)
    tab = visit(html)
    assert tab.inner_text("#problem").startswith(
        "The run of this page is not shown. It cannot be read ("
    )
    (told,) = watch.taken()
    assert "SyntaxError" in told


def test_runs_of_nothing_are_shown(visit: Visit) -> None:
    """No slots, or no packets: dull, not damaged."""
    lines = lines_of(deaf(run_of(2, 2)))
    tab = visit([run_of(3, 3)])
    ends = {"slots": 0, "delivered": 0, "lost": 0}
    nothing: dict[str, list[int]] = {"start": [], "destination": []}
    for fields in ({}, nothing):
        texts = [json.dumps({**lines[0], **fields}), json.dumps({"outcome": ends})]
        opened(tab, ("none.jsonl", "\n".join(texts) + "\n"))
        assert not tab.is_visible("#problem")
        assert tab.inner_text("#of") == "of 0"
        tab.click("#play")
        tab.click("#collision")
        assert tab.input_value("#slot") == "0"


def test_more_slots_than_a_call_has_arguments(visit: Visit) -> None:
    silent = {"slot": 1, "phase": "p", "sends": [], "listens": []}
    first = lines_of(deaf(run_of(1, 1)))[0]
    text = "\n".join([json.dumps(first), *[json.dumps(silent)] * 130_000, ""])
    tab = visit([Recording.of(text)])
    assert not tab.is_visible("#problem")
    assert tab.inner_text("#of") == "of 130000"
