from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

import popsnet
import popsnet.base.compiled
from popsnet.base.compiled import CacheWarning, choose_cache, compiled, kernel_digest, use_cache_for
from popsnet.base.ownership import NotPrivate
from popsnet.cli.main import _worded

unix = pytest.mark.skipif(os.name == "nt", reason="Windows has no owners to check")

PLAIN = "from numba import njit\ncompiled = njit(cache=True)\n"
OURS = "from popsnet.base.compiled import compiled\n"

CALLER = "from kernels.b import callee\n@compiled\ndef caller(x): return x + callee(x)\n"
CALLEE = "@compiled\ndef callee(x): return x\n"
EDITED = "@compiled\ndef callee(x): return 100 * x\n"

CALL = """
import numba
from pathlib import Path
from popsnet.base.compiled import use_cache_for

use_cache_for(Path("kernels"))
from kernels.a import caller

print(caller(10), sum(caller.stats.cache_hits.values()), numba.config.CACHE_DIR or "-")
"""

RACE = """
from pathlib import Path
from numba.core.caching import IndexDataCacheFile
from popsnet.base.compiled import use_cache_for

use_cache_for(Path("kernels"))
from kernels.b import callee, compiled

other = compiled(callee.py_func)  # stands for another process: it has the same files
files, its_files = callee._cache._cache_file, other._cache._cache_file

def save_when_the_other_is_done(*arguments):
    its_files._load_index = lambda: {}  # it had looked before we wrote ours
    other(2.5)
    IndexDataCacheFile._save_data(files, *arguments)

files._save_data = save_when_the_other_is_done
callee(2)
"""

CALL_BOTH = """
from pathlib import Path
from popsnet.base.compiled import use_cache_for

use_cache_for(Path("kernels"))
from kernels.b import callee

print(callee(2.5), callee(2))
"""

RATIO = """
@compiled(inline=True)
def ratio(a, b): return a / b
@compiled
def twice(a, b): return ratio(a, b) + ratio(a, b)
"""

SHOW_OPTIONS = """
from kernels.c import ratio, twice

print(twice(1.0, 0.0))
for function in (twice, ratio):
    print(*sorted(f"{name}={value}" for name, value in function.targetoptions.items()))
"""

HELP = """
import sys
import popsnet
from popsnet.cli.main import main

sys.argv = ["popsnet", "--help"]
try:
    main()
finally:
    print("loaded:", *sys.modules)
"""


def package(folder: Path, header: str) -> Path:
    (folder / "kernels").mkdir()
    (folder / "kernels" / "__init__.py").touch()
    (folder / "kernels" / "a.py").write_text(header + CALLER)
    (folder / "kernels" / "b.py").write_text(header + CALLEE)
    return folder / "kernels"


def python(folder: Path, code: str, **settings: str) -> list[str]:
    """What a new process prints, its cache below the folder."""
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    environment |= {
        "POPSNET_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(Path(popsnet.__file__).parent.parent),
    }
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment | settings,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


def folder_for(package: Path) -> Path:
    folder = choose_cache(package).folder
    assert folder is not None
    return folder


@pytest.mark.program
def test_numba_alone_keeps_an_old_callee(tmp_path: Path) -> None:
    """The reason for the digest; if this fails, Numba looks at callees and it may go."""
    kernels = package(tmp_path, PLAIN)
    assert python(tmp_path, CALL)[0] == "20"
    (kernels / "b.py").write_text(PLAIN + EDITED)
    assert python(tmp_path, CALL)[0] == "20"


def test_an_edit_to_a_callee_in_another_file_is_seen(tmp_path: Path) -> None:
    kernels = package(tmp_path, OURS)
    first = tmp_path / "cache" / "popsnet" / kernel_digest(kernels)
    assert python(tmp_path, CALL) == ["20", "0", "-"]
    assert {path.name.split("-")[0] for path in first.rglob("*.nbc")} == {"a.caller"}

    (kernels / "b.py").write_text(OURS + EDITED)
    assert python(tmp_path, CALL) == ["1010", "0", "-"]

    (kernels / "b.py").write_text(OURS + CALLEE)
    assert python(tmp_path, CALL) == ["20", "1", "-"]  # from the first folder
    assert not list(kernels.rglob("*.nbi"))


@pytest.mark.program
@pytest.mark.parametrize(
    ("header", "got"), [(PLAIN, ["2", "2"]), (OURS, ["2.5", "2"])], ids=["numba alone", "ours"]
)
def test_two_processes_that_save_at_once(tmp_path: Path, header: str, got: list[str]) -> None:
    """Two signatures of a function; alone, Numba saves the code of one for the other."""
    package(tmp_path, header)
    python(tmp_path, RACE)
    assert python(tmp_path, CALL_BOTH) == got


def test_functions_work_the_same_without_the_compiler(tmp_path: Path) -> None:
    package(tmp_path, OURS)
    assert python(tmp_path, CALL_BOTH, NUMBA_DISABLE_JIT="1") == ["2.5", "2"]


def test_the_options(tmp_path: Path) -> None:
    (package(tmp_path, OURS) / "c.py").write_text(OURS + RATIO)
    assert python(tmp_path, SHOW_OPTIONS) == [
        "inf",  # as NumPy divides
        *("boundscheck=False", "error_model=numpy", "forceinline=False"),
        *("inline=never", "nogil=True", "nopython=True"),
        *("boundscheck=False", "error_model=numpy", "forceinline=True"),
        *("inline=never", "nogil=True", "nopython=True"),
    ]


def test_the_digest_follows_the_kernel_sources_alone(tmp_path: Path) -> None:
    kernels = package(tmp_path, OURS)
    seen = {before := kernel_digest(kernels)}
    (kernels / "other.py").write_text("x = 1\n")
    (kernels / ".#b.py").symlink_to("nowhere")  # an editor's lock
    assert kernel_digest(kernels) == before

    (kernels / "deep").mkdir()
    (kernels / "a.py").write_text(OURS + CALLER + "# changed\n")
    seen.add(kernel_digest(kernels))
    (kernels / "deep" / "c.py").write_text(OURS)
    seen.add(kernel_digest(kernels))
    (kernels / "deep" / "c.py").rename(kernels / "c.py")
    seen.add(kernel_digest(kernels))
    (kernels / "b.py").unlink()
    seen.add(kernel_digest(kernels))
    assert len(seen) == 5


def test_the_digest_follows_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel_digest(tmp_path)
    monkeypatch.setattr(numba, "__version__", "another")
    assert kernel_digest(tmp_path) != before


def test_who_chooses_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen() -> str:
        return folder_for(tmp_path / "package").relative_to(tmp_path).parts[0]

    monkeypatch.delenv("POPSNET_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert chosen() == "home"
    if sys.platform == "linux":
        folder = tmp_path / "home" / ".cache" / "popsnet" / kernel_digest(tmp_path / "package")
        assert folder.is_dir()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert chosen() == "xdg"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert chosen() == "numba"
    monkeypatch.setenv("POPSNET_CACHE_DIR", str(tmp_path / "popsnet"))
    assert chosen() == "popsnet"


def test_without_a_home_a_private_folder_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("POPSNET_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert folder_for(tmp_path).parent.parent == tmp_path
    assert not (tmp_path / "~").exists()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; ``cache`` beside it is the one for compiled code."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("POPSNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.fixture
def triple(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Callable[[float], float]]:
    """Decorate a function, as the first of a new program would be."""

    def decorated() -> Any:
        use_cache_for(temporary)
        return compiled(_triple)

    monkeypatch.setattr(popsnet.base.compiled, "_cache", None)
    return decorated


def _triple(x: float) -> float:
    return 3 * x


class _Planted:
    """A pickle that creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_without_a_folder_to_write_to_a_temporary_one_serves(
    tmp_path: Path, temporary: Path
) -> None:
    (tmp_path / "cache").touch()
    cache = choose_cache(tmp_path)
    assert cache.folder is not None
    assert cache.folder.parent.parent == temporary
    assert cache.folder.parent.stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert not cache.is_unsafe
    assert str(cache).startswith(f"kept in {cache.folder}, because [Errno ")
    assert choose_cache(tmp_path) == cache


@unix
def test_planted_code_is_not_run(
    tmp_path: Path, triple: Callable[[], Callable[[float], float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert triple()(2) == 6
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(pickle.dumps(_Planted(tmp_path / "planted was run")))
    index.parents[2].chmod(0o777)  # another user may have written this

    with pytest.warns(CacheWarning) as told:
        function = triple()
    assert function(2) == 6
    assert not (tmp_path / "planted was run").exists()
    (warning,) = told
    assert f"{index.parents[2]} can be written to by other users (mode 777" in str(warning.message)
    assert "Compiled code is kept in" in str(warning.message)

    monkeypatch.setattr(popsnet.base.compiled, "open_private_folder", lambda path: path)
    assert triple()(2) == 6
    assert (tmp_path / "planted was run").exists()  # nothing but the check prevents it


@unix
def test_a_worker_does_not_repeat_the_warning(
    tmp_path: Path, triple: Callable[[], Callable[[float], float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    with pytest.warns(CacheWarning):
        triple()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    triple()  # a warning would fail


@unix
def test_without_any_private_folder_code_is_not_kept(
    tmp_path: Path, temporary: Path, triple: Callable[[], Callable[[float], float]]
) -> None:
    (tmp_path / "cache").mkdir()
    for folder in (tmp_path / "cache", temporary):
        folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="Compiled code is not kept, because .*; .*temporary can"):
        assert triple()(2) == 6
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert choose_cache(tmp_path).folder is None


def test_numba_keeps_no_code_elsewhere(
    triple: Callable[[], Callable[[float], float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot write to the folder, it would use ``__pycache__``."""
    from numba.core.caching import NullCache, UserProvidedCacheLocator

    monkeypatch.setattr(UserProvidedCacheLocator, "from_function", lambda *_: None)
    function: Any = triple()
    assert isinstance(function._cache, NullCache)
    assert function(2) == 6


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (NotPrivate("the folder is open to other users"), "the folder is open to other users"),
    ],
)
def test_code_that_cannot_be_kept_is_used(
    error: OSError,
    reason: str,
    triple: Callable[[], Callable[[float], float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", fail)
    popsnet.base.compiled._warn_once.cache_clear()
    function = triple()
    with pytest.warns(CacheWarning, match=f"not kept: {reason}") as found:
        assert (function(2), function(2.5)) == (6, 7.5)
    assert len(found) == 1


def test_the_command_line_says_what_a_warning_says() -> None:
    assert _worded(CacheWarning("Take care."), CacheWarning, "a.py", 1) == "Warning: Take care.\n"
    assert "a.py:1: UserWarning: other" in _worded(UserWarning("other"), UserWarning, "a.py", 1)


def test_old_folders_go_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPSNET_CACHE_DIR", str(tmp_path))
    home = tmp_path / "popsnet"
    for name in ("src", *(f"{age:016x}" for age in range(7))):
        (home / name / "kernels").mkdir(parents=True)
    for age in range(7):
        os.utime(home / f"{age:016x}", (1_000_000_000 - age,) * 2)
    newest = folder_for(tmp_path / "package")
    kept = {"src", newest.name, *(f"{age:016x}" for age in range(4))}
    assert {path.name for path in home.iterdir()} == kept

    (home / f"{9:016x}").mkdir()
    choose_cache(tmp_path / "package")  # not new: nothing to make room for
    assert {path.name for path in home.iterdir()} == kept | {f"{9:016x}"}


def test_a_folder_in_use_is_not_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPSNET_CACHE_DIR", str(tmp_path))
    used = folder_for(tmp_path / "package")
    os.utime(used, (0, 0))
    choose_cache(tmp_path / "package")
    for age in range(4):
        (used.parent / f"{age:016x}").mkdir()
        os.utime(used.parent / f"{age:016x}", (1, 1))
    package(tmp_path, OURS)
    choose_cache(tmp_path / "kernels")
    assert used.is_dir()
    assert len(list(used.parent.iterdir())) == 5


def test_the_package_and_its_help_load_no_large_library(tmp_path: Path) -> None:
    printed = python(tmp_path, HELP)
    loaded = set(printed[printed.index("loaded:") :])
    assert "popsnet.cli.main" in loaded
    assert not {"numba", "numpy", "platformdirs", "psutil"} & loaded


@pytest.mark.skipif(os.name != "posix", reason="folders have no such permissions")
def test_a_folder_that_was_pruned_is_created_closed_again(tmp_path: Path) -> None:
    program = (
        "import shutil\n"
        "import numpy as np\n"
        "import popsnet.base.compiled as compiled\n"
        "from popsnet.base.splitmix import mix\n"
        "folder = compiled._cache.folder\n"
        "shutil.rmtree(folder)\n"
        "import popsnet.model.loops\n"  # decorates functions, for which Numba looks for a place
        "print(oct(folder.stat().st_mode & 0o77))\n"
        "shutil.rmtree(folder)\n"
        "mix(np.uint64(1))\n"
        "print(oct(folder.stat().st_mode & 0o77), any(folder.rglob('*.nbi')))\n"
    )
    environment = {**os.environ, "POPSNET_CACHE_DIR": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        umask=0o022,
    )
    assert finished.stdout == "0o0\n0o0 True\n", finished.stderr
