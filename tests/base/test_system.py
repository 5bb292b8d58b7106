"""Memory and processors of this computer, and popsnet without what only Unix has."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

import popsnet
import popsnet.base.system
from popsnet.base.system import available_memory, threads_here

ALL_FREE = 2**40


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process in control group ``outer/inner`` of a computer with 2^40 bytes available."""
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "membership").write_text("1:memory:/elsewhere\n0::/outer/inner\n")
    monkeypatch.setattr(popsnet.base.system, "_CGROUPS", tmp_path)
    monkeypatch.setattr(popsnet.base.system, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=ALL_FREE))
    monkeypatch.setattr(popsnet.base.system, "_left_by_limit", lambda: iter(()))
    return tmp_path


def limit(group: Path, most: str, used: str) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")


def test_memory_is_what_the_system_has_available(cgroups: Path) -> None:
    assert available_memory() == ALL_FREE
    limit(cgroups / "outer", "max", "500")
    assert available_memory() == ALL_FREE


@pytest.mark.parametrize("group", [".", "outer", "outer/inner"])
def test_memory_is_within_the_limit_of_every_enclosing_group(cgroups: Path, group: str) -> None:
    limit(cgroups / "outer" / "inner", str(2**30), "0")
    limit(cgroups / group, "1000", "400")
    assert available_memory() == 600


def test_a_group_above_its_limit_leaves_no_memory(cgroups: Path) -> None:
    limit(cgroups, "1000", "1200")
    assert available_memory() == 0


@pytest.mark.parametrize("version", [1, 2])
def test_files_that_the_kernel_can_forget_are_not_in_use(cgroups: Path, version: int) -> None:
    group = limited(cgroups, version, "1000", "900")
    name = "total_inactive_file" if version == 1 else "inactive_file"
    (group / "memory.stat").write_text(f"anon 500\n{name} 300\nactive_file 100\n")
    assert available_memory() == 400


@pytest.mark.parametrize("path", ["/outer/inner", "/unknown/outside", "/"])
def test_groups_of_version_1_are_within_the_limits_of_what_is_mounted(
    cgroups: Path, path: str
) -> None:
    """In a container, the path may be that of the group outside of it."""
    (cgroups / "membership").write_text(f"5:devices:/\n4:cpu,memory:{path}\n0::/\n")
    limited(cgroups, 1, str(2**63 - 4096), "400")
    assert available_memory() == ALL_FREE
    limited(cgroups, 1, "1000", "400")
    assert available_memory() == 600


def limited(root: Path, version: int, most: str, used: str) -> Path:
    """Limit the outermost group."""
    if version == 2:
        limit(root, most, used)
        return root
    group = root / "memory"
    group.mkdir(exist_ok=True)
    (group / "memory.limit_in_bytes").write_text(f"{most}\n")
    (group / "memory.usage_in_bytes").write_text(f"{used}\n")
    return group


LIMITED = """
import resource
from popsnet.base.system import available_memory
limit = 2**32
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(available_memory() < limit - 2**23)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited as on Linux")
def test_a_limit_of_the_address_space_leaves_what_is_not_used() -> None:
    assert run_python(LIMITED).stdout == "True\n"


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(popsnet.__file__).parent.parent)
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True
    )


def test_there_are_no_control_groups_outside_linux(cgroups: Path) -> None:
    limit(cgroups, "1000", "400")
    (cgroups / "membership").unlink()
    assert available_memory() == ALL_FREE


def test_memory_here() -> None:
    assert 0 < available_memory() <= psutil.virtual_memory().total


def test_threads_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= threads_here() <= (os.cpu_count() or 1)
    few: Any = SimpleNamespace(cpu_affinity=lambda: [0, 3, 5])
    monkeypatch.setattr(psutil, "Process", lambda: few)
    assert threads_here() == 3


def test_threads_without_an_affinity_mask_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "Process", SimpleNamespace)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert threads_here() == 7


def test_the_examples_are_right() -> None:
    assert doctest.testmod(popsnet.base.system).failed == 0


LIKE_WINDOWS = """
import os, pkgutil, signal, sys
from importlib import import_module

# Libraries have versions of their own for Windows; here they load what they need first.
for library in (
    "asyncio", "jinja2", "matplotlib.pyplot", "multiprocessing.pool", "numba", "numba.typed",
    "platformdirs", "psutil", "pyarrow.parquet", "rich.console", "rich.progress", "rich.table",
    "scipy.optimize", "scipy.sparse.csgraph", "scipy.special", "scipy.stats", "subprocess",
    "typer.rich_utils", "webbrowser",
):
    try:
        import_module(library)
    except ImportError:
        pass
for name in (
    "crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd",
    "syslog", "termios", "tty",
):
    sys.modules[name] = None
for name in (
    "chown", "chroot", "ctermid", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid",
    "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getresuid",
    "getsid", "getuid", "initgroups", "killpg", "lchown", "mkfifo", "mknod", "nice", "openpty",
    "pathconf", "pipe2", "posix_fallocate", "posix_spawn", "pread", "pwrite", "register_at_fork",
    "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setgid", "setpgid",
    "setpriority", "setsid", "setuid", "statvfs", "sync", "sysconf", "tcgetpgrp", "ttyname",
    "uname", "wait", "wait3", "wait4",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "alarm", "pause"):
    if hasattr(signal, name):
        delattr(signal, name)
"""

IMPORT_ALL = """
import popsnet

for module in pkgutil.walk_packages(popsnet.__path__, "popsnet."):
    if module.name != "popsnet.__main__":
        import_module(module.name)
print(sum(name.startswith("popsnet.") for name in sys.modules))
"""

ROUTE = """
import numpy as np
from popsnet import Network
from popsnet.model.coins import Coins
from popsnet.model.machine import Machine
from popsnet.programs.router import all_routers
from popsnet.base.system import available_memory, threads_here

network = Network(3, 3)
destination = np.random.default_rng(1).permutation(9).astype(np.int32)
for router in all_routers():
    variant = router.choose_variant(None, network)
    machine = Machine(network, destination, router.buffers_on(network, variant))
    running = router.start(variant, network, destination, Coins(1), machine.memory)
    try:
        slot = next(running)
        while True:
            slot = running.send(machine.execute(slot))
    except StopIteration:
        print(router.name, machine.memory.delivered)
assert available_memory() > 0 and threads_here() >= 1
"""

COMMAND = """
from popsnet.cli.main import main

sys.argv = ["popsnet", "route", "3", "3", "--trace", "trace.jsonl", "--json"]
main()
"""


def like_windows(folder: Path, code: str) -> str:
    """What a program prints that has nothing but what Windows has too."""
    source = str(Path(popsnet.__file__).parent.parent)
    finished = subprocess.run(
        [sys.executable, "-c", LIKE_WINDOWS + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.program
def test_every_module_is_imported_without_what_only_unix_has(tmp_path: Path) -> None:
    assert int(like_windows(tmp_path, IMPORT_ALL)) > 200


@pytest.mark.program
def test_every_router_runs_without_what_only_unix_has(tmp_path: Path) -> None:
    printed = like_windows(tmp_path, ROUTE)
    names = [line.split()[0] for line in printed.splitlines()]
    assert {"mei-rizzi", "relay", "direct", "offline"} <= set(names)
    assert all(line.endswith(" 9") for line in printed.splitlines()), printed


@pytest.mark.program
def test_the_command_line_runs_without_what_only_unix_has(tmp_path: Path) -> None:
    assert '"delivered": 9' in like_windows(tmp_path, COMMAND)
    assert (tmp_path / "trace.jsonl").is_file()
