"""A sweep that gets a signal says what is done, and how to go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from popsnet.sweeps.store import Store

ENDLESS = """
import os
import time
from pathlib import Path
from popsnet import Slot, find_router, register

@register("endless-after-a-while", summary="", slots="", buffers=2)
def route(network, destination, coins, memory):
    if network.n == 16:
        direct = find_router("direct").variant("standard").route
        yield from direct(network, destination, coins, memory)
        return
    Path("begun").touch()
    while True:
        time.sleep(0.01)
        yield Slot()
"""


def shards_there() -> int:
    with Store("results.sqlite") as store:
        return len(store.rows("results"))


@pytest.mark.program
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("number", "code", "workers"),
    [(signal.SIGTERM, 143, 1), (signal.SIGINT, 130, 1), (signal.SIGINT, 130, 2)],
)
def test_a_signal_ends_a_sweep_with_what_is_done(
    number: signal.Signals, code: int, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first experiment is finished; the second never ends, and has no row."""
    monkeypatch.chdir(tmp_path)
    Path("endless.py").write_text(ENDLESS)
    Path("endless.toml").write_text(
        "runs = 20\n[[grid]]\nrouters = 'endless.py'\nshapes = [[4, 4], [2, 4]]\n"
    )
    command = [sys.executable, "-m", "popsnet", "sweep", "endless.toml", "--workers", str(workers)]
    environment = os.environ | {"COLUMNS": "100"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        while not Path("begun").exists():
            assert process.poll() is None
            time.sleep(0.02)
        wait_for_shards(process)
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == code
    assert err == (
        "Running 4 parts of 10 runs, of 2 experiments…\n"
        "Interrupted: 2 of 4 parts of 10 runs are in results.sqlite. "
        "The same command does the rest.\n"
    )
    assert "1 of 2 experiments has results so far." in out
    assert " of 20" not in out
    assert shards_there() == 2


def wait_for_shards(process: subprocess.Popen[str]) -> None:
    while shards_there() < 2:
        assert process.poll() is None
        time.sleep(0.02)
