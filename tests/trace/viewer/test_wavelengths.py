"""The page replays traces with several wavelengths by the rules, as the checker does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import popsnet
from popsnet.trace.viewer.page import MODULES, read_static

PROGRAM = """
import { readFileSync } from "node:fs";
const { readTrace, networkName } = await import(process.argv[2]);
const { historyOf } = await import(process.argv[3]);
const run = readTrace(readFileSync(process.argv[4], "utf8"), "run");
const sum = (of) => run.slots.reduce((total, slot) => total + of(slot), 0);
console.log(JSON.stringify({
  name: networkName(run), problems: run.problems, delivered: run.slots.at(-1).delivered,
  collisions: sum((slot) => slot.clashes.size), destroyed: sum((slot) => slot.destroyed),
  history: historyOf(run, 0).map(({ text }) => text),
}));
"""


def played(path: Path, tmp_path: Path) -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node.js here")
    folder = tmp_path / "static"
    folder.mkdir()
    for name in MODULES:
        (folder / name).write_text(read_static(name), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}')
    script = folder / "run.mjs"
    script.write_text(PROGRAM)
    command: list[str | Path] = [node, script, folder / "trace.js", folder / "words.js", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_the_page_finds_the_counts_of_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    runs = popsnet.route(8, 2, router="relay", wavelengths=2, trace=path)
    found, outcome = played(path, tmp_path), runs[0].outcome
    assert found["problems"] == []
    assert found["name"] == "POPS(8, 2) with 2 wavelengths"
    counts = outcome.delivered, outcome.collisions, outcome.destroyed
    assert (found["delivered"], found["collisions"], found["destroyed"]) == counts
    assert any("wavelength" in text for text in found["history"])


def test_the_page_tells_wrong_wavelengths(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    popsnet.schedule(popsnet.Network(4, 2, 2), "reversal", trace=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["send_wavelengths"] = [5] * len(lines[1]["sends"])
    path.write_text("\n".join(json.dumps(line) for line in lines))
    assert "does not have" in played(path, tmp_path)["problems"][0]["text"]


def test_wavelengths_and_faults_together(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    runs = popsnet.route(
        8, 2, router="relay", variant="F | P4 F", wavelengths=2, trace=path, max_steps=30,
        faults="coupler:0-1@9 loss:0.05",
    )  # fmt: skip
    found, outcome = played(path, tmp_path), runs[0].outcome
    assert found["problems"] == []
    assert (found["collisions"], found["destroyed"]) == (outcome.collisions, outcome.destroyed)
