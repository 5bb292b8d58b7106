"""``popsnet view`` from the command line."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

import popsnet
from popsnet import InputError, Page, route, view
from popsnet.trace.viewer import Recording
from tests.conftest import Cli
from tests.each import each
from tests.trace.traffic import traffic_lines

LOSING = ("--seed", 17, "--permutation-seed", 17)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, on a machine without a screen."""
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> list[str]:
    urls: list[str] = []

    def take(url: str) -> bool:
        urls.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", take)
    return urls


@pytest.fixture
def own_router(here: Path) -> str:
    Path("own.py").write_text(
        "import popsnet\nfrom popsnet.programs.routers.direct import direct\n"
        "popsnet.register('own', summary='', slots='', buffers=2)(direct)\n"
    )
    return "own.py"


def trace(name: str, router: str = "mei-rizzi", **choices: int) -> str:
    route(4, 4, router=router, trace=name, **choices)  # type: ignore[arg-type]
    return name


def test_runs_are_done_and_shown(cli: Cli) -> None:
    routers = ("--router", "mei-rizzi:published", "--router", "mei-rizzi")
    finished = cli("view", 3, 2, *routers, *LOSING)
    assert (finished.code, finished.err) == (1, "")
    assert finished.out.splitlines() == [
        "POPS(3, 2): mei-rizzi (published), mei-rizzi (deferred)",
        "router                slots delivered lost collisions",
        "mei-rizzi (published)    10    4 of 6    2          2",
        "mei-rizzi (deferred)     11    6 of 6    0          1",
        "Page written to view.html; open it in a browser.",
        "FAILED: 2 packets not delivered.",
    ]
    runs = (
        route(3, 2, variant=variant, seed=17, permutation_seed=17)[0]
        for variant in ("published", "deferred")
    )
    assert Path("view.html").read_text() == view(*runs).html


def test_without_a_router_it_is_that_of_the_paper(cli: Cli) -> None:
    result = json.loads(cli("view", 4, 4, "--permutation", "shift:d", "--json").out)
    assert result["title"] == "POPS(4, 4): mei-rizzi (published)"
    assert result["page"] == "view.html"
    assert result["bytes"] == Path("view.html").stat().st_size
    (run,) = result["outcomes"]
    outcome = route(4, 4, permutation="shift:d")[0].outcome
    assert run == {
        "router": "mei-rizzi", "variant": "published", "d": 4, "g": 4, "n": 16, "wavelengths": 1,
        "seed": 0, "permutation_seed": 0, "packets": 16,
        "slots": outcome.slots, "delivered": 16, "lost": 0, "collisions": outcome.collisions,
    }  # fmt: skip


def test_routers_and_variants_are_named_together(cli: Cli, own_router: str) -> None:
    own = (own_router, f"{own_router}:standard+or")
    names = ("relay:S R2", "mei-rizzi:published+or", *own)
    routers = [part for name in names for part in ("--router", name)]
    result = json.loads(cli("view", 4, 4, *routers, "--json").out)
    assert [(run["router"], run["variant"]) for run in result["outcomes"]] == [
        ("relay", "S R2"),
        ("mei-rizzi", "published+or"),
        ("own", "standard"),
        ("own", "standard+or"),
    ]


def test_traces_are_checked_and_shown(cli: Cli) -> None:
    names = trace("a"), trace("b", "relay")
    finished = cli("view", *names, "-o", "page.html", "--json")
    assert (finished.code, finished.err) == (0, "")
    result = json.loads(finished.out)
    assert [(run["trace"], run["ok"], run["violation_count"]) for run in result["outcomes"]] == [
        ("a", True, 0),
        ("b", True, 0),
    ]
    assert Path("page.html").read_text() == view(*names).html


def test_csv_has_a_row_per_run(cli: Cli) -> None:
    heading, first, second = cli("view", trace("a"), trace("b", "relay"), "--csv").out.splitlines()
    assert heading.startswith(
        "popsnet_version,router,variant,d,g,n,wavelengths,packets,slots,delivered,lost,collisions,"
    )
    assert first.startswith(f"{popsnet.__version__},mei-rizzi,published,4,4,16,1,16,")
    assert second.startswith(f"{popsnet.__version__},relay,")


def test_a_trace_that_loses_packets_is_shown_all_the_same(cli: Cli) -> None:
    cli("route", 3, 2, "--variant", "published", *LOSING, "--trace", "lost.jsonl")
    finished = cli("view", "lost.jsonl")
    assert finished.code == 1
    assert "popsnet check finds 3 violations in lost.jsonl, the first: line " in finished.out
    assert "mei-rizzi (published) lost.jsonl    10    4 of 6    2" in finished.out
    assert Path("view.html").is_file()


def test_a_trace_that_breaks_a_rule_is_shown_all_the_same(cli: Cli) -> None:
    lines = Path(trace("a")).read_text().splitlines()
    broken = json.loads(lines[1])
    broken["sends"][0][0] = 99
    Path("a").write_text("\n".join([lines[0], json.dumps(broken), *lines[2:], ""]))
    finished = cli("view", "a", "--json")
    assert finished.code == 1
    (run,) = json.loads(finished.out)["outcomes"]
    assert not run["ok"]
    first = run["first_violation"]
    assert first.startswith("line 2, slot 1, processor 99: processors are numbered")
    assert run["violation_count"] > 0


def test_losses_may_be_unknown(cli: Cli) -> None:
    lines = [json.loads(line) for line in Path(trace("a")).read_text().splitlines()]
    del lines[0]["buffers"], lines[-1]["outcome"]["lost_packets"]
    for line in lines[1:-1]:
        del line["keeps"], line["drops"]
    Path("a").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "not recorded" in cli("view", "a").out


def test_a_file_may_have_a_number_for_its_name(cli: Cli) -> None:
    trace("4")
    assert cli("view", "./4").code == 0
    assert "./4" in cli("view", "4").err


@each(
    ("arguments", "said"),
    [
        (("4",), "give D and G, two numbers"),
        (("4", "4", "4"), "give D and G, two numbers"),
        (("4", "a"), "a file that is called 4 is ./4"),
        (("-4", "4"), "d = -4: the number of processors"),
        (("0", "4"), "at least 1"),
        (("4", "300"), "g = 300 groups"),
        (("1000000000", "4"), "n = 4,000,000,000 processors"),
        (("4", "4", "--router", "nobody"), "no router 'nobody'"),
        (("4", "4", "--router", ""), "no router ''"),
        (("4", "4", "--router", "mei-rizzi:nothing"), "nothing"),
        (("4", "2", "--router", "mei-rizzi:idealized"), "statistics only"),
        (("2", "4"), "does not apply to POPS(2, 4)"),
        (("4", "4", "--router", "relay", "--router", "relay:direct"), "is given twice"),
        (("4", "4", "--max-steps", "0"), "--max-steps 0"),
        (("a", "--router", "relay"), "--router relay is for runs to be done"),
        (("a", "--permutation", "random"), "--permutation random is for"),
        (("a", "--seed", "0"), "--seed 0 is for"),
        (("a", "--permutation-seed", "0"), "--permutation-seed 0 is for"),
        (("a", "--max-steps", "9"), "--max-steps 9 is for"),
        (("a", "-o", "a"), "--out a: the name must end in .html."),
        (("a.html", "-o", "a.html"), "is a trace to be shown, and the page would take its place"),
        (("a.html", "-o", "../{here}/a.html"), "is a trace to be shown"),
        (("a", "other"), "a, mei-rizzi (published) and other, mei-rizzi (published) do not have"),
        (("a", "smaller"), "a, mei-rizzi (published) and smaller, direct (standard) are on two"),
        (("twice",), "twice, mei-rizzi (published): 2 packets are for processor 0, and without"),
        (("a", "torn"), "torn"),
        (("a", "foreign"), "foreign, line 1: not JSON"),
        (("a", "nowhere"), "nowhere cannot be read"),
        (("4", "4", "-o", "nowhere/page.html"), "There is no folder"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_written(
    arguments: tuple[str, ...], said: str, cli: Cli
) -> None:
    trace("a")
    trace("other", permutation_seed=1)
    trace("a.html")
    Path("torn").write_text(Path("a").read_text()[:-9])
    Path("foreign").write_text("hello\n")
    route(2, 2, router="direct", trace="smaller")
    header, rest = Path("a").read_text().split("\n", 1)
    twice = {**json.loads(header), "destination": [0, 0, *range(2, 16)]}
    Path("twice").write_text(f"{json.dumps(twice)}\n{rest}")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    here = Path().resolve().name
    finished = cli("view", *(one.replace("{here}", here) for one in arguments))
    assert finished.code == 2
    assert said in finished.err
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_a_page_that_would_be_too_long_is_not_written(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.runs.notebook.MOST_TEXT", 8000)
    assert cli("view", 4, 4, "-o", "one.html").code == 0
    finished = cli("view", 4, 4, "--router", "mei-rizzi", "--router", "mei-rizzi:published+or")
    assert finished.code == 2
    assert "The trace of mei-rizzi (published+or) is longer than the " in finished.err
    assert [path.name for path in Path().iterdir()] == ["one.html"]


def test_an_interrupt_leaves_nothing_behind(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(recordings: list[Recording]) -> Page:
        raise KeyboardInterrupt

    monkeypatch.setattr(Page, "of", interrupted)
    finished = cli("view", 4, 4)
    assert finished.code == 130
    assert finished.err == "Interrupted: no page is written.\n"
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "darwin"])
def test_the_page_is_opened_where_there_is_a_screen(
    screen: str, cli: Cli, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if screen == "darwin":
        monkeypatch.setattr("sys.platform", screen)
    else:
        monkeypatch.setenv(screen, ":0")
    finished = cli("view", 2, 2)
    assert opened == [Path("view.html").resolve().as_uri()]
    assert finished.out.endswith("Page written to view.html.\n")
    cli("view", 2, 2, "--no-open")
    cli("view", 2, 2, "--json")
    assert len(opened) == 1


def test_no_browser_is_looked_for_without_a_screen(cli: Cli, opened: list[str]) -> None:
    assert "open it in a browser" in cli("view", 2, 2).out
    assert opened == []


def test_a_browser_that_does_not_start_is_no_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(url: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", fails)
    finished = cli("view", 2, 2)
    assert finished.code == 0
    assert "open it in a browser" in finished.out


def test_a_trace_of_a_schedule_is_shown(cli: Cli) -> None:
    """Its packets start anywhere."""
    Path("demand.csv").write_text("0,3\n0,2\n5,3\n")
    cli("schedule", 3, 2, "--packets", "demand.csv", "--trace", "schedule.jsonl")
    assert " 3 of 3 " in cli("view", "schedule.jsonl").out
    with pytest.raises(InputError, match="two networks"):
        view("schedule.jsonl", trace("a"))


def test_packets_inside_at_the_end_are_no_failure_of_traffic(cli: Cli, here: Path) -> None:
    lines = [json.dumps(line) for line in traffic_lines()]
    (here / "t.jsonl").write_text("\n".join(lines) + "\n")
    told = cli("view", "t.jsonl", "--json")
    assert told.code == 0
    (row,) = json.loads(told.out)["outcomes"]
    assert (row["packets"], row["delivered"], row["held"], row["refused"]) == (6, 4, 1, 0)
    assert row["ok"]
