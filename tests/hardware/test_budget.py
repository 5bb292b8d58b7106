"""Power budgets against the tables of the design and calculations in milliwatts."""

from __future__ import annotations

import json
from math import isclose, log2, log10
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import popsnet
from popsnet import InputError
from popsnet.hardware import LINKS, POWER, RATE, TIME, TIMINGS, Link, budget
from tests.conftest import Cli
from tests.each import each


@each(
    ("d", "loss"),
    [(4, 6.6), (8, 9.9), (16, 13.2), (32, 16.6), (64, 19.9), (128, 23.2), (256, 26.5)],
)
def test_the_losses_of_stars(d: int, loss: float) -> None:
    assert round(Link(0.0, 0.0).splitting(d), 1) == loss


@pytest.mark.parametrize(
    ("preset", "available", "d", "power_of_two"),
    [("pon", 27.0, 285, 256), ("silicon", 14.7, 21, 16), ("coherent", 34.7, 1430, 1024)],
)
def test_the_largest_stars_of_the_presets(
    preset: str, available: float, d: int, power_of_two: int
) -> None:
    """The table of the design has powers of two: 256, 16, more than 1000."""
    many = budget(4, 4, preset=preset)
    single = budget(4, 4, preset=preset, transmitters="one")
    assert many.link.available == pytest.approx(available)
    assert (many.largest_d, many.architecture().largest_d_power_of_two) == (d, power_of_two)
    assert single.largest_d == d // 4  # a splitter of 4 counts as a star
    assert d == int(10 ** (available / (10 + 0.3 * log2(10))))


@given(
    st.floats(-10, 20), st.floats(-40, 0), st.floats(0, 6), st.floats(0, 4), st.floats(0, 1),
    st.integers(1, 4096), st.integers(1, 64),
)  # fmt: skip
def test_the_power_at_a_receiver_is_what_divisions_leave(
    transmit: float, sensitivity: float, margin: float, connectors: float, excess: float, d: int,
    g: int,
) -> None:  # fmt: skip
    link = {"transmit": transmit, "sensitivity": sensitivity, "margin": margin,
            "connectors": connectors, "excess": excess}  # fmt: skip
    keep = 10 ** (-excess / 10)  # of the power, per doubling
    for kind, parts in (("many", d), ("one", d * g)):
        architecture = budget(d, g, **link, transmitters=kind).architecture()  # type: ignore[arg-type]
        received = 10 ** (transmit / 10) / parts * keep ** log2(parts) * 10 ** (-connectors / 10)
        assert architecture.received_dbm == pytest.approx(10 * log10(received), abs=1e-9)
        assert architecture.left_db == pytest.approx(
            architecture.received_dbm - sensitivity - margin, abs=1e-9
        )
        if abs(architecture.left_db) > 1e-6:
            assert architecture.closes == (received > 10 ** ((sensitivity + margin) / 10))
        assert architecture.closes == (d <= architecture.largest_d)
        assert architecture.largest_n == g * architecture.largest_d


@given(st.floats(-5, 60), st.floats(0, 1))
def test_the_largest_split_closes_and_the_next_does_not(available: float, excess: float) -> None:
    link = Link(available, 0.0, margin=0.0, connectors=0.0, excess=excess)
    largest = link.largest_split
    assert largest == 0 or link.closes(largest)
    assert not link.closes(largest + 1)


def test_a_budget_that_is_closed_exactly_is_closed() -> None:
    for d in (1, 2, 8, 10, 100, 1000):
        loss = 10 * log10(d) + 0.3 * log2(d)
        exactly = budget(d, 4, transmit=loss + 5.0, sensitivity=0.0)
        assert exactly.closes
        assert exactly.left_db == pytest.approx(0.0, abs=1e-12)
        assert exactly.largest_d == d
        assert not budget(d, 4, transmit=loss + 5.0 - 1e-6, sensitivity=0.0).closes
    assert budget(10, 7, transmit=10.0, sensitivity=0.0, margin=0, connectors=0, excess=0).closes
    assert not budget(
        11, 7, transmit=10.0, sensitivity=0.0, margin=0, connectors=0, excess=0
    ).closes


def test_no_light_closes_no_network() -> None:
    found = budget(1, 1, transmit="-30dBm", sensitivity="-28dBm")
    assert not found.closes
    assert (found.largest_d, found.largest_n) == (0, 0)
    assert found.architecture().largest_d_power_of_two == 0
    assert "No network closes this budget." in str(found)
    assert "stronger transmitter" in found.report().cure


def test_figures_that_are_given_replace_those_of_a_preset() -> None:
    found = budget(4, 4, preset="silicon", transmit="0dBm", margin="1dB")
    assert (found.link.transmit, found.link.sensitivity, found.link.margin) == (0.0, -9.7, 1.0)
    kinds = {row["figure"]: row["basis"] for row in found.report().to_dict()["figures"]}
    assert kinds == {
        "transmit": "given", "sensitivity": "source", "margin": "given",
        "connectors": "assumption", "excess": "assumption",
    }  # fmt: skip
    bare = budget(4, 4, transmit=0.0, sensitivity=-20.0).report().to_dict()["figures"]
    assert [row["basis"] for row in bare] == ["given"] * 2 + ["assumption"] * 3


def test_every_figure_of_a_preset_has_a_source_or_is_an_assumption() -> None:
    for name, preset in LINKS.items():
        assert preset.name == name
        assert preset.figures.keys() == preset.bases.keys()
        for basis in preset.bases.values():
            assert basis.text
            found = basis.address.startswith("https://") or "ITU-T" in basis.text
            assert basis.kind == "assumption" or found
        text = str(budget(4, 4, preset=name))
        assert text.count("assumption:") == sum(
            basis.kind == "assumption" for basis in preset.bases.values()
        )


@each(
    ("options", "message"),
    [
        ({}, "transmit and sensitivity: not given"),
        ({"transmit": "4dBm"}, "sensitivity: not given. Give both, such as transmit='4dBm'"),
        ({"preset": "poon"}, "preset = poon: there is no such preset. Did you mean 'pon'?"),
        ({"preset": "pon", "excess": -1}, "excess = -1 dB: it is a loss and must be at least 0."),
        (
            {"preset": "pon", "margin": "3"},
            "margin = 3: it has no unit; give a loss such as 0.3dB (dB)",
        ),
        ({"preset": "pon", "transmitters": "two"}, "transmitters = two: give many or one."),
    ],
)
def test_what_cannot_be_a_budget_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        budget(4, 4, **options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_exit_codes_of_the_command(cli: Cli) -> None:
    assert cli("budget", 32, 32, "--transmit", "4dBm", "--sensitivity", "-28dBm").code == 0
    failed = cli("budget", 300, 2, "--preset", "pon", "--json")
    assert failed.code == 1
    assert json.loads(failed.out)["ok"] is False
    assert "FAILED: 0.24 dB are missing." in failed.err
    assert "With 2 groups, d must be at most 285." in failed.err
    single = cli("budget", 16, 16, "--preset", "silicon", "--transmitters", "one")
    assert single.code == 1
    assert "With --transmitters many the budget closes." in single.err
    for options, message in (
        ([], "Give --transmit and --sensitivity"),
        (["--preset", "pon", "--transmit", "4"], "--transmit 4: it has no unit; give a power"),
        (["--preset", "pon", "--transmit", "4dB"], "--transmit 4dB: 'dB' is not a unit of a power"),
    ):
        refused = cli("budget", 4, 4, *options)
        assert refused.code == 2
        assert message in refused.err
    header, first, *_ = cli("budget", 32, 32, "--preset", "pon", "--csv").out.splitlines()
    assert header.startswith("transmitters,loss_db,received_dbm")
    assert first.startswith("many,18.55")


def test_the_package_has_it() -> None:
    assert popsnet.budget is budget
    assert popsnet.hardware.Timing is popsnet.Timing


PAGE = Path(__file__).parents[2] / "docs/how-to/hardware.md"


def test_the_tables_of_the_page_have_the_figures_of_the_presets() -> None:
    rows = {
        cells[1].strip("`"): cells[2:-1]
        for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith("| `") and (cells := [cell.strip() for cell in line.split("|")])
    }
    assert rows.keys() == LINKS.keys() | TIMINGS.keys()
    for name, preset in LINKS.items():
        for figure, cell in zip(("transmit", "sensitivity"), rows[name], strict=False):
            value = POWER.read(figure, cell.removesuffix(", *assumed*"))
            assert value == POWER.read(figure, preset.figures[figure])
            assert cell.endswith("*assumed*") == (preset.bases[figure].kind == "assumption")
    for name, timing in TIMINGS.items():
        kinds = {"slot": TIME, "guard": TIME, "rate": RATE}
        for (figure, kind), cell in zip(kinds.items(), rows[name], strict=False):
            assert kind.read(figure, cell.removesuffix(", *assumed*")) == getattr(timing, figure)
            assert cell.endswith("*assumed*") == (timing.basis(figure).kind == "assumption")
    assert budget(2, 2, preset="silicon", transmit="0dBm").largest_d == 2  # as the page says


def test_a_very_large_budget_takes_no_time() -> None:
    """Between neighbours the losses of so many parts are equal as floats."""
    assert isclose(Link("100dBm", "-84dBm", 0, 0, 0).largest_split, 10**18.4, rel_tol=1e-8)
    assert Link("100dBm", "-100dBm", 0, 0, 0).largest_split == 2**63
