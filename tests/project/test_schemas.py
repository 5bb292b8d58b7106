"""What commands print with --json has the form that docs/reference/schemas.json states.

The examples of all commands are held against it in ``tests/cli/test_help.py``; here are the keys
that only some options bring.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.commands import EXAMPLES
from tests.conftest import Cli

from .schemas import SCHEMAS, require_schema

TIMES = "--timing sirius --fibre 30m"

COMMANDS = (
    ("route", "route 4 4 --trace t.jsonl", 0),
    ("route", "route 8 2 --variant published", 1),
    ("route", "route 4 4 --engine fused", 0),
    ("route", "route 6 2 --variant published --trace lost.jsonl", 1),
    ("route", "route 4 4 --router relay:S --max-steps 1", 1),
    ("compare", "compare 4 4 --runs 2 --figure c.svg", 0),
    ("schedule", "schedule 4 4 --out s.csv --trace s.jsonl --figure s.svg", 0),
    ("traffic", "traffic 4 4", 0),
    ("traffic", "traffic 2 2 --scheduler tdm --load 0.2 --slots 500 --trace f.jsonl", 0),
    ("traffic", "traffic 2 2 --scheduler tdm --loads 0.2,0.4 --slots 500 --figure f.svg", 0),
    ("traffic", "traffic 2 2 --scheduler tdm --saturation --slots 500", 0),
    ("check", "check f.jsonl", 0),
    ("sort", "sort 2 4 --out v.csv", 0),
    ("sweep", "sweep sweep.toml --precision 9.8% --max-runs 60", 0),
    ("sweep", "sweep sweep.toml --part 1/2", 0),
    ("results list", "results list --router mei-rizzi --n 16:64", 0),
    ("results export", "results export --out r.csv --per-run", 0),
    ("results plot", "results plot --figure r.svg", 0),
    ("exact", "exact 2 2 --router relay --upto 5", 0),
    ("distribution", "distribution 2 2 --runs 50 --no-exact --figure d.svg", 0),
    ("distribution", "distribution 4 2 --router relay:S --runs 20 --max-steps 1", 1),
    ("sorting-network", "sorting-network bag-tree 256 --growth", 0),
    ("theory", "theory 4 4 --runs 2", 0),
    ("check", "check t.jsonl", 0),
    ("check", "check 4 4 s.csv --permutation random", 0),
    ("check", "check 4 4 s.csv --permutation reversal", 1),
    ("view", "view 4 4 s.csv --no-open", 0),
    ("check", "check lost.jsonl", 1),
    ("check", "check foreign.jsonl", 0),
    ("view", "view t.jsonl --no-open", 0),
    ("budget", "budget 300 2 --preset pon", 1),
    ("budget", "budget 16 16 --preset silicon --transmitters one --transmit 20mW", 1),
    ("route", f"route 4 4 --runs 2 {TIMES}", 0),
    ("route", "route 4 4 --router direct --slot 20ns", 0),
    ("compare", f"compare 4 4 --runs 1 {TIMES}", 0),
    ("plan", f"plan 4 4 {TIMES}", 0),
    ("schedule", f"schedule 4 4 {TIMES}", 0),
    ("sort", f"sort 2 4 {TIMES}", 0),
    ("compute", f"compute sum 2 2 {TIMES}", 0),
    ("distribution", f"distribution 2 2 --runs 50 --no-exact {TIMES}", 0),
    ("traffic", f"traffic 4 4 {TIMES}", 0),
    ("traffic", f"traffic 2 2 --scheduler tdm --load 0.2 --slots 500 {TIMES}", 0),
    ("traffic", f"traffic 2 2 --scheduler tdm --loads 0.2,0.4 --slots 500 {TIMES}", 0),
    ("traffic", f"traffic 2 2 --scheduler tdm --saturation --slots 500 {TIMES}", 0),
)


NOTHING = {"slots": 0, "delivered": 1, "lost": 0}
"""The outcome of a trace that does not say which packets are held."""


def described(schema: Any) -> Iterator[dict[str, Any]]:
    for one in schema.get("properties", {}).values():
        yield one
        yield from described(one.get("items", {}))


def test_every_command_has_a_schema_and_every_key_a_meaning() -> None:
    Draft202012Validator.check_schema(SCHEMAS)
    assert EXAMPLES.keys() <= SCHEMAS["$defs"].keys()
    for schema in SCHEMAS["$defs"].values():
        for one in described(schema):
            assert one["description"].endswith(".")


def test_keys_that_some_options_bring_are_stated(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header = {"format": "popsnet-trace", "version": 1, "d": 1, "g": 1, "destination": [0]}
    lines = {**header, "router": "mine", "variant": "", "seed": 0}, {"outcome": NOTHING}
    (tmp_path / "foreign.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    (tmp_path / "sweep.toml").write_text("runs = 20\n[[grid]]\nn = [16, 64]\nratio = 1\n")
    for command, line, code in COMMANDS:
        finished = cli(*shlex.split(line), "--json")
        assert finished.code == code, (line, finished.err)
        require_schema(command, json.loads(finished.out))


def test_a_wrong_report_is_not_accepted() -> None:
    with pytest.raises(AssertionError, match="'slots' is a required property"):
        require_schema("adversary rigid", {"network": {"d": 1, "g": 1, "n": 1}})
    with pytest.raises(AssertionError, match="'d' is a required"):
        require_schema("plan", {"network": {}})
