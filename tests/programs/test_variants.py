"""Variants that a router makes of a text: the canonical name is what is kept everywhere."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from popsnet import Experiment, InputError, Network, check_trace
from popsnet.engines import ENGINES
from popsnet.programs.router import Router, find_router, find_variant, unregister
from popsnet.sweeps.store import Store
from tests.conftest import Cli

PATIENT = """
from popsnet import InputError, Slot, register
from popsnet.programs.router import Variant, get_router

direct = get_router("direct").variant("standard").route


def idling(network, destination, coins, memory, slots=0):
    for _ in range(slots):
        yield Slot()
    yield from direct(network, destination, coins, memory)


def written_out(text):
    numbers = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    if not numbers or not all(number.isdigit() for number in numbers):
        raise InputError(f"{text!r} has no slots to idle in.")
    slots = list(map(int, numbers))

    def route(*given):
        return idling(*given, slots=sum(slots))

    def obstacle(network):
        return "it has three groups." if network.g == 3 else None

    return Variant(route, obstacle, f"({', '.join(map(str, slots))}) P1")


def schedules(text):
    return written_out(text.removesuffix("P1"))


register("patient", summary="", slots="", buffers=2, schedules=schedules)(idling)
"""


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    monkeypatch.chdir(tmp_path)
    Path("patient.py").write_text(PATIENT)
    yield find_router("patient.py")
    unregister("patient")


def test_a_variant_is_looked_up_or_made(patient: Router) -> None:
    network = Network(4, 4)
    assert patient.choose_variant(None, network) == "standard"
    assert patient.choose_variant("3 2", network) == "(3, 2) P1"
    assert patient.choose_variant("(3, 2) P1", network) == "(3, 2) P1"
    assert patient.variant("standard") is patient.variants["standard"]
    with pytest.raises(InputError, match=r"^'nope' has no slots to idle in"):
        patient.choose_variant("nope", network)
    with pytest.raises(InputError, match=r"patient \(\(1\) P1\) does not apply.*three groups"):
        patient.choose_variant("1", Network(4, 3))


def test_the_command_routes_by_a_schedule(cli: Cli, patient: Router) -> None:
    base = ("route", 4, 4, "--router", "patient.py")
    for option in ("--schedule", "--variant"):
        finished = json.loads(cli(*base, option, "3  2", "--json").out)
        assert (finished["variant"], finished["outcomes"][0]["slots"]) == ("(3, 2) P1", 9)
    told = cli(*base, "--schedule", "3 2").out
    assert "\n1 run of patient, engine slots\nschedule (3, 2) P1\n" in told
    assert cli(*base, "--schedule", "3 2", "--trace", "t").code == 0
    assert (check_trace(Path("t")).variant, cli("check", "t").code) == ("(3, 2) P1", 0)


def test_a_schedule_that_cannot_be_run_is_refused(cli: Cli, patient: Router) -> None:
    base = ("route", 4, 4, "--router", "patient.py", "--schedule")
    for arguments, complaint in (
        ((*base, "1", "--variant", "standard"), "--schedule or --variant, not both"),
        ((*base, "nope"), "'nope' has no slots to idle in"),
        (("route", 4, 4, "--schedule", "1"), "mei-rizzi takes no --schedule; these do:"),
    ):
        finished = cli(*arguments)
        assert (finished.code, finished.out) == (2, "")
        assert complaint in finished.err
    assert "patient" in finished.err


def test_where_no_router_takes_schedules_that_is_said(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.all_routers", list)
    finished = cli("route", 4, 4, "--schedule", "1")
    assert finished.code == 2
    assert "mei-rizzi takes no --schedule; no router here does." in finished.err


SWEEP = """
[[grid]]
shapes = [[4, 4]]
routers = ["patient.py", "direct"]
variants = ["3 2", "standard"]
skip_inapplicable = true
"""


def test_results_are_kept_under_the_canonical_name(cli: Cli, patient: Router) -> None:
    Path("sweep.toml").write_text(SWEEP)
    finished = cli("sweep", "sweep.toml")
    assert (finished.code, finished.err) == (0, "Running 3 parts of 10 runs, of 3 experiments…\n")
    assert "(3, 2) P1" in finished.out
    assert "direct has no variant '3 2'" in finished.out
    with Store(Path("results.sqlite")) as store:
        variants = {
            experiment.variant
            for experiment in store.experiments()
            if experiment.router == "patient"
        }
        tally = store.tally(Experiment(4, 4, router="patient.py", variant="(3,2)"), 10)
    assert variants == {"(3, 2) P1", "standard"}
    assert tally is not None
    assert tally.slots == {9: 10}
    assert "(3, 2) P1" in cli("results", "list").out
    assert cli("results", "export", "--out", "r.csv").code == 0
    with Path("r.csv").open() as file:
        assert "(3, 2) P1" in {row["variant"] for row in csv.DictReader(file)}
    assert "3 shards run again" in cli("results", "verify", "--all", "--router", "patient.py").out


def test_a_slip_in_a_schedule_is_one_whatever_may_be_skipped(cli: Cli, patient: Router) -> None:
    Path("sweep.toml").write_text(SWEEP.replace("3 2", "three"))
    finished = cli("sweep", "sweep.toml")
    assert finished.code == 2
    assert "variants: 'three' has no slots to idle in." in finished.err


def test_an_engine_may_have_all_variants_that_are_not_named(patient: Router) -> None:
    """The compiled engine has the schedules of relay, none of its named variants."""

    def reason(router: str, variant: str) -> str | None:
        return ENGINES["fused"].supports(Experiment(4, 4, router=router, variant=variant))

    for schedule in ("S", "P2 P1", "P(3,2) R1"):
        assert reason("relay", schedule) is None
    others = [("relay", "direct"), ("relay", "P2 P1+or"), ("direct", "standard")]
    for router, variant in [*others, ("patient", "(3, 2) P1"), ("patient", "standard")]:
        said = reason(router, variant)
        assert said is not None
        assert said.startswith("it runs only mei-rizzi (published, idealized, deferred) and the ")


def test_a_variant_may_be_named_with_its_router(tmp_path: Path) -> None:
    assert find_variant("relay:P2 P1")[1] == "P2 P1"
    assert find_variant("relay")[1] is None
    assert find_variant("relay", "S")[1] == "S"
    assert Experiment(4, 4, router="relay:S") == Experiment(4, 4, router="relay", variant="S")
    with pytest.raises(InputError, match="each names a variant; give one"):
        Experiment(4, 4, router="relay:S", variant="P1")
    with pytest.raises(InputError, match="Did you mean 'relay'"):
        find_variant("rely:S")
    path = tmp_path / "own.py"
    path.write_text(
        "from popsnet import register\n"
        "@register('own', summary='', slots='', buffers=2)\n"
        "def route(network, destination, coins, memory):\n    yield\n"
    )
    found, variant = find_variant(f"{path}:standard")
    assert (found.name, variant) == ("own", "standard")
