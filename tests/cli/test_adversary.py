from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from popsnet.plots import Series, draw_separation, svg_text
from tests.conftest import Cli
from tests.each import each
from tests.project.schemas import require_schema

EXAMPLE = Path(__file__).parents[2] / "docs/examples/comparators.py"


def test_oblivious(cli: Cli, tmp_path: Path) -> None:
    saved = tmp_path / "bad.npy"
    finished = cli("adversary", "oblivious", 4, 4, "--paths", "direct", "--out", saved)
    assert finished.code == 0
    assert "Confirmed: congestion 4 by counting, no permutation has more" in finished.out
    assert sorted(np.load(saved)) == list(range(16))
    result = json.loads(cli("adversary", "oblivious", 8, 8, "--runs", 3, "--json").out)
    assert list(result) == [
        "network", "paths", "guaranteed", "is_worst", "confirmed", "popsnet_version",
        "permutations", "random", "ok",
    ]  # fmt: skip
    matching = result["permutations"][1]
    assert (result["paths"], matching["congestion"]) == ("residue", 9)
    assert len(matching["pairs"]) == matching["packets"] == 9
    assert len(result["random"]) == 3


def test_what_was_saved_can_be_routed(cli: Cli, tmp_path: Path) -> None:
    for name in ("bad.npy", "bad.json", "bad.csv"):
        saved = tmp_path / name
        assert cli("adversary", "two-hop", 8, 8, "--out", saved).code == 0
        assert cli("route", 8, 8, "--permutation", saved).code == 0


def test_congestion(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "congestion.svg"
    finished = cli(
        "adversary", "congestion", "--largest", 16, "--runs", 3, "--worst", 8, "--figure", figure
    )
    assert finished.code == 0
    assert (tmp_path / "congestion.svg").read_text().count("random permutations, mean") == 1
    result = json.loads(cli("adversary", "congestion", "--largest", 8, "--runs", 3, "--json").out)
    assert {point["paths"] for point in result["points"]} > {"direct", "residue", "hashed"}
    assert all(point["worst"] >= 8 for point in result["points"])


def test_rigid(cli: Cli, tmp_path: Path) -> None:
    command = ("adversary", "rigid", 4, 4, "--router", EXAMPLE)
    finished = cli(*command, "--figure", tmp_path / "growth.png", "--out", tmp_path / "swap.json")
    assert finished.code == 0
    assert "Confirmed: on the transposition of" in finished.out
    assert (tmp_path / "growth.png").stat().st_size > 1000
    result = json.loads(cli(*command, "--variant", "odd-even", "--slots", 3, "--json").out)
    assert (result["slots"], result["guaranteed"]) == (3, 4)
    assert [one["slot"] for one in result["growth"]] == [0, 1, 2, 3]
    late = cli(*command, "--slots", 1000, "--out", tmp_path / "none.npy")
    assert (late.code, "Confirmed" in late.out) == (1, False)
    assert "No transposition can be built: after 30 slots every packet can be" in late.out
    assert f"{tmp_path / 'none.npy'} was not written" in late.out
    assert not (tmp_path / "none.npy").exists()
    assert json.loads(cli(*command, "--slots", 1000, "--json").out)["confirmed"] is None


def test_two_hop(cli: Cli) -> None:
    finished = cli("adversary", "two-hop", 16, 16, "--algorithm", "shear", "--most-slots", 12)
    assert finished.code == 0
    assert "slots, the most asked for" in finished.out
    result = json.loads(cli("adversary", "two-hop", 16, 16, "--json").out)
    assert (result["algorithm"], result["confirmed"]) == ("hashed", True)
    assert result["slots"] >= 10
    assert str(result["packet"]) in result["marked"]
    assert result["randomized_stopped_after"] is None


def test_a_run_that_was_cut_is_no_result(cli: Cli) -> None:
    assert "algorithm takes ≥ 2000 slots" in cli("adversary", "two-hop", 64, 4).out
    result = json.loads(cli("adversary", "two-hop", 64, 4, "--json").out)
    assert (result["randomized_slots"], result["randomized_stopped_after"]) == (None, 2000)


def test_one_packet_alone_is_not_many(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(
        "def c_out(d, g, i, t):\n    return 0\ndef c_in(d, g, i, t):\n    return -1\n"
    )
    finished = cli("adversary", "two-hop", 8, 8, "--algorithm", tmp_path / "deaf.py")
    assert "1 packet gets nowhere for 64 slots" in finished.out


def test_a_figure_has_the_name_that_was_given(cli: Cli, tmp_path: Path) -> None:
    command = ("adversary", "rigid", 1, 4, "--router", "batcher")
    for name in ("growth.v2.svg", "other.PNG"):
        assert cli(*command, "--figure", tmp_path / name).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"growth.v2.svg", "other.PNG"}


def test_what_user_code_prints_is_not_in_the_json(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "paths.py").write_text(
        "print('noise')\ndef path(d, g, a, b):\n    print('noise')\n    return [b]\n"
    )
    (tmp_path / "hops.py").write_text(
        "print('noise')\ndef c_out(d, g, i, t):\n    print('noise')\n    return 0\n"
    )
    (tmp_path / "router.py").write_text(
        "from popsnet import Slot, register\nprint('noise')\n"
        "@register('noisy', summary='', slots='', buffers=2)\n"
        "def route(network, destination, coins, memory):\n    print('noise')\n    yield Slot()\n"
    )
    for arguments in (
        ("adversary", "oblivious", 2, 2, "--paths", tmp_path / "paths.py"),
        ("adversary", "two-hop", 4, 4, "--algorithm", tmp_path / "hops.py"),
        ("adversary", "rigid", 2, 2, "--router", tmp_path / "router.py"),
        ("route", 2, 2, "--router", tmp_path / "router.py"),
        ("view", 2, 2, "--router", tmp_path / "router.py", "--out", tmp_path / "view.html"),
    ):
        finished = cli(*arguments, "--json")
        assert isinstance(json.loads(finished.out), dict)
        assert "noise" in finished.err
        assert "noise" in cli(*arguments).out


def test_an_interrupt_is_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "paths.py").write_text("def path(d, g, a, b):\n    raise KeyboardInterrupt\n")
    finished = cli("adversary", "oblivious", 2, 2, "--paths", tmp_path / "paths.py")
    assert (finished.code, finished.err) == (130, "Interrupted.\n")


def test_the_variant_of_a_router_is_said(cli: Cli) -> None:
    command = ("adversary", "oblivious", 3, 3, "--router", "relay", "--variant", "roll-call")
    assert "paths of router relay (roll-call)" in cli(*command).out


def test_points_at_a_limit_are_drawn_as_such(cli: Cli, tmp_path: Path) -> None:
    command = ("adversary", "separation", "--largest", 8, "--runs", 1, "--most-slots", 4)
    assert cli(*command, "--figure", tmp_path / "cut.svg").code == 0
    said = "lower bound: the search ended there"
    assert (tmp_path / "cut.svg").read_text().count(said) == 1
    line = Series("found", (8, 16), (10, 12), look=0, at_least=(False, False))
    uncut = draw_separation(
        (8, 16), {"found": (10, 12)}, (2, 4), (5.0, 6.0), limit=64, capped=(False, False)
    )
    assert said not in svg_text(uncut)
    with pytest.raises(ValueError, match="must have the same length"):
        replace(line, at_least=(True,))


def test_what_is_not_confirmed_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.studies.adversaries.TwoHopAttack.confirmed", False)
    finished = cli("adversary", "two-hop", 8, 8)
    assert (finished.code, "NOT CONFIRMED" in finished.out) == (1, True)


def test_separation(cli: Cli, tmp_path: Path) -> None:
    command = ("adversary", "separation", "--largest", 16, "--runs", 3, "--most-slots", 20)
    finished = cli(*command, "--figure", tmp_path / "gap.svg")
    assert finished.code == 0
    assert "randomized: all arrived, mean" in (tmp_path / "gap.svg").read_text()
    result = json.loads(cli(*command, "--json").out)
    assert [point["g"] for point in result["points"]] == [8, 16]
    assert all(point["confirmed"] for point in result["points"])


@each(
    ("arguments", "said"),
    [
        (("oblivious", -4, 4), "d = -4: the number of processors per group must be at least 1"),
        (("oblivious", 4, 4, "--paths", "x"), "no path system 'x'"),
        (("oblivious", 4, 4, "--runs", 0), "--runs 0"),
        (("oblivious", 4, 4, "--out", "bad.txt"), "a permutation file ends in"),
        (("oblivious", 500, 500), "n = 250,000"),
        (("oblivious", 4, 4, "--router", "mei-rizzi"), "mei-rizzi is not oblivious: from"),
        (
            ("oblivious", 4, 4, "--paths", "grid", "--router", "direct"),
            "--paths grid: --router direct says",
        ),
        (("oblivious", 4, 4, "--variant", "standard"), "--variant standard: it is given without"),
        (("congestion", "--largest", 4), "--largest 4"),
        (("congestion", "--permutation-seed", -1), "seed"),
        (("congestion", "--worst", 8, "--figure", "x.doc"), "--figure x.doc"),
        (("rigid", 4, 4, "--router", "direct"), "direct is not rigid: in slot 1 processor 0"),
        (("rigid", 4, 4, "--router", "nowhere.py"), "There is no file"),
        (("rigid", 3, 3, "--router", EXAMPLE, "--variant", "bitonic"), "power of two"),
        (("two-hop", 4, 4, "--most-slots", 7), "--most-slots 7"),
        (("two-hop", 4, 4, "--algorithm", "x"), "no two-hop algorithm 'x'"),
        (("separation", "--runs", 0), "--runs 0"),
        (("separation", "--figure", "no/such/folder/x.svg"), "There is no folder"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], said: str) -> None:
    finished = cli("adversary", *arguments)
    assert finished.code == 2
    assert said in " ".join(finished.err.split())


def test_conflict_free(cli: Cli, tmp_path: Path) -> None:
    command = ("adversary", "conflict-free", 2, 3)
    queries = EXAMPLE.with_name("queries.py")
    finished = cli(*command, "--router", queries, "--slots", 2)
    assert finished.code == 0
    assert "No conflict in 720 permutations; all 461 indicators are within" in finished.out
    assert "1        1 (≤ 1)      2 (≤ 2)  1 (≤ 1)" in finished.out
    (tmp_path / "meet.py").write_text(
        "from popsnet import Slot, register\n"
        "@register('meet', summary='', slots='', buffers=2)\n"
        "def route(network, destination, coins, memory):\n"
        "    who = [i for i in (0, 1) if destination[i] > 3]\n"
        "    to = [2 for _ in who]\n"
        "    yield Slot(senders=who, groups=to, packets=who, listeners=[4], listened=[0])\n"
    )
    meeting, figure = ("--router", tmp_path / "meet.py"), tmp_path / "arrivals.svg"
    refused = cli(*command, *meeting, "--figure", figure)
    assert refused.code == 1
    assert "NOT CONFLICT-FREE: in slot 1 on the permutation [4, 5, 0, 1, 2, 3]" in refused.out
    assert f"{figure} was not written." in refused.out.replace("\n", "")
    assert not figure.exists()
    result = json.loads(cli(*command, *meeting, "--json").out)
    require_schema("adversary conflict-free", result)
    assert result["refusal"]["processors"] == [0, 1]
    allowed = json.loads(cli(*command, *meeting, "--allow", 2, "--json").out)
    assert allowed["checked"][0]["coupler_degree"] == 2
    require_schema("adversary conflict-free", allowed)
    sampled = json.loads(cli("adversary", "conflict-free", 8, 8, "--runs", 2, "--json").out)
    assert sampled["checked"][0]["bounds"]["arrivals"] == pytest.approx(33.508, abs=0.001)
    require_schema("adversary conflict-free", sampled)
    coins = cli("adversary", "conflict-free", 2, 2, "--router", "mei-rizzi")
    assert (coins.code, "choose a deterministic router" in coins.err) == (2, True)
