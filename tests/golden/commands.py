"""What every command prints with --json, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from popsnet.base.report import Report
from popsnet.cli import output
from popsnet.cli.main import main
from tests.golden.files import write_files
from tests.golden.golden import Cases, without
from tests.golden.outputs import Outputs

_LEFT_OUT = {
    "seconds",
    "finished",
    "version",
    "popsnet_version",
    "host",
    "platform",
    "python",
    "numpy",
    "processors",
    "memory",
    "made",
    "workers",
    "threads",
    "elapsed",
}
"""Keys whose values depend on the time, the computer or the environment."""

TIMES = "--timing sirius --fibre 30m"
TRAFFIC = "traffic 2 2 --scheduler tdm --slots 200"

COMMANDS = (
    "route 8 8 --router relay --runs 20",
    "demo --out demo.html",
    "view 4 4 --router mei-rizzi --router relay:S --out view.html --no-open",
    "view 4 2 --router direct --fault coupler:0-1 --out faulty.html --no-open",
    "route 4 4 --trace t.jsonl",
    "route 8 2 --variant published --seed 17",
    "route 4 4 --engine fused --runs 3",
    "route 6 2 --variant published --trace lost.jsonl",
    "route 4 4 --router relay:S --max-steps 1",
    f"route 4 4 --runs 2 {TIMES}",
    "route 4 4 --router direct --slot 20ns",
    "route 4 4 --router relay --fault coupler:0-1 --loss 0.001 --fault-seed 2 --max-steps 5",
    "route 8 2 --router relay --wavelengths 2 --runs 2",
    "route 4 2 --router relay --packets demand.csv --trace demand.jsonl",
    "route 4 2 --router direct --matrix matrix.csv",
    "route 4 2 --router routed.py --permutation p.npy",
    "compare 8 8 --router relay --router mei-rizzi --runs 20",
    "compare 4 4 --runs 2",
    f"compare 4 4 --runs 1 {TIMES}",
    "compare 4 2 --matrix matrix.csv",
    "plan 64 64",
    f"plan 4 4 {TIMES}",
    f"{TRAFFIC} --load 0.2 --trace f.jsonl",
    f"{TRAFFIC} --loads 0.2,0.4",
    f"{TRAFFIC} --saturation",
    f"{TRAFFIC} --load 0.2 {TIMES}",
    f"{TRAFFIC} --loads 0.2,0.4 --scheduler rotor {TIMES}",
    f"{TRAFFIC} --saturation {TIMES}",
    f"{TRAFFIC} --load 0.05 --fault coupler:0-1 --known-faults",
    f"{TRAFFIC} --load 0.1 --burst 3 --buffer 2 --pattern hotspot:1:0.2",
    "traffic 8 2 --scheduler rotor --load 0.1 --slots 200 --wavelengths 2",
    "traffic 4 2 --scheduler tdm --packets packets.csv",
    "traffic 4 2 --scheduler scheduled.py --load 0.05 --matrix rates.csv --slots 200",
    "schedule 12 8 --permutation transpose --out schedule.csv",
    "schedule 4 4 --out s.csv --trace s.jsonl",
    f"schedule 4 4 {TIMES}",
    "schedule 4 2 --packets demand.csv",
    "schedule 4 2 --matrix matrix.csv",
    "schedule 8 2 --permutation reversal --wavelengths 2",
    "check t.jsonl",
    "check lost.jsonl",
    "check f.jsonl",
    "check demand.jsonl",
    "check s.jsonl",
    "check 4 4 s.csv --permutation random",
    "check 4 4 s.csv --permutation reversal",
    "view 4 4 s.csv --out s.html --no-open",
    "view t.jsonl --out t.html --no-open",
    "sweep sweep.toml",
    "sweep sweep.toml --store parts.sqlite --part 1/3",
    "sweep sweep.toml --store precise.sqlite --precision 9.8% --max-runs 60",
    "results list",
    "results list --router mei-rizzi --n 16:64",
    "results list --store parts.sqlite --scheduler tdm",
    "results show 63",
    "results plot --figure results.svg --d 2 --router direct",
    "results export --out results.csv",
    "results export --out runs.json --per-run",
    "results export --out points.csv --traffic",
    "results merge parts.sqlite --store precise.sqlite",
    "results rescue results.sqlite rescued.sqlite",
    "results verify --shards 2",
    "faults 8 8 --router relay --router direct --numbers 0,1,4 --runs 5",
    "faults 4 4 --router relay:survive --numbers 0,2 --runs 3 --loss 0.01",
    "theory 8 8 --runs 5",
    "exact 2 2",
    "exact 2 2 --router relay --upto 5",
    "distribution 2 2 --runs 2000",
    "distribution 4 2 --router relay:S --runs 20 --max-steps 1",
    f"distribution 2 2 --runs 50 --no-exact {TIMES}",
    "distribution 4 4 --runs 100 --no-exact --keep kept.json",
    "distribution 4 4 --runs 200 --no-exact --keep kept.json",
    "adversary oblivious 8 8 --paths residue",
    "adversary congestion --largest 8 --runs 5",
    "adversary rigid 8 8 --router batcher",
    "adversary conflict-free 2 2",
    "adversary conflict-free 8 8 --runs 5",
    "adversary two-hop 8 8 --algorithm hashed",
    "adversary separation --largest 8 --runs 5",
    "sort 12 8",
    f"sort 2 4 {TIMES}",
    "compute prefix-sums 8 16",
    f"compute sum 2 2 {TIMES}",
    "sorting-network merge-exchange 16 --check",
    "sorting-network bag-tree 256 --growth",
    "budget 32 32 --preset pon",
    "budget 300 2 --preset pon",
    "budget 16 16 --preset silicon --transmitters one --transmit 20mW",
    "routers",
    "cite",
    "route 0 4",
    "traffic 4 4 --load 1.5",
    "sweep none.toml",
    "check none.jsonl",
)
"""Later commands read the files of earlier ones. A demo cannot be first, as it leaves all kernels
to the interpreter."""

print_report = output._print

LONGER = ("paper --max-n 4 --runs 10 --out paper",)


def call(line: str) -> tuple[int, str, str]:
    """Call the command line in this process; return the exit code and both outputs."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["popsnet", *shlex.split(line)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return code, out.getvalue(), err.getvalue()


def commands(folder: Path) -> Cases:
    """Return the cases of this section: what commands print, and all keys of what they print."""
    write_files(folder)
    keys = Outputs(COMMANDS)
    return {line: _printed(line, folder, keys) for line in COMMANDS} | keys.cases()


def longer_commands(folder: Path) -> Cases:
    """Return the cases of this section, which take seconds each."""
    return {line: _printed(line, folder) for line in LONGER}


def _printed(line: str, folder: Path, keys: Outputs | None = None) -> Callable[[], dict[str, Any]]:
    def keep(report: Report, form: Any) -> None:
        if keys is not None:
            keys.add(line, report)
        print_report(report, form)

    def printed() -> dict[str, Any]:
        with patch.object(output, "_print", keep):
            code, out, err = call(f"{line} --json")
        out, err = without(folder, out), without(folder, err)
        if code not in (0, 1):
            return {"code": code, "error": err}
        return {"code": code, **steady(json.loads(out))}

    return printed


def steady(value: Any) -> Any:
    """Return a value without what depends on the time, the computer or the environment."""
    if isinstance(value, dict):
        return {name: steady(part) for name, part in value.items() if name not in _LEFT_OUT}
    return [steady(part) for part in value] if isinstance(value, list) else value
