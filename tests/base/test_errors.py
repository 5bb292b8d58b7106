"""Errors of popsnet, which other code can catch, and which no handler of popsnet replaces."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
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


PRINTED = """
import popsnet, popsnet.traffic, sys
for slip in sys.argv[1:]:
    try:
        eval(slip)
    except AttributeError:
        sys.__excepthook__(*sys.exc_info())
"""


def test_python_suggests_names_of_packages_and_results() -> None:
    slips = (
        "popsnet.rout", "popsnet.plots.draw_tail", "popsnet.traffic.replicat",
        "popsnet.route(2, 2)[0].slos", "popsnet.simulate(2, 2, load=0.1, slots=9).schedule",
    )  # fmt: skip
    program = [sys.executable, "-c", PRINTED, *slips]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stderr
    ends = [line for line in printed.splitlines() if line.startswith("AttributeError: ")]
    assert len(ends) == len(slips)
    assert all("Did you mean: '" in end for end in ends), ends
    with pytest.raises(AttributeError, match=r"^module 'popsnet' has no attribute 'rout'$") as slip:
        _ = popsnet.rout  # type: ignore[attr-defined]
    assert (slip.value.name, slip.value.obj) == ("rout", popsnet)


def test_values_that_are_one_of_a_few_are_suggested() -> None:
    runs = popsnet.route(2, 2)
    for call in (
        lambda: runs.histogram("slot"),
        lambda: popsnet.survival(2, 2, kind="coupler"),
        lambda: popsnet.simulate(2, 2, load=0.1, engine="slot"),
        lambda: popsnet.compare(2, 2, routers=["direct"], runs=1)["drect"],
        lambda: runs.experiment.replaced(sed=1),
    ):
        with pytest.raises(InputError, match="Did you mean '"):
            call()


def test_a_wrong_keyword_names_the_function_and_the_right_keyword() -> None:
    """Python itself suggests from version 3.13 on, where a function lists all its keywords."""
    point = popsnet.traffic.TrafficExperiment(2, 2, scheduler="tdm", load=0.1)
    arguments: dict[str, tuple[Any, ...]] = {"replicate": (point, 2), "run_loads": ([point],)}
    for package in (popsnet, popsnet.traffic):
        for function in map(partial(getattr, package), package.__all__):
            if not inspect.isfunction(function) or function.__name__.startswith("register"):
                continue
            parameters = inspect.signature(function).parameters.values()
            own = [one for one in parameters if one.kind < one.VAR_POSITIONAL]
            needed = [one.name for one in own if one.default is one.empty]
            usual = [popsnet.Network(2, 2) if name == "network" else 2 for name in needed]
            with pytest.raises(TypeError) as refused:
                function(*arguments.get(function.__name__, usual), zzz=1)
            text = f"{function.__name__}() got an unexpected keyword argument 'zzz'"
            assert str(refused.value) == text
    slips: list[tuple[Callable[..., Any], str, str]] = [
        (popsnet.simulate, "loda", "load"), (popsnet.route, "rnus", "runs"),
        (popsnet.compare, "sede", "seed"), (popsnet.distribution, "frst", "first"),
        (popsnet.survival, "numberz", "numbers"), (popsnet.schedule, "falts", "faults"),
    ]  # fmt: skip
    for call, slip, meant in slips:
        with pytest.raises(TypeError, match=rf"'{slip}'\. Did you mean '{meant}'\?$"):
            call(popsnet.Network(4, 4), **{slip: 1})
    slipped: dict[str, Any] = {"summry": "s"}
    for register in (popsnet.register, popsnet.traffic.register_scheduler):
        decorate: Any = register("x", **slipped)
        with pytest.raises(TypeError, match=rf"^{register.__name__}\(\) got .*mean 'summary'\?$"):
            decorate(print)


def test_values_of_a_wrong_kind_are_named() -> None:
    network, sender, none = popsnet.Network(4, 4), np.array([0]), cast("Any", None)
    facts: dict[str, Any] = {"summary": "s", "slots": "n", "buffers": 2}
    register, add = cast("Any", popsnet.register), cast("Any", popsnet.traffic.register_scheduler)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: network.group(99), r"^processor = 99: POPS\(4, 4\) has processors 0 to 15; give"),
        (lambda: network.index(-1), r"^processor = -1: POPS"),
        (lambda: register(7, **facts)(print), "^name = 7: it must be a text"),
        (lambda: add(7, summary="s")(print), "^name = 7: it must be a text"),
        (lambda: register("x", **facts, words="yes")(print), r"'yes' is not Explanation"),
        (lambda: popsnet.Experiment(4, 4, seed=none), "^seed = None: it must be an integer"),
        (lambda: popsnet.Experiment(4, 4, router=none), "^router = None: give a name"),
    ]
    for call, text in calls:
        with pytest.raises(InputError, match=text):
            call()
    bits: Any = 3.0
    with pytest.raises(ValueError, match=r"^bits = 3\.0: a number of bits must be an integer\.$"):
        popsnet.Slot.send_control(sender, sender, contents=sender, bits=bits)


def test_results_that_cannot_be_hashed_say_so() -> None:
    result = popsnet.simulate(2, 2, load=0.1, slots=100)
    for found in (result, popsnet.compare(2, 2, routers=["direct"], runs=1)):
        with pytest.raises(TypeError, match=f"^unhashable type: '{type(found).__name__}'$"):
            hash(found)
    point = popsnet.traffic.TrafficExperiment(2, 2, scheduler="tdm", load=0.1, faults="coupler:1-0")
    assert str(point) == "tdm (standard) on POPS(2, 2), bernoulli uniform, 0.1, coupler:1-0"
