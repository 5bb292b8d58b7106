"""A link leads to a moment: it is read, written as the reader moves, and copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.each import each

from .conftest import Visit
from .replay import Replay
from .runs import run_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab


def state_of(tab: Tab) -> tuple[str, str, bool]:
    return tab.input_value("#slot"), tab.input_value("#packet"), tab.is_checked("#as-matrix")


@each(
    ("at", "slot", "packet", "matrix"),
    [
        ("#slot=7&follow=3", "7", "3", False),
        ("#follow=3&slot=7", "7", "3", False),
        ("#slot=4&view=matrix", "4", "", True),
        ("#slot=999", "last", "", False),
        ("#slot=-3&follow=99", "0", "", False),
        ("#slot=seven&follow=3", "1", "3", False),
        ("#slot=2&follow=x&run=9&view=cube&more=1", "2", "", False),
        ("#slot=2&follow=%E0%A4%A&run=", "2", "", False),
        ("#slot=1e1&view=network", "1", "", False),
    ],
)
def test_a_link_is_read(visit: Visit, at: str, slot: str, packet: str, matrix: bool) -> None:
    tab = visit([run_of(4, 4)], at=at)
    last = str(Replay(run_of(4, 4).text).slots)
    assert state_of(tab) == (last if slot == "last" else slot, packet, matrix)


def test_the_address_becomes_that_of_what_is_shown(visit: Visit) -> None:
    """A packet that does not exist is not followed, by a link as little as by the field."""
    last = Replay(run_of(4, 4).text).slots
    tab = visit([run_of(4, 4)], at="#slot=99&follow=99")
    assert tab.evaluate("location.hash") == f"#slot={last}"
    assert tab.inner_text("#notice") == "There is no packet 99; packets are numbered 0 to 15."
    tab.click("#back")
    assert tab.inner_text("#notice") == ""
    tab.evaluate("location.hash = '#slot=99&follow=-1'")
    tab.wait_for_function("() => document.getElementById('notice').textContent !== ''")
    assert tab.inner_text("#notice") == "There is no packet -1; packets are numbered 0 to 15."
    assert tab.evaluate("location.hash") == f"#slot={last}"
    tab = visit([run_of(4, 4)], at="#follow=16")
    assert tab.inner_text("#notice").startswith("There is no packet 16;")
    assert state_of(tab) == ("1", "", False)


def test_what_names_no_moment_is_ignored(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#chapter-2")
    tab.wait_for_selector("#play.playing")


def test_the_address_follows_the_reader_without_a_history(visit: Visit) -> None:
    tab = visit([run_of(4, 4), run_of(4, 4, "direct")], at="")
    entries = tab.evaluate("history.length")
    told = "location.hash"
    tab.click("#last")
    assert tab.evaluate(told) == f"#slot={Replay(run_of(4, 4).text).slots}"
    tab.click("#first")
    tab.click("#forward")
    assert tab.evaluate(told) == "#slot=1"
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    assert tab.evaluate(told) == "#slot=1&follow=3"
    tab.check("#as-matrix")
    assert tab.evaluate(told) == "#slot=1&follow=3&view=matrix"
    tab.keyboard.press("Escape")
    assert tab.evaluate(told) == "#slot=1&view=matrix"
    assert tab.evaluate("history.length") == entries


def test_while_it_plays_the_address_rests(visit: Visit) -> None:
    """Browsers refuse pages that change it often."""
    tab = visit([run_of(4, 4)], stopped=True)
    tab.click("#play")
    tab.clock.run_for(2_100)
    assert tab.evaluate("location.hash") == "#slot=0"
    tab.click("#play")
    assert tab.evaluate("location.hash") == "#slot=3"


def test_another_link_in_the_address_bar_is_followed(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=2&follow=5&view=matrix")
    assert state_of(tab) == ("2", "5", True)
    tab.evaluate("location.hash = '#slot=6'")
    tab.wait_for_function("() => document.getElementById('slot').value === '6'")
    assert state_of(tab) == ("6", "", False)
    tab.evaluate("location.hash = '#nothing'")
    tab.evaluate("() => new Promise((done) => setTimeout(done, 50))")
    assert state_of(tab) == ("6", "", False)


def test_the_link_is_copied(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=5&follow=3", stopped=True)  # a tab of its own
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.click("#forward")
    tab.click("#link")
    tab.wait_for_function("() => document.getElementById('notice').textContent !== ''")
    assert tab.inner_text("#notice") == "The link is copied."
    link = tab.evaluate("navigator.clipboard.readText()")
    assert link == tab.url.split("#")[0] + "#slot=6&follow=3"


def test_where_there_is_no_clipboard_it_says_so(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.evaluate(
        """() => {
          Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
          document.execCommand = () => false;
        }"""
    )
    tab.click("#link")
    tab.wait_for_function("() => document.getElementById('notice').textContent !== ''")
    assert tab.inner_text("#notice") == (
        "The link could not be copied. Take it from the address bar."
    )
    assert tab.evaluate("location.hash") == "#slot=0"


def test_a_link_leads_to_a_run(visit: Visit) -> None:
    """A phone shows that run; a large screen scrolls to it."""
    runs = [run_of(4, 4), run_of(4, 4, "relay", variant="S"), run_of(4, 4, "direct")]
    tab = visit(runs, at="#slot=2&run=3", size=(400, 850))
    assert tab.locator(".run:visible h2").all_text_contents() == ["direct (standard)"]
    tab = visit(runs, at="#slot=2&run=3")
    assert tab.evaluate("scrollY") > 0
