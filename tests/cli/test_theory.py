"""``popsnet theory``: what it prints and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

from popsnet.model.network import Network
from popsnet.programs.router import all_bounds
from popsnet.studies.comparisons import predict
from popsnet.theory import expected_steps, first_shorter, growth
from tests.conftest import Cli
from tests.each import each


def test_theory_has_predictions_bounds_and_tails(cli: Cli) -> None:
    found = json.loads(cli("theory", 8, 8, "--runs", 3, "--json").out)
    assert list(found) == [
        "network", "runs", "constants", "popsnet_version", "predictions", "tail", "bounds",
        "tail_bounds", "growth", "ok",
    ]  # fmt: skip
    routers = [(row["router"], row["variant"]) for row in found["predictions"]]
    assert routers[:2] == [("mei-rizzi", "published"), ("relay", "S")]
    assert all(row["measured_slots"] for row in found["predictions"])
    assert found["predictions"][0]["steps"] == expected_steps(Network(8, 8))
    assert {row["name"] for row in found["bounds"]} >= {"direct", "oblivious", "rigid"}
    (row,) = [row for row in found["tail_bounds"] if row["measured"] is not None]
    assert row["fails_at_most"] > 1 > row["measured"]
    assert row["smallest_g"] > 8


def test_theory_prints_text_on_any_shape(cli: Cli) -> None:
    for d, g in ((1, 1), (1, 4), (4, 2), (3, 2)):
        printed = cli("theory", d, g)
        assert printed.code == 0, printed.err
        assert "Upper bounds that always hold, in slots: " in printed.out
        assert "Bounds, in slots" in cli("theory", d, g, "--bounds").out
        assert "measured steps" not in printed.out
        if d >= g:
            lost = "In the limit of large networks with this d/g the" in printed.out
            assert lost == (d > g)
    assert "measured steps" in cli("theory", 4, 4, "--runs", 2).out
    assert max(map(len, str(predict(64, 64)).splitlines())) <= 80
    assert cli("theory", 4, 4, "--csv").out.startswith(
        "d,g,n,wavelengths,popsnet_version,router,variant,steps,slots,"
    )


def test_theory_compares_the_growth_of_stages_for_equal_d_and_g(cli: Cli) -> None:
    found = json.loads(cli("theory", 4, 4, "--json").out)["growth"]
    assert [tuple(row["candidates"]) for row in found] == [row.candidates for row in growth()]
    shorter = f"Team stages (T) are shorter than sweeps (S) from g = 2^{first_shorter('sweeps')} on"
    assert shorter in " ".join(cli("theory", 4, 4).out.split())
    text = " ".join(cli("theory", 4, 4, "--growth").out.split())
    assert shorter in text
    assert "2^(2^64) 202 138 29 4 S, T62, T5.5e+18" in text
    assert json.loads(cli("theory", 4, 2, "--json").out)["growth"] == []
    assert "2^(2^64)" not in cli("theory", 4, 2).out


def test_every_reference_of_a_bound_is_printed(cli: Cli) -> None:
    found = predict(32, 4)
    text = " ".join(cli("theory", 32, 4, "--bounds").out.split())
    assert all(bound.reference in text for bound, _ in found.bounds)
    pages = {
        page for bound in all_bounds() for page in re.findall(r"docs/[\w/.-]+md", bound.reference)
    }
    assert pages
    assert all(Path(__file__).parents[2].joinpath(page).is_file() for page in pages)


def test_sections_are_printed_in_full_and_json_has_all(cli: Cli) -> None:
    short = cli("theory", 64, 64).out
    assert len(short.splitlines()) < 20
    for section, shown in (("bounds", "off-line: 2⌈d/g⌉"), ("tails", "3.1, the lemma"),
                           ("growth", "2^65536")):  # fmt: skip
        assert shown not in short
        assert shown in cli("theory", 64, 64, f"--{section}").out
        assert max(map(len, str(predict(64, 64).report(section)).splitlines())) <= 80
        assert cli("theory", 64, 64, f"--{section}", "--csv").out.startswith("d,g,n,")
    assert "(1 says nothing)" in cli("theory", 64, 64, "--tails").out
    statements = [row.statement for row in predict(64, 16).tail_bounds]
    assert "one step of d > g" in statements
    assert "all packets delivered, d = g" not in statements


def test_theory_draws_a_run(cli: Cli, tmp_path: Path) -> None:
    drawn = cli("theory", 16, 8, "--figure", tmp_path / "run.svg", "--json")
    assert drawn.code == 0, drawn.err
    assert json.loads(drawn.out)["figure"] == str(tmp_path / "run.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["run.svg"]


@each(
    ("arguments", "reason"),
    [
        (("theory", 2, 4, "--figure", "f.svg"), "d must be at least g"),
        (("theory", 4, 4, "--figure", "f.xyz"), "--figure f.xyz: the name must end in"),
        (("theory", 2, 2, "--runs", "-1"), "--runs -1"),
        (("theory", 0, 2), "d = 0"),
        (("theory", 2, 4, "--tails"), "--tails: it is for D at least G"),
        (("theory", 4, 2, "--growth"), "--growth: it is for D = G"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli(*arguments)
    assert refused.code == 2
    assert reason in refused.err
