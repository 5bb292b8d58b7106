"""popsnet schedule, as people use it and as they get it wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from popsnet import Network, check_trace, schedule
from tests.conftest import Cli
from tests.each import each, rarely


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sizes", [(1, 3, 4), *rarely([(1, 2, 3, 4, 6, 8)])], ids=len)
def test_slots_are_as_promised_over_a_grid_of_shapes(sizes: tuple[int, ...], cli: Cli) -> None:
    for d in sizes:
        for g in sizes:
            two = 1 if d == 1 else 2 * -(-d // g)
            for hops in ("2", "auto"):
                asked = ("schedule", d, g, "--hops", hops, "--json", "--trace", "t.jsonl")
                facts = json.loads(cli(*asked).out)
                assert facts["slots"] == two if hops == "2" else facts["slots"] <= two
                assert facts["delivered"] == facts["packets"] == d * g
                assert facts["gap"] == facts["slots"] - facts["lower_bound"] >= 0
                assert cli("check", "t.jsonl").code == 0


def test_the_summary_and_the_trace(cli: Cli) -> None:
    finished = cli("schedule", 8, 4, "--permutation", "reversal", "--trace", "s.jsonl")
    assert finished.code == 0
    for line in ("lower bound", "above the bound", "couplers in use", "100.0%", "32 of 32 packets"):
        assert line in finished.out
    checked = cli("check", "s.jsonl", "--json")
    report = json.loads(checked.out)
    assert (report["ok"], report["slots"], report["packets"]) == (True, 4, 32)


def test_csv_has_a_row_with_all_figures(cli: Cli) -> None:
    files = ("--out", "s.csv", "--trace", "s.jsonl", "--ports", "p.csv")
    text = cli("schedule", 8, 4, "--hops", 2, *files, "--csv").out
    (row,) = csv.DictReader(text.splitlines())
    assert (row["d"], row["slots"], row["lower_bound"], row["gap"]) == ("8", "4", "3", "1")
    assert (row["out"], row["trace"], row["utilization"]) == ("s.csv", "s.jsonl", "1.0")
    assert (row["ports"], row["relayed"]) == ("p.csv", "32")


def test_all_lines_fit_80_columns() -> None:
    made = schedule(Network(5, 3), matrix=np.full((3, 3), 1200))
    assert max(map(len, str(made).splitlines())) <= 80
    assert repr(made) == "<schedule of 10,800 packets on POPS(5, 3): 1,200 slots>"
    assert "lower bound for any schedule</td>" in made._repr_html_()


def test_the_table_has_a_row_a_message_and_no_collision(cli: Cli) -> None:
    assert cli("schedule", 5, 3, "--hops", 2, "--out", "s.csv").code == 0
    with Path("s.csv").open() as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 2 * 15
    for names in (["sender"], ["receiver"], ["packet"], ["from_group", "to_group"]):
        assert len({(row["slot"], *(row[name] for name in names)) for row in rows}) == len(rows)
    for row in rows:
        assert (row["from_group"], row["to_group"]) == (row["sender"] // 5, row["receiver"] // 5)
        assert row["source"] == row["packet"]
    assert "popsnet schedule and popsnet route write a trace" in cli("check", "s.csv").err


def test_the_same_permutation_as_route(cli: Cli) -> None:
    """So that runs on-line can be compared with the optimum."""
    cli("schedule", 4, 3, "--permutation-seed", 7, "--hops", 2, "--trace", "a.jsonl")
    cli("route", 4, 3, "--permutation-seed", 7, "--router", "offline", "--trace", "b.jsonl")
    one, other = (Path(name).read_text() for name in ("a.jsonl", "b.jsonl"))
    assert one == other


def test_rows_of_sources_and_destinations(cli: Cli) -> None:
    Path("d.csv").write_text("source,destination\n0,3\n1,2\n1,5\n\n0,3\n")
    np.save("d.npy", np.array([[0, 3], [1, 2], [1, 5], [0, 3]]))
    for name in ("d.csv", "d.npy"):
        facts = json.loads(
            cli("schedule", 3, 2, "--packets", name, "--trace", "t.jsonl", "--json").out
        )
        assert (facts["packets"], facts["max_per_processor"], facts["slots"]) == (4, 2, 3)
        report = check_trace(Path("t.jsonl"))
        assert report.ok
    header = json.loads(Path("t.jsonl").read_text().splitlines()[0])
    assert (header["start"], header["destination"]) == ([0, 1, 1, 0], [3, 2, 5, 3])


def test_a_traffic_matrix(cli: Cli) -> None:
    Path("m.csv").write_text("0,4\n1,2\n")
    np.save("m.npy", np.array([[0, 4], [1, 2]]))
    for name in ("m.csv", "m.npy"):
        facts = json.loads(
            cli("schedule", 3, 2, "--matrix", name, "--trace", "t.jsonl", "--json").out
        )
        assert (facts["packets"], facts["max_per_group"], facts["slots"]) == (7, 6, 4)
        assert check_trace(Path("t.jsonl")).ok


def test_a_packet_from_each_processor_need_not_be_a_permutation(cli: Cli) -> None:
    """Every processor sends one packet, and one receives two: the trace says where they start."""
    Path("m.csv").write_text("1,0\n1,0\n")
    assert cli("schedule", 1, 2, "--matrix", "m.csv", "--trace", "t.jsonl").code == 0
    assert check_trace(Path("t.jsonl")).ok
    assert cli("view", "t.jsonl", "--no-open").code == 0


def test_nothing_to_send_is_held_by_nobody(cli: Cli) -> None:
    Path("m.csv").write_text("0,0\n0,0\n")
    asked = ("schedule", 3, 2, "--matrix", "m.csv", "--trace", "t.jsonl")
    facts = json.loads(cli(*asked, "--json").out)
    assert [facts[name] for name in ("packets", "slots", "peak_buffers", "delivered")] == [0] * 4
    assert cli(*asked).code == 0
    assert check_trace(Path("t.jsonl")).ok


WRONG = {
    "d1.csv": ("--packets", "0,3\n1,6\n", "line 2: destination 6 is outside 0 to 5"),
    "d2.csv": ("--packets", "0,3\n\n-1,2\n", "line 3: source -1 is outside 0 to 5"),
    "d3.csv": ("--packets", "0,3\n1\n", "line 2 has 1 column; all rows must have 2"),
    "d4.csv": ("--packets", "0,3\n1,x\n", "line 2, column 2: 'x' is not a number"),
    "d5.csv": ("--packets", "0\n1\n", "a demand must have two columns"),
    "d6.csv": ("--packets", "", "has no row of numbers"),
    "d7.csv": ("--packets", f"0,{10**30}\n", "is too large; the largest is 2^62"),
    "d8.json": ("--packets", "0,1\n", "must end in .csv, .tsv, .txt, .npy or .parquet"),
    "d9.npy": ("--packets", "0,1\n", "is not a complete .npy file"),
    "p1.csv": ("--permutation", "0,1\n1,0\n1,2\n3,3\n4,4\n5,5\n", "line 3: source 1 has a packet"),
    "p2.csv": ("--permutation", "0,1\n1,0\n6,2\n3,3\n4,4\n5,5\n", "line 3: there is no source 6"),
    "p3.csv": ("--permutation", "0\n1\n2\n3\n4\n6\n", "entry 5 is 6, outside 0 to 5"),
    "m1.csv": ("--matrix", "1,2\n3,-4\n", "line 2, column 2 (from group 1 to group 1): -4 must be"),
    "m2.csv": (
        "--matrix",
        "1,2,3\n3,4,5\n",
        "is 2 × 3; a traffic matrix of POPS(3, 2) must be 2 × 2",
    ),
    "m3.csv": ("--matrix", "1,2\n3,4,5\n", "line 2 has 3 columns"),
    "m4.csv": ("--matrix", f"1,2\n3,{2**40}\n", "m4.csv has 1,099,511,627,782 packets in all"),
}


@each("name", WRONG)
def test_bad_demands_are_refused_with_the_row_that_is_wrong(name: str, cli: Cli) -> None:
    option, text, complaint = WRONG[name]
    Path(name).write_text(text)
    finished = cli("schedule", 3, 2, option, name, "--trace", "t.jsonl")
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err
    assert not Path("t.jsonl").exists()


@each(
    ("options", "complaint"),
    [
        (["--out", "x.txt"], "--out x.txt: the name must end in .csv"),
        (["--out", "x.jsonl"], "--out x.jsonl is a table, .csv; use --trace x.jsonl"),
        (["--out", "x.csv", "--trace", "./x.csv"], "--out and --trace are both x.csv"),
        (["--figure", "x.svg", "--trace", "x.svg"], "--trace and --figure are both x.svg"),
        (["--matrix", "x.csv", "--out", "x.csv"], "--matrix and --out are both x.csv"),
        (["--hops", "3"], "--hops 3: choose one of auto, 1, 2, mixed"),
        (["--unit", "3"], "--unit 3: a permutation has no amounts"),
        (["--trace", "no/x"], "There is no folder"),
        (["--figure", "x.txt"], "--figure x.txt: the name must end in one of ."),
        (["--out", "no/x.csv"], "There is no folder"),
        (["--packets", "missing.csv"], "cannot be read"),
        (["--packets", "a.csv", "--matrix", "b.csv"], "packets and matrix each give the packets"),
        (["--permutation", "nonsense"], "There is no permutation"),
        (["--seed", "-1"], "--seed -1: a seed must be"),
        (["--permutation-seed", "-1"], "--permutation-seed -1: a seed must be"),
    ],
)
def test_other_mistakes(options: list[str], complaint: str, cli: Cli) -> None:
    finished = cli("schedule", 3, 2, *options)
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err


def test_sizes_that_are_none_or_too_large(cli: Cli) -> None:
    assert "must be at least 1" in cli("schedule", 0, 2).err
    assert "g = -3: the number of groups" in cli("schedule", 4, -3).err
    assert "GB are available here" in cli("schedule", 10**5, 10**5).err


@each(
    ("d", "g", "suffix"),
    [(1, 1, "svg"), (1, 4, "png"), (4, 3, "pdf"), (40, 16, "svg"), (40, 16, "png"), (3, 70, "pdf")],
)
def test_a_figure_of_slots_and_couplers(d: int, g: int, suffix: str, cli: Cli) -> None:
    finished = cli("schedule", d, g, "--figure", f"s.{suffix}")
    assert finished.code == 0, finished.err
    assert Path(f"s.{suffix}").stat().st_size > 1000


def test_nothing_to_send(cli: Cli) -> None:
    Path("m.csv").write_text("0,0\n0,0\n")
    finished = cli("schedule", 3, 2, "--matrix", "m.csv", "--figure", "z.png", "--trace", "z.jsonl")
    assert finished.code == 0, finished.err
    assert check_trace(Path("z.jsonl")).ok


def test_routers_say_what_they_know(cli: Cli) -> None:
    listed = {one["name"]: one for one in json.loads(cli("routers", "--json").out)["routers"]}
    assert (listed["offline"]["online"], listed["direct"]["online"]) == (False, True)
    text = " ".join(cli("routers").out.split())
    assert "uses: everything, beforehand" in text
    assert "uses: its own packet and what it hears" in text


def test_counts_of_any_whole_type_and_no_endless_work(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("construction", "shortest"):
        monkeypatch.setattr(f"popsnet.programs.schedules.{module}.MOST_ROUNDS", 2**10)
    np.save(tmp_path / "m.npy", np.array([[1, 2], [3, 4]], dtype=np.uint64))
    assert cli("schedule", 3, 2, "--matrix", tmp_path / "m.npy").code == 0
    np.save(tmp_path / "m.npy", np.array([[2**13, 0], [0, 1]]))
    finished = cli("schedule", 3, 2, "--matrix", tmp_path / "m.npy", "--hops", 2)
    assert finished.code == 2
    assert "Split the demand" in finished.err
    finished = cli("schedule", 3, 2, "--matrix", tmp_path / "m.npy")
    assert finished.code == 0


def test_a_schedule_around_dead_parts(cli: Cli) -> None:
    asked = ("schedule", 8, 4, "--permutation", "reversal", "--fault", "coupler:0-3", "--fault")
    finished = cli(*asked, "processor:5", "--trace", "s.jsonl", "--out", "s.csv", "--json")
    facts = json.loads(finished.out)
    assert (finished.code, facts["faults"]) == (0, "coupler:0-3 processor:5")
    assert (facts["intact_slots"], facts["slots"], facts["added_slots"]) == (4, 5, 1)
    assert facts["unreachable"] == len(facts["unreachable_packets"]) == 2
    assert facts["unreachable_packets"][0] == {
        "packet": 5, "from_group": 0, "to_group": 3, "source": 5, "destination": 26
    }  # fmt: skip
    assert json.loads(cli("check", "s.jsonl", "--json").out)["unreachable"] == 2
    rows = list(csv.DictReader(Path("s.csv").read_text().splitlines()))
    assert len({row["packet"] for row in rows}) == 30
    assert not [row for row in rows if (row["from_group"], row["to_group"]) == ("0", "3")]
    assert "Packets without a path to their destinations" in cli(*asked, "processor:5").out


def test_what_is_no_dead_part_is_refused(cli: Cli) -> None:
    for fault, reason in (
        ("loss:0.1", "a schedule is made before it is known which messages are lost"),
        ("coupler:0-4", "there is no coupler:0-4 on POPS(2, 4)"),
        ("processor:x", "'x' is not a processor, 0 to n - 1"),
    ):
        finished = cli("schedule", 2, 4, "--fault", fault)
        assert (finished.code, reason in finished.err) == (2, True), finished.err
