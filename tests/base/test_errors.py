"""Errors of popsnet, which other code can catch, and which no handler of popsnet replaces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import popsnet
from popsnet.base.errors import InputError, closest
from popsnet.base.files import require_writable
from popsnet.traffic import TrafficExperiment


def test_a_wrong_value_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^runs = 0: it must be at least 1\.$"):
        popsnet.route(4, 4, runs=0)
    assert issubclass(InputError, popsnet.PopsnetError)


def test_handlers_of_value_errors_let_errors_of_popsnet_through(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        require_writable(tmp_path)
    assert str(refused.value) == f"{tmp_path} is a folder; give the name of a file to write."

    text = json.dumps({**json.loads(popsnet.Experiment(4, 4).to_json()), "d": 0})
    with pytest.raises(InputError, match=r"^d = 0: it must be at least 1\.$"):
        popsnet.Experiment.from_json(text)
    whole = json.loads(TrafficExperiment(4, 4, scheduler="tdm", load=0.1).to_json())
    whole["identity"]["d"] = 0
    with pytest.raises(InputError, match=r"^d = 0: it must be at least 1\.$"):
        TrafficExperiment.from_json(json.dumps(whole))

    (tmp_path / "mine.py").write_text("import popsnet\npopsnet.Network(0, 4)\n")
    with pytest.raises(InputError, match=r"^d = 0: the number of processors"):
        popsnet.route(4, 4, router=tmp_path / "mine.py")


CLOSE = {
    ("relais", "relay"), ("Mei_Rizzi", "mei-rizzi"), ("loda", "load"), ("dir", "direct"),
    ("hotspt:0:1", "hotspot:H:F"), ("--slto", "--slot"), ("cols", "col"), ("db", "dBm"),
}  # fmt: skip
DISTANT = {
    ("--fault", "--out"), ("--slot", "--json"), ("d", "g"), ("tdm", "vlb"), ("lost", "cost-of"),
    ("relayed-on", "relay"), ("", "relay"),
}  # fmt: skip


def test_only_close_names_are_suggested() -> None:
    for name, known in CLOSE:
        assert closest(name, ["something else", known]) == known, name
    for name, known in DISTANT:
        assert closest(name, [known]) is None, name
    assert closest("slot", ["slots", "slot"]) == "slot"
    assert closest("route", []) is None


def test_python_suggests_names_of_packages_and_results() -> None:
    for script in (
        "popsnet.rout", "popsnet.plots.draw_tail", "popsnet.traffic.replicat",
        "popsnet.route(2, 2)[0].slos", "popsnet.simulate(2, 2, load=0.1, slots=9).schedule",
    ):  # fmt: skip
        program = [sys.executable, "-c", f"import popsnet, popsnet.traffic; {script}"]
        end = subprocess.run(program, capture_output=True, text=True).stderr.splitlines()[-1]
        assert end.startswith("AttributeError: "), end
        assert "Did you mean: '" in end
    with pytest.raises(AttributeError, match=r"^module 'popsnet' has no attribute 'rout'$") as slip:
        _ = popsnet.rout  # type: ignore[attr-defined]
    assert (slip.value.name, slip.value.obj) == ("rout", popsnet)


def test_values_that_are_one_of_a_few_are_suggested() -> None:
    runs = popsnet.route(2, 2)
    for call in (
        lambda: runs.histogram("slot"),
        lambda: popsnet.survival(2, 2, kind="coupler"),
        lambda: popsnet.simulate(2, 2, load=0.1, engine="slot"),
        lambda: popsnet.compare(2, 2, routers=["direct"], runs=1)["dirct"],
        lambda: runs.experiment.replaced(sed=1),
    ):
        with pytest.raises(InputError, match="Did you mean '"):
            call()
