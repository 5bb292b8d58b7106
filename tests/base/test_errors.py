"""Errors of popsnet, which other code can catch, and which no handler of popsnet replaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import popsnet
from popsnet.base.errors import InputError
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
