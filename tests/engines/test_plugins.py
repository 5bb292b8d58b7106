"""Engines of other distributions, found through the entry-point group ``popsnet.engines``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import popsnet
from popsnet import Experiment, InputError, Store
from popsnet.engines import EngineWarning, choose_engine, engine_names, find_engine, plugins
from popsnet.sweeps.work import Part, estimate_work
from tests.conftest import Cli
from tests.engines.plugin import TINY, forget_plugins, install, write_plugin

SWEEP = "runs = 300\n[[grid]]\nd = 4\ng = 4\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where distributions are found."""
    installed = tmp_path / "installed"
    installed.mkdir()
    yield installed
    monkeypatch.undo()
    for name in ("tiny", "other", "broken"):
        sys.modules.pop(f"{name}_engine", None)
    forget_plugins()


@pytest.fixture
def tiny(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(folder, TINY)
    install(monkeypatch, folder)


@pytest.mark.usefixtures("tiny")
def test_an_engine_of_another_distribution_is_found_by_every_command(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = json.loads(cli("route", 4, 4, "--engine", "tiny", "--json").out)
    expected = json.loads(cli("route", 4, 4, "--engine", "fused", "--json").out)
    assert (named.pop("engine"), expected.pop("engine")) == ("tiny", "fused")
    for done in (*named["outcomes"], *expected["outcomes"]):
        del done["seconds"]
    assert named["runs"] == expected["runs"]

    Path("sweep.toml").write_text(SWEEP)
    assert cli("sweep", "sweep.toml").code == 0
    with Store("results.sqlite") as store:
        (experiment,) = store.experiments()
        assert {origin.engine for origin in store.provenances(experiment)} == {"tiny"}

    found = {row["what"]: row for row in json.loads(cli("doctor", "--json").out)["findings"]}
    assert found["plug-in tiny"]["detail"] == "tiny-engine 1.5"
    assert found["engine tiny"]["ok"]
    assert "routes POPS(4, 4)" in found["engine tiny"]["detail"]
    routers = {row["name"]: row for row in json.loads(cli("routers", "--json").out)["routers"]}
    assert routers["mei-rizzi"]["engines"] == ["objects", "slots", "fused", "tiny"]
    assert routers["direct"]["engines"] == ["slots"]


@pytest.mark.usefixtures("tiny")
def test_auto_takes_it_for_many_runs_that_it_supports() -> None:
    square = Experiment(4, 4)
    assert choose_engine("auto", square).name == "tiny"
    assert choose_engine("auto", square, runs=257).name == "tiny"
    assert choose_engine("auto", square, runs=256).name == "slots"
    assert choose_engine("auto", square, runs=257, traced=True).name == "slots"
    assert choose_engine("auto", Experiment(4, 4, router="direct"), runs=10**6).name == "slots"
    with pytest.raises(InputError, match="Engine tiny does not run direct"):
        choose_engine("tiny", Experiment(4, 4, router="direct"))


def test_the_fastest_by_its_own_estimate_is_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(folder, TINY)
    write_plugin(folder, TINY.replace("tiny", "other").replace("1e-12", "1e-13"), "other")
    install(monkeypatch, folder)
    assert engine_names() == ["objects", "slots", "fused", "other", "tiny"]
    assert choose_engine("auto", Experiment(4, 4)).name == "other"


def test_one_that_needs_resources_is_not_shared_by_the_workers_of_a_sweep(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(folder, TINY.replace('"tiny"', '"tiny"\n    resources = {"tiny": 1}'))
    install(monkeypatch, folder)
    assert choose_engine("auto", Experiment(4, 4)).name == "fused"
    assert choose_engine("auto", Experiment(4, 4), runs=10**6).name == "tiny"


def test_parts_do_not_depend_on_what_is_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = [Experiment(g, g, router=name) for g in (4, 8, 16) for name in ("relay", "datta")]
    before = [Part(1, 2).share(experiments), [estimate_work(subject) for subject in experiments]]
    write_plugin(folder, TINY.replace("1e-12", "1e6 / experiment.network.n**3"))
    install(monkeypatch, folder)
    after = [Part(1, 2).share(experiments), [estimate_work(subject) for subject in experiments]]
    assert before == after
    assert estimate_work(Experiment(4, 4), "tiny") > 1000 * estimate_work(Experiment(4, 4))


BROKEN = {
    "raise RuntimeError('one\\nline')": "RuntimeError: one line",
    "raise SystemExit(3)": "SystemExit: 3",
    "import nothing_of_this_name": "No module named 'nothing_of_this_name'",
    "ENGINE = 3": "broken_engine:ENGINE is not a popsnet.engines.Engine with this name",
    "": "has no attribute 'ENGINE'",
}


@pytest.mark.parametrize("source", BROKEN)
def test_one_that_cannot_be_loaded_is_a_warning_unless_it_is_named(
    source: str, folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    write_plugin(folder, source, "broken")
    install(monkeypatch, folder)
    with pytest.warns(EngineWarning) as warned:
        chosen = [choose_engine("auto", Experiment(g, g)).name for g in (4, 8)]
    assert chosen == ["fused", "fused"]
    (warning,) = warned
    text = str(warning.message)
    assert text.startswith("Engine broken is left out: the engine of broken-engine 1.5 cannot be")
    assert BROKEN[source] in text
    assert "\n" not in text
    finished = cli("route", 4, 4, "--engine", "broken")
    assert finished.code == 2
    assert "Error: --engine 'broken': the engine of broken-engine 1.5 cannot" in finished.err
    row = next(finding for finding in json.loads(cli("doctor", "--json").out)["findings"]
               if finding["what"] == "plug-in broken")  # fmt: skip
    assert not row["ok"]
    assert BROKEN[source] in row["detail"]


def test_one_that_fails_when_it_is_asked_is_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    write_plugin(folder, TINY.replace("return True", "return 1 / 0"))
    install(monkeypatch, folder)
    with pytest.warns(EngineWarning, match=r"Engine tiny is left out: it fails \(ZeroDivision"):
        assert choose_engine("auto", Experiment(4, 4)).name == "fused"


def test_a_name_that_is_taken_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(folder, TINY.replace("tiny", "fused"), "fused")
    install(monkeypatch, folder)
    with pytest.warns(EngineWarning, match=r"fused-engine 1.5 offers an engine fused, a name"):
        assert choose_engine("auto", Experiment(4, 4)).name == "fused"
    assert type(find_engine("fused")).__name__ == "FusedEngine"


def test_damaged_metadata_breaks_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(folder, TINY)
    (folder / "tiny_engine-1.5.dist-info/entry_points.txt").write_text(
        f"[{plugins.GROUP}]\nno equals sign\n"
    )
    install(monkeypatch, folder)
    with pytest.warns(EngineWarning, match="Engines of other distributions cannot be found"):
        assert choose_engine("auto", Experiment(4, 4)).name == "fused"


ASKED = """
import sys
import importlib.metadata as metadata
asked = []
real = metadata.entry_points
metadata.entry_points = lambda **more: asked.append(more.get("group")) or real(**more)
from popsnet.cli.main import main
for line in {lines}:
    sys.argv = ["popsnet", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code
    print(asked.count("popsnet.engines"), "tiny_engine" in sys.modules, file=sys.stderr)
"""


@pytest.mark.usefixtures("tiny")
def test_entry_points_are_read_when_an_engine_is_chosen_for_many_runs_or_named() -> None:
    lines = {
        "--version": "0 False",
        "route 4 4": "0 False",
        "route 4 4 --engine fused": "0 False",
        "route 4 4 --engine tiny": "1 True",
    }
    program = [sys.executable, "-c", ASKED.format(lines=list(lines))]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [*lines.values()]


@pytest.mark.usefixtures("tiny")
def test_its_runs_are_those_of_the_others() -> None:
    found, expected = (popsnet.route(8, 8, runs=5, engine=name) for name in ("tiny", "fused"))
    assert found.tally == expected.tally
