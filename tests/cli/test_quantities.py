"""Quantities that no float holds, or that mean nothing, in every option that takes one."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest
from typer import Typer

from popsnet.cli import main
from tests.conftest import Cli
from tests.each import rarely

NUMBERS = ("1e400", "1e-400", "-1e400", "1e99999999", "-1e-99999999", "nan", "inf", "-inf", "0",
           "-1", "1" * 5000, "", "5")  # fmt: skip

UNITS = {
    "slot": "s", "guard": "s", "rate": "Gbps", "fibre": "km", "transmit": "dBm",
    "sensitivity": "mW", "margin": "dB", "connectors": "dB", "excess": "dB", "time_limit": "s",
    "loads": "",
}  # fmt: skip
"""The options that take a text, with a unit in which it is given."""

COMMANDS = {
    "view": ("view", 2, 2, "--no-open", "--out", "page.html"),
    "route": ("route", 2, 2, "--router", "direct"),
    "compare": ("compare", 2, 2, "--router", "direct", "--runs", 1),
    "plan": ("plan", 2, 2),
    "traffic": ("traffic", 2, 2, "--scheduler", "tdm", "--slots", 500),
    "schedule": ("schedule", 2, 2),
    "sweep": ("sweep", "sweep.toml"),
    "faults": ("faults", 2, 2, "--router", "direct", "--numbers", "0", "--runs", 1),
    "distribution": ("distribution", 2, 2, "--runs", 10, "--no-exact"),
    "sort": ("sort", 2, 2),
    "compute": ("compute", "prefix-sums", 2, 2),
    "budget": ("budget", 2, 2, "--preset", "pon"),
    "check": ("check", 2, 2, "schedule.csv", "--packets", "packets.csv"),
    "theory": ("theory", 2, 2, "--figure", "theory.svg"),
    "exact": ("exact", 2, 2, "--figure", "exact.svg"),
    "sorting_network": ("sorting-network", 4, "--figure", "network.svg"),
}
BESIDE = {"guard": ("--slot", "20ns"), "rate": ("--slot", "20ns"), "fibre": ("--slot", "20ns"),
          "burst": ("--load", "0.1"), "precision": ("--load", "0.1"), "loss": ()}  # fmt: skip


def options() -> Iterator[tuple[str, str]]:
    """Every option that takes a quantity, with its command."""
    for several in main._COMMANDS.values():
        for command in several:
            if isinstance(command, Typer):
                continue
            for name, one in signature(command, eval_str=True).parameters.items():
                kind = str(getattr(one.annotation, "__origin__", one.annotation))
                if "float" in kind or name in UNITS:
                    yield command.__name__, name


@pytest.mark.parametrize("numbers", [NUMBERS[:2], *rarely([NUMBERS[2:]])], ids=len)
def test_every_quantity_is_used_or_refused_with_what_to_give(
    numbers: tuple[str, ...], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(
        '[[grid]]\nshapes = [[2, 2]]\nrouters = ["direct"]\nruns = 10\n', encoding="utf-8"
    )
    Path("schedule.csv").write_text("slot,sender,receiver,packet\n1,0,3,0\n", encoding="utf-8")
    Path("packets.csv").write_text("source,destination,amount\n0,3,1\n", encoding="utf-8")
    wrong = []
    found = list(options())
    assert {command for command, _ in found} == set(COMMANDS)
    assert set(UNITS) <= {name for _, name in found}
    for command, name in found:
        for number in numbers:
            given = f"--{name}={number}{UNITS.get(name, '')}"
            try:
                finished = cli(*COMMANDS[command], *BESIDE.get(name, ()), given)
            except Exception as error:
                wrong.append(f"{command} {given:.40}: {type(error).__name__} {error!s:.60}")
                continue
            if finished.code not in (0, 1, 2) or (finished.code == 2) != finished.err.startswith(
                "Error: "
            ):
                wrong.append(f"{command} {given:.40}: {finished.code} {finished.err[:100]}")
            if number in ("nan", "inf", "-inf", "1e400", "-1e400", "") and finished.code != 2:
                wrong.append(f"{command} {given:.40}: {finished.code}, it is not refused")
    assert wrong == []
