from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from popsnet import Coins, Experiment, InputError, Memory, Network, Slot, register, route, view
from popsnet.base.stats.inference import summarize_counts
from popsnet.engines import Tally
from popsnet.model.slot import Ints, Slots
from popsnet.paper.figures import PaperFigure, paper_figures
from popsnet.paper.plan import PaperPlan, Wanted, heavy_tailed, make_plan
from popsnet.paper.published import PrintedRow, printed_rows
from popsnet.paper.report import headlines, write_pages
from popsnet.paper.reproduce import Reproduction, carry_out
from popsnet.paper.rows import PaperRows, make_rows
from popsnet.paper.tables import findings, paper_tables
from popsnet.paper.theory.section import Theory
from popsnet.paper.verdicts import LEVEL, doubted_rows
from popsnet.programs.router import unregister
from popsnet.programs.routers import direct
from popsnet.sweeps.kind import ResultBatch
from popsnet.sweeps.rows import SHARD
from popsnet.sweeps.shard import Shards
from popsnet.sweeps.store import Store
from popsnet.theory import deterministic_slots
from tests.conftest import Cli
from tests.each import each
from tests.plots.texts import texts_outside


def test_the_printed_tables_are_all_there() -> None:
    rows = printed_rows()
    assert Counter(row.network.blocks for row in rows) == {1: 12, 4: 11, 16: 10}
    assert all(row.network.d == row.network.blocks * row.network.g for row in rows)
    first, last = rows[0], rows[-1]
    assert (first.network, first.mean_steps, first.max_steps) == (Network(2, 2), 3.15, 12)
    assert (last.network, last.slots, last.deterministic) == (Network(16384, 1024), 333.6, 7093)


def test_figures_in_print_are_those_of_a_hundred_runs() -> None:
    for row in printed_rows():
        assert 20 * row.slots == pytest.approx(round(20 * row.slots))
        assert row.steps.runs == 100
        assert row.steps.sd > 0


def test_the_formula_gives_every_deterministic_figure() -> None:
    for row in printed_rows():
        assert deterministic_slots(row.network) == row.deterministic


def test_the_papers_tables_differ_where_the_tail_is_heavy() -> None:
    assert doubted_rows() == {row.network for row in printed_rows() if heavy_tailed(row.network)}
    assert doubted_rows() == {Network(32, 2), Network(64, 4), Network(128, 8)}


@each("row", [row for row in printed_rows() if row.network.n <= 4096])
def test_tails_are_heavy_where_they_are_said_to_be(row: PrintedRow) -> None:
    """The mean of a hundred runs has a tenth of the skewness of one; above 1/2 it is not normal."""
    d, g = row.network.d, row.network.g
    runs = route(d, g, variant="idealized", engine="fused", runs=1000)
    heavy = skew(runs.steps) > 5
    assert heavy == heavy_tailed(row.network)
    if not heavy:
        assert kurtosis(runs.steps, fisher=False) < 20


@each("network", [Network(32, 2), Network(64, 4), Network(128, 8)])
def test_no_hundred_runs_have_the_shape_of_a_heavy_tail(network: Network) -> None:
    """No hundred values have a larger kurtosis than 99 equal ones and another: below a hundred."""
    runs = route(network.d, network.g, variant="idealized", engine="fused", runs=10_000)
    assert kurtosis([0] * 99 + [1], fisher=False) < 100 < kurtosis(runs.steps, fisher=False)


def test_the_plan_has_every_row() -> None:
    plan = make_plan()
    runs = {row.network.n: runs for row, (_, runs) in plan.printed}
    assert len(plan.printed) == 33
    assert all(number >= 100 for n, number in runs.items() if n <= 2**20)
    assert all(runs % 10 == 0 for _, runs in plan.wanted)
    assert {experiment.d // experiment.g for experiment, _ in plan.routers} == {1, 2, 4, 16}
    assert all(experiment.network.n <= 2**14 for experiment, _ in plan.routers)
    full = make_plan(full=True)
    assert min(runs for _, (_, runs) in full.printed) == 100
    few = make_plan(runs=20, max_n=64)
    assert {runs for _, (_, runs) in few.printed} == {20}
    assert (len(few.printed), few.left_out) == (6, 27)


def test_the_rival_is_executed_where_time_allows() -> None:
    """On all small networks, by datta; its formula is there for the rest, and below the paper's."""
    plan = make_plan()
    rivals = {(row.network, experiment.router) for row, (experiment, _) in plan.rivals}
    assert {name for _, name in rivals} == {"batcher", "datta"}
    assert {row.network for row, _ in plan.printed if row.network.n <= 2**14} <= {
        network for network, _ in rivals
    }
    small = replace(make_plan(runs=10, max_n=64), routers=(), exact=())
    for row in make_rows(small, results_of(small)).slots:
        assert row.executed == row.predicted < row.formula
        assert row.executed_by == ("batcher" if row.d == row.g else "datta") + " (standard)"


def results_of(plan: PaperPlan) -> dict[Wanted, Tally]:
    return {
        (experiment, runs): route(experiment, runs=runs).tally for experiment, runs in plan.wanted
    }


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"runs": 15}, {"max_n": 3}, {"max_n": 2**24 + 1}])
def test_wishes_that_cannot_be_met_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"(runs|max_n) = "):
        make_plan(**wrong)  # type: ignore[arg-type]


def tally_of(steps: list[int]) -> Tally:
    histogram = Counter(steps)
    slots = Counter({5 * value: times for value, times in histogram.items()})
    return Tally(runs=len(steps), steps=histogram, slots=slots, lost=Counter({0: len(steps)}))


def judged(papers: list[PrintedRow], samples: list[list[int]]) -> PaperRows:
    """The tables for made-up papers and made-up runs."""
    wanted = [(Experiment(2, 2, seed=i), len(sample)) for i, sample in enumerate(samples)]
    tallies = {pair: tally_of(steps) for pair, steps in zip(wanted, samples, strict=True)}
    plan = PaperPlan(tuple(zip(papers, wanted, strict=True)), (), (), (), (), (), 2**24)
    return make_rows(plan, tallies)


def printed(steps: list[int], other: list[int], g: int = 16) -> PrintedRow:
    """What a paper would print of two samples of a hundred runs: one of steps, one of slots."""
    summary, slots_summary = summarize_counts(Counter(steps)), summarize_counts(Counter(other))
    assert summary.sd is not None
    network = Network(g, g)
    mean, sd, slots = round(summary.mean, 2), round(summary.sd, 2), round(5 * slots_summary.mean, 2)
    return PrintedRow(network, mean, sd, summary.max, slots, deterministic_slots(network))


@pytest.mark.parametrize(
    ("number", "most"), [(20, 3), pytest.param(200, 8, marks=pytest.mark.long)]
)
def test_the_family_wise_error_rate_is_as_stated(number: int, most: int) -> None:
    """At 1%, 2 of 200 right papers are expected to differ; more than 8 have probability 0.02%.

    More than 3 of 20 have probability 0.004%.
    """
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(number):
        centres = rng.uniform(0.05, 3, 10)
        papers = [printed(*(4 + rng.poisson(x, (2, 100))).tolist()) for x in centres]
        samples = [(4 + rng.poisson(x, 1000)).tolist() for x in centres]
        alarms += judged(papers, samples).differing > 0
    assert alarms <= most


def test_a_paper_that_is_wrong_is_found_out() -> None:
    rng = np.random.default_rng(2)
    steps = (4 + rng.poisson(1, (3, 100))).tolist()
    rows = judged([printed(steps[0], steps[1])] * 2, [steps[2], [x + 1 for x in steps[2]]])
    assert [row.verdict for row in rows.steps] == ["agrees", "differs"]
    assert [row.verdict for row in rows.slots] == ["agrees", "differs"]
    assert rows.steps[1].standard_errors > 5
    assert [row.sd_verdict for row in rows.steps] == ["agrees", "agrees"]


@each("change", [{"sd_steps": 0.4}, {"sd_steps": 1.9}, {"max_steps": 5}, {"max_steps": 16}])
def test_a_wrong_deviation_and_a_wrong_maximum_are_found(change: dict[str, Any]) -> None:
    """Each differs by itself; a maximum of 16 is farther from the mean than its sd allows."""
    rng = np.random.default_rng(3)
    steps = (4 + rng.poisson(1, (2, 100))).tolist()
    right, ours = printed(*steps), (4 + rng.poisson(1, 1000)).tolist()
    rows = judged([right, replace(right, **change)], [ours, ours])
    assert [one.verdict for one in rows.compared].count("differs") == rows.differing == 1
    wrong = rows.steps[1]
    assert (wrong.sd_verdict, wrong.max_verdict) == (
        ("differs", "agrees") if "sd_steps" in change else ("agrees", "differs")
    )
    statistic = "sd" if "sd_steps" in change else "max"
    table = paper_tables(rows)[0]
    assert [cells[-2] for cells in table.cells()] == ["agrees", f"differs ({statistic})"]
    plan = make_plan(max_n=4)
    said = findings(plan, rows)["paper"]
    assert said.startswith("4 of 4 means, ")
    assert f"Not agreeing: POPS(16, 16), {statistic} (p = " in said
    assert "By itself improbable" not in said
    failed = Reproduction(Path(), plan, rows, Theory((), (), (), ()), ()).report()
    assert not failed.ok
    assert failed.verdict == "FAILED: 1 of the comparisons with the paper differ."


def test_a_heavy_tail_is_undecidable_and_not_agreement() -> None:
    """What is rejected differs all the same; the exit code knows only what differs."""
    tail = [57] * 600 + [60] * 390 + [900] * 10
    few = [57] * 60 + [60] * 40
    paper = replace(printed(few, few), network=Network(32, 2))
    rows = judged([paper, replace(paper, mean_steps=20.0)], [tail, tail])
    assert [one.verdict for one in rows.steps[0].compared] == ["undecidable"] * 3
    wrong = rows.steps[1]  # with that mean and sd the printed maximum is impossible
    assert (wrong.verdict, wrong.max_verdict) == ("differs", "differs")
    assert (rows.comparisons, rows.differing, rows.undecidable) == (8, 2, 6)
    assert rows.by_statistic["maxima"] == {"undecidable": 1, "differs": 1}
    said = findings(make_plan(max_n=4), rows)["paper"]
    assert "0 of 4 means, 0 of 2 standard deviations, 0 of 2 maxima agree" in said
    assert "6 cannot be decided, as the tail is too heavy for a hundred runs: on POPS(" in said
    unlikely = replace(rows, steps=(replace(rows.steps[0], max_p=0.007),))
    said = findings(make_plan(max_n=4), unlikely)["paper"]
    assert "By itself improbable (p ≤ 1%, as by chance in about 0.1 of 5 comparisons): " in said
    assert said.count("POPS(32, 2), max (p = 0.007).") == 1
    assert unlikely.improbable[0].record() == {
        "d": 32, "g": 2, "n": 64, "statistic": "max", "p": 0.007,
    }  # fmt: skip
    open_ones = judged([paper], [tail[:600:6]])
    assert {one.verdict for one in open_ones.compared} == {"too few runs"}


def test_no_spread_at_all_is_no_trouble() -> None:
    eight = [8] * 100
    rows = judged([printed(eight, eight)] * 3, [[8] * 10, [9] * 10, [8] * 999 + [9]])
    assert [row.verdict for row in rows.steps] == ["agrees", "differs", "agrees"]


def test_what_contradicts_itself_is_refused(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="runs = 10: full = True chooses"):
        make_plan(runs=10, full=True)
    finished = cli("paper", "--full", "--runs", 10, "--out", tmp_path / "out")
    assert finished.code == 2
    assert "--runs 10: --full chooses the runs of every row itself" in finished.err
    assert list(tmp_path.iterdir()) == []


def test_time_division_is_marked_and_not_counted_for_relay() -> None:
    """On POPS(4, 4) relay's plan is direct, on POPS(16, 16) it is not."""
    plan = replace(make_plan(runs=10, max_n=256), rivals=(), routers=(), exact=())
    rows = make_rows(plan, results_of(plan))
    marked = {(row.d, row.g): row.time_division for row in rows.relay}
    assert (marked[4, 4], marked[16, 16]) == (True, False)
    assert all(row.time_division == (row.variant == "direct") for row in rows.relay)
    for row, other in zip(rows.steps, rows.slots, strict=True):
        assert row.time_division == other.time_division == marked[row.d, row.g]
    steps, slots, _, relay = paper_tables(rows)
    for table in (steps, slots, relay):
        assert list(table.records()[0])[-1] == "time_division"
        signs = ["§" in "".join(cells) for cells in table.cells()]
        assert signs == [row.time_division for row in table.rows]
        assert dict(table.signs)["§"].startswith("relay's plan is direct")
    found = findings(plan, rows)["relay"]
    relayed = [row for row in rows.relay if not row.time_division]
    assert [(row.d, row.g) for row in relayed] == [(16, 16)]
    share = f"{relayed[0].mean / (relayed[0].mei_rizzi or 0):.2f}"
    assert found.startswith(f"relay takes {share} times the slots of the paper's router on 1 net")
    (headline,) = (line for line in headlines(plan, rows) if line.anchor == "own-router")
    assert headline.number == f"{share} times"


def test_headlines_are_what_the_rows_say() -> None:
    plan = replace(make_plan(runs=10, max_n=64), rivals=(), exact=())
    rows = make_rows(plan, results_of(plan))
    reproduced, lost = headlines(plan, rows)  # relay's plan is direct on all of them
    judged = [
        {left.verdict, right.verdict} for left, right in zip(rows.steps, rows.slots, strict=True)
    ]
    assert reproduced.number == f"{judged.count({'agrees'})} of 6"
    assert reproduced.words == "rows agree with the paper"
    limits = (
        "oo few runs to compare 5 standard deviations; "
        "1 row has too few runs to compare; the paper has 33 rows."
    )
    assert reproduced.basis.endswith(limits)
    most = max(row.lost_share for row in rows.routers)
    assert lost.number == f"up to {most:.1%}"
    assert "The variant deferred loses none." in lost.basis
    row, steps = replace(rows.slots[0], verdict="differs"), rows.steps
    wrong_max = replace(steps[0], max_verdict="differs"), *steps[1:]
    for wrong in (replace(rows, slots=(row, *rows.slots[1:])), replace(rows, steps=wrong_max)):
        (changed, *_) = headlines(plan, wrong)
        assert changed.number == f"{judged.count({'agrees'}) - 1} of 6"
    heavy = (*steps[:5], replace(steps[5], verdict="undecidable"))
    assert "1 row cannot be decided" in headlines(plan, replace(rows, steps=heavy))[0].basis
    agreeing = PaperRows(
        tuple(replace(rows.steps[0], verdict="agrees", sd_verdict="agrees") for _ in range(33)),
        tuple(replace(rows.slots[0], verdict="agrees") for _ in range(33)),
        (),
        (),
    )
    (whole,) = headlines(replace(plan, printed=make_plan().printed), agreeing)
    assert (whole.number, whole.words) == ("33 of 33", "rows of the paper reproduced")
    assert "the paper has" not in whole.basis
    too_few = "too few runs"
    nothing = PaperRows(
        tuple(
            replace(row, verdict=too_few, sd_verdict=too_few, max_verdict=too_few)
            for row in rows.steps
        ),
        tuple(replace(row, verdict=too_few) for row in rows.slots),
        (),
        (),
    )
    assert headlines(plan, nothing) == []
    assert "0 of 0" not in " ".join(findings(plan, nothing).values())


def test_capped_runs_are_marked() -> None:
    plan = make_plan(runs=10, max_n=4)
    steps, slots = Counter({3: 8, 1000: 2}), Counter({15: 8, 5000: 2})
    capped = Tally(10, 2, steps, slots, slots, Counter({0: 10}))
    table = paper_tables(make_rows(plan, dict.fromkeys(plan.wanted, capped)))[0]
    assert table.records()[0]["capped"] == 2
    assert table.cells()[0][4].startswith("≥")


def test_the_table_of_steps_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand runs as in print, with some that stall: nothing is cut in 80 columns."""
    monkeypatch.setattr("popsnet.paper.rows.sd_p", lambda pair: 0.5)  # else a sample of each row
    printed = {row.network: row for row in printed_rows()}

    def runs(network: Network) -> Tally:
        row = printed.get(network)
        often = round(row.mean_steps) if row else 20
        stalled = 40 if row and row.network.blocks == 16 else 0
        steps = Counter({often: 10_000 - stalled, 1000: stalled})
        return Tally(10_000, stalled, steps, steps, steps, Counter({0: 10_000}))

    plan = make_plan()
    results = {pair: runs(pair[0].network) for pair in plan.wanted}
    table = paper_tables(make_rows(plan, results))[0]
    written = str(table)
    words = written.split()
    assert max(map(len, written.splitlines())) <= 80
    assert "…" not in written
    assert sum(word == "16,777,216" for word in words) == 3
    assert all(cells[-1] in words for cells in table.cells())  # the last column, whole


def test_the_published_protocol_loses_packets_where_groups_are_large(tmp_path: Path) -> None:
    """About 12 % at d = 2g and 17 % at 4g; the repair loses none and takes a little longer."""
    plan = make_plan(runs=20, max_n=1024)
    ours = tuple(pair for pair in plan.routers if (pair[0].router, pair[0].g) == ("mei-rizzi", 16))
    plan = replace(plan, printed=(), rivals=(), relay=(), exact=(), routers=ours)
    rows = make_rows(plan, carry_out(plan.wanted, tmp_path, lambda done, total: None)[0])
    lost = {(row.n, row.variant): row.lost_share for row in rows.routers if row.g == 16}
    assert 0.10 < lost[512, "published"] < 0.14
    assert 0.15 < lost[1024, "published"] < 0.20
    assert lost[256, "published"] == lost[1024, "deferred"] == lost[1024, "idealized"] == 0
    slots = {(row.n, row.variant): row.mean for row in rows.routers if row.g == 16}
    assert 0 < slots[1024, "deferred"] - slots[1024, "idealized"] < 5


@pytest.fixture
def two_more_routers() -> Iterator[None]:
    """One that loses everything, and one without coins that might be the rival."""

    @register("<lossy>", summary="", slots="", buffers=1, randomness="some")
    def lossy(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        everybody = np.arange(network.n)
        yield Slot()
        memory.drop(everybody, everybody)

    register("another", summary="", slots="", buffers=2, randomness="none")(direct.direct)
    yield
    unregister("<lossy>")
    unregister("another")


@pytest.mark.usefixtures("two_more_routers")
def test_routers_come_from_the_register() -> None:
    plan = make_plan(runs=10, max_n=64)
    few = tuple(pair for pair in plan.routers if pair[0].router in ("<lossy>", "direct"))
    plan = replace(plan, routers=few, exact=())
    rows = make_rows(plan, results_of(plan))
    lossy = [row for row in rows.routers if row.router == "<lossy>"]
    assert {row.lost_share for row in lossy} == {1.0}
    assert {(row.executed, row.executed_by) for row in rows.slots if row.n == 16} == {
        (4, "another (standard)"),
        (8, "another (standard)"),
    }
    assert {row.d // row.g for row in lossy} == {1, 2, 4}
    assert "losses" in [figure.stem for figure in paper_figures(rows)]


def test_variants_in_the_figure_of_routers_are_their_own() -> None:
    """Where d > g, mei-rizzi does not choose its first variant by itself."""
    plan = replace(make_plan(runs=10, max_n=32), printed=(), rivals=(), relay=(), exact=())
    rows = make_rows(plan, results_of(plan))
    (figure,) = (part.figure for part in paper_figures(rows) if part.stem == "routers")
    drawn = {line.get_label(): np.asarray(line.get_xdata()) for line in figure.axes[0].lines}
    for variant in ("published", "deferred"):
        means = [row.mean for row in rows.routers if row.variant == variant]
        assert drawn[f"mei-rizzi ({variant})"].tolist() == means


class Page(HTMLParser):
    """What is on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.names: Counter[str] = Counter()
        self.facts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name in ("href", "xlink:href", "src", "data", "action"):
                self.links.append(value or "")
            if name == "id":
                self.names[value or ""] += 1
        if tag == "meta":
            given = dict(attrs)
            name = given.get("name") or given.get("property") or ""
            self.facts[name] = given.get("content") or ""


FIGURES = (
    "headline", "steps", "slots", "losses", "routers", "pops-3-3", "journey", "conflicts",
)  # fmt: skip
"""Without the separation, which has one size here, and the fits, which have too few."""

SECTIONS = ("paper", "losses", "own-router", "theory", "network", "provenance")


WATCHED = {
    "lost-packets.html": "POPS(3, 2): mei-rizzi (published), mei-rizzi (deferred)",
    "mei-rizzi-and-relay.html": "POPS(8, 8): mei-rizzi (published), relay (S)",
}


def no_more_runs(experiment: Experiment, shards: range, **_: object) -> Shards:
    raise AssertionError(f"{experiment} is run again")


@pytest.mark.long  # examples in the help and of reproduce are smaller
def test_the_paper_in_small_from_end_to_end(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new" / "folder"
    arguments = ("paper", "--max-n", 64, "--runs", 20, "--out", out)
    figures: list[PaperFigure] = []

    def draw_and_keep(rows: PaperRows) -> list[PaperFigure]:
        figures.extend(paper_figures(rows))
        return figures

    monkeypatch.setattr("popsnet.paper.figures.paper_figures", draw_and_keep)
    finished = cli(*arguments)
    assert (finished.code, finished.err) == (0, "")
    assert f"The report: {out / 'report.html'}" in finished.out.replace("\n", " ")
    assert "Not run: 27 rows above n = 64." in finished.out.replace("\n", " ")
    assert "56.88 ± 4.52" in finished.out
    assert "136/45" in finished.out
    assert "The machine confirms 5 of 5 delays" in finished.out.replace("\n", " ")
    assert "Packets are lost by mei-rizzi (published): on average up to" in finished.out.replace(
        "\n", " "
    )

    text = (out / "report.html").read_text()
    page = Page(text)
    assert text.count('<svg role="img"') == len(FIGURES)
    assert page.tags["figure"] == len(FIGURES)
    assert page.tags["table"] == page.tags["caption"] == 7
    assert page.tags["script"] == page.tags["img"] == 0
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert set(SECTIONS) <= inside <= set(page.names)
    outside = {link for link in page.links if not link.startswith("#")}
    (icon,) = (link for link in outside if link.startswith("data:image/svg+xml;base64,"))
    assert set(WATCHED) < outside
    assert all((out / link).is_file() for link in outside - {icon})
    assert max(page.names.values()) == 1
    assert re.findall(r"(?<!xmlns=.)(?<!xmlns:xlink=.)https?:", text) == []
    assert "@import" not in text
    assert all(f'<table id="{stem}">' in text for stem in ("exact", "fluid", "separation"))
    assert re.findall(r"<th[^>]*>[^<]*\w- \w", text) == []  # a heading that is broken for terminals
    assert "0 of 0" not in text + finished.out
    assert (out / page.facts["og:image"]).is_file()
    assert page.facts["og:title"] in text
    assert page.facts["og:description"] == page.facts["description"] != ""
    assert page.facts["author"]
    assert 'class="number">5 of 6</span>' in text
    assert "These networks are too small to relay" in text
    assert "Show the table: 6 rows" in text
    assert (out / "figures" / "separation.svg").exists() is False
    assert {part.stem: cut for part in figures if (cut := texts_outside(part.figure))} == {}
    captions = re.findall(r"<(?:fig)?caption>(.*?)<(?:/caption|/figcaption|a )", text, re.DOTALL)
    assert len(captions) == len(FIGURES) + 7
    assert max(len(caption.split()) for caption in captions) <= 42
    for stem in FIGURES:
        assert (out / "figures" / f"{stem}.png").stat().st_size > 1000
        assert (out / "figures" / f"{stem}.svg").is_file()

    for name, title in WATCHED.items():
        assert f"<title>{title}</title>" in (out / name).read_text()

    rows = {
        path.stem: list(csv.DictReader(path.read_text().splitlines())) for path in out.glob("*.csv")
    }
    assert [row["published_mean"] for row in rows["steps"]] == [
        "3.15", "4.43", "5.39", "14.33", "16.13", "56.88",
    ]  # fmt: skip
    assert all(f"<td>{row['published_slots']}" in text for row in rows["slots"] if row["n"] == "64")
    assert all(f"<td>×{float(row['relay_ratio']):.2f}§</td>" in text for row in rows["slots"])
    assert page.tags["tr"] == sum(map(len, rows.values())) + 7

    monkeypatch.setattr("popsnet.sweeps.rows.SHARD.execute", no_more_runs)
    monkeypatch.setattr("popsnet.paper.theory.separation.separation", no_more_runs)
    monkeypatch.setattr("popsnet.paper.figures.paper_figures", lambda rows: figures)
    result = json.loads(cli(*arguments, "--json").out)
    assert [name for name in result if name in rows] == [
        "steps", "slots", "routers", "relay", "exact", "fluid", "separation",
    ]  # fmt: skip
    assert "growth" not in result  # too few sizes for a fit
    assert result["pages"] == [str(out / name) for name in WATCHED]
    assert (result["exact_comparisons"], result["growth_summary"]) == (0, [])  # too few runs
    assert [row["exact_fraction"] for row in result["exact"]] == [
        row["exact_fraction"] for row in rows["exact"]
    ]
    assert {row["slots"] for row in result["fluid"] if row["router"] == "mei-rizzi"} == {
        5 * row["mean"] for row in result["steps"]
    }
    assert result["comparisons"] == 15  # of 24: few runs have no tail, and no precise sd
    assert (result["undecidable"], result["improbable"]) == (0, [])
    assert result["by_statistic"]["maxima"] == {"agrees": 5, "too few runs": 1}
    assert [row["max_p"] for row in result["steps"]] == [
        float(row["max_p"]) for row in rows["steps"]
    ]
    assert result["family_wise_error_rate"]["ours_and_paper"] == LEVEL
    assert [row["verdict"] for row in result["steps"]] == [row["verdict"] for row in rows["steps"]]


def test_the_run_to_watch_loses_what_the_explanation_says(tmp_path: Path) -> None:
    (page, caption), _ = write_pages(tmp_path).items()
    assert caption.startswith("The published protocol loses two packets on POPS(3, 2)")
    losses = {
        variant: Experiment(3, 2, variant=variant, seed=17, permutation_seed=17)
        for variant in ("published", "deferred")
    }
    runs = {variant: route(experiment)[0] for variant, experiment in losses.items()}
    assert {variant: run.outcome.lost for variant, run in runs.items()} == {
        "published": 2,
        "deferred": 0,
    }
    assert (tmp_path / page).read_text() == view(*runs.values()).html


def test_an_interrupt_says_how_to_go_on(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[ResultBatch] = []
    execute = SHARD.execute

    def execute_one(experiment: Experiment, shards: range, **choices: Any) -> ResultBatch:
        if done:
            raise KeyboardInterrupt
        done.append(execute(experiment, shards, **choices))
        return done[0]

    monkeypatch.setattr("popsnet.sweeps.rows.SHARD.execute", execute_one)
    finished = cli("paper", "--max-n", 16, "--runs", 20, "--out", tmp_path)
    assert finished.code == 130
    assert "Interrupted: finished runs are in" in finished.err
    with Store(tmp_path / "results.sqlite") as store:
        assert len(store.rows("results")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]


def test_without_the_libraries_it_says_what_to_install(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    finished = cli("paper", "--out", tmp_path / "out")
    assert finished.code == 2
    assert "pip install 'popsnet[paper]', or pip install '.[paper]' in a clone." in finished.err
    assert list(tmp_path.iterdir()) == []


def test_the_committed_tables_are_what_the_program_gives() -> None:
    folder = Path(__file__).parents[2] / "results" / "paper"
    with (folder / "steps.csv").open() as file:
        kept = list(csv.DictReader(file))
    assert len(kept) == len(printed_rows())
    for row, printed in zip(kept, printed_rows(), strict=True):
        assert float(row["published_mean"]) == printed.mean_steps
        assert int(row["runs"]) >= 100
        if int(row["n"]) <= 256 and row["heavy_tail"] == "False":
            shape, runs = (int(row["d"]), int(row["g"])), int(row["runs"])
            steps = route(*shape, variant="idealized", engine="fused", runs=runs).tally.steps
            assert float(row["mean"]) == pytest.approx(summarize_counts(steps).mean)
            assert int(row["max"]) == max(steps)
