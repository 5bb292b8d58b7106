"""``popsnet doctor``: libraries, engines and clusters, and what is missing to use them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import popsnet
from popsnet.base.errors import InputError
from popsnet.sweeps.cluster import WorkerStatus
from tests.conftest import Cli
from tests.project.schemas import require_schema

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def test_the_workers_of_a_cluster_are_shown(cli: Cli) -> None:
    finished = cli("doctor", "--cluster", "local:1", "--json")
    assert finished.code == 0, finished.err
    printed = json.loads(finished.out)
    require_schema("doctor", printed)
    (worker,) = printed["workers"]
    python = ".".join(map(str, sys.version_info[:3]))
    assert (worker["popsnet"], worker["python"]) == (popsnet.__version__, python)
    assert (worker["threads"], worker["memory"], worker["resources"]) == (1, None, "")
    assert printed["findings"][-1]["detail"] == "1 worker with 1 thread"


def worker(
    number: int, version: str | None = popsnet.__version__, resources: str = ""
) -> WorkerStatus:
    return WorkerStatus(f"tcp://host:{number}", version, "3.13.1", 4, 8_000_000_000, resources)


@pytest.mark.parametrize(
    ("workers", "code", "words"),
    [
        ([worker(1, resources="GPU=1"), worker(2)], 0, "2 workers with 8 threads"),
        ([worker(1), worker(2, "0.0.7")], 1, "0.0.7 on tcp://host:2, and"),
        ([worker(1, None)], 1, "none on tcp://host:1"),
        ([], 1, "there are no workers. Start some with 'dask worker tcp://host:8786'."),
        (InputError("cluster = 'tcp://host:8786': no scheduler."), 1, "no scheduler."),
    ],
)
def test_what_is_wrong_with_a_cluster_is_said(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    workers: list[WorkerStatus] | InputError,
    code: int,
    words: str,
) -> None:
    def described(_: str) -> list[WorkerStatus]:
        if isinstance(workers, InputError):
            raise workers
        return workers

    monkeypatch.setattr("popsnet.sweeps.cluster.describe_workers", described)
    finished = cli("doctor", "--cluster", "tcp://host:8786")
    assert finished.code == code
    assert words in " ".join(finished.out.split())
    assert ("FAILED: needed and not working: cluster tcp://host:8786." in finished.out) == code


def test_what_is_not_an_address_is_refused(cli: Cli) -> None:
    finished = cli("doctor", "--cluster", "nonsense")
    assert (finished.code, finished.out) == (2, "")
    assert "--cluster 'nonsense': give the address" in finished.err


IMPORTS = """
import sys
from popsnet.cli.main import main
sys.argv = ["popsnet", "sweep", "sweep.toml"]
try:
    main()
except SystemExit as end:
    assert not end.code
heavy = {"distributed", "dask", "dask_jobqueue", "numba.cuda", "cuda"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""


def test_neither_dask_nor_a_gpu_is_imported_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text("runs = 300\n[[grid]]\nn = 16\nratio = 1\n")
    program = [sys.executable, "-c", IMPORTS]
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
