"""How files are written: links, permissions, devices, and what killed processes leave."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TextIO

import pytest

import popsnet
from popsnet import files
from popsnet.errors import InputError, StoreError
from popsnet.files import make_folder, require_writable, write_whole
from popsnet.sweeps import Store
from tests.conftest import Cli

ANOTHER = 4242
root = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give files away"
)
unix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")

OUTPUTS = {
    "trace": ("route", 3, 2, "--trace", "link"),
    "figure": ("sorting-network", "bitonic", 4, "--figure", "link.svg"),
    "page": ("view", 3, 2, "--no-open", "--out", "link.html"),
    "schedule": ("schedule", 3, 2, "--out", "link.csv"),
    "schedule's trace": ("schedule", 3, 2, "--trace", "link"),
    "permutation": ("adversary", "two-hop", 2, 8, "--out", "link.npy"),
    "sorted values": ("sort", 3, 2, "--out", "link.csv"),
    "sweep": ("sweep", "sweep.toml", "--store", "link.sqlite"),
}


def write(path: Path, text: str = "new") -> None:
    with write_whole(path) as file:
        file.write(text)


@pytest.fixture(autouse=True)
def _forget_folders() -> None:
    """Each test looks for leftovers as a new program does."""
    files._remove_abandoned.cache_clear()


# Links


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_replaces_what_a_link_points_to(
    name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text("runs = 10\n[[grid]]\nd = [2]\ng = [2]\n")
    link, target = Path(str(OUTPUTS[name][-1])), tmp_path / "folder" / "target"
    target.parent.mkdir()
    link.symlink_to(target)
    finished = cli(*OUTPUTS[name])
    assert finished.code == 0, finished.err
    assert link.is_symlink()
    assert target.stat().st_size > 0
    assert {one.name for one in tmp_path.iterdir()} == {"sweep.toml", link.name, "folder"}


def test_links_to_links_and_files_that_exist(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "target").write_text("old")
    (tmp_path / "folder" / "second").symlink_to(Path("..", "target"))
    (tmp_path / "first").symlink_to(Path("folder", "second"))
    write(tmp_path / "first")
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "folder" / "second").is_symlink()


def test_a_link_that_leads_back_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for call in (require_writable, write):
        with pytest.raises(InputError, match=r"a is a symbolic link that leads back to itself"):
            call(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


def test_a_link_to_a_folder_is_refused_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(InputError, match="link is a folder; give the name of a file"):
        write(tmp_path / "link")
    make_folder(tmp_path / "link")  # where a folder is wanted it serves


def test_a_link_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(Path("none", "target"))
    with pytest.raises(InputError, match=r"There is no folder .*none to write in"):
        write(tmp_path / "link")
    with pytest.raises(InputError, match="link exists and is not a folder"):
        make_folder(tmp_path / "link")


@root
def test_a_link_of_another_user_in_a_shared_folder_is_not_followed(tmp_path: Path) -> None:
    """Linux refuses to open such links, so that no user is led to overwrite their own files."""
    (tmp_path / "mine").write_text("old")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "tmp" / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "first").symlink_to(tmp_path / "tmp" / "link")
    write(tmp_path / "first")
    os.chown(tmp_path / "tmp" / "link", ANOTHER, -1, follow_symlinks=False)
    for name in (tmp_path / "tmp" / "link", tmp_path / "first"):
        with pytest.raises(InputError, match="tmp/link belongs to another user"):
            write(name, "newer")
    assert (tmp_path / "mine").read_text() == "new"
    (tmp_path / "folder").mkdir()
    (tmp_path / "tmp" / "into").symlink_to(tmp_path / "folder")
    write(tmp_path / "tmp" / "into" / "file")
    os.chown(tmp_path / "tmp" / "into", ANOTHER, -1, follow_symlinks=False)
    with pytest.raises(InputError, match="tmp/into belongs to another user"):
        write(tmp_path / "tmp" / "into" / "file", "newer")
    assert (tmp_path / "folder" / "file").read_text() == "new"


# Permissions, and other names of the same file


@unix
def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    mask = os.umask(0o026)
    try:
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640  # as the umask says
        for mode in (0o600, 0o664):
            path.chmod(mode)
            with write_whole(path) as file:
                assert stat.S_IMODE(Path(file.name).stat().st_mode) == 0o600  # while it grows
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(mask)


@root
def test_a_file_keeps_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)
    os.chown(path, ANOTHER, ANOTHER + 1)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (ANOTHER, ANOTHER + 1)

    def refused(*arguments: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    write(path)
    assert path.stat().st_uid == os.geteuid()
    assert stat.S_IMODE(path.stat().st_mode) == 0o604  # nothing for a group that is another one


def test_other_hard_links_keep_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "other").hardlink_to(tmp_path / "file")
    write(tmp_path / "file")
    assert (tmp_path / "other").read_text() == "old"


def test_a_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda one, mode: one != path)  # root may always write
    with pytest.raises(InputError, match="file exists and cannot be written to; give another"):
        write(path)
    assert path.read_text() == "old"


# Devices and pipes


@unix
def test_a_device_and_a_pipe_are_written_to(tmp_path: Path) -> None:
    write(Path(os.devnull))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    read: list[str] = []
    reader = Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write(tmp_path / "link")
    reader.join()
    assert read == ["new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@unix
def test_a_pipe_without_a_reader_ends_as_standard_output_does(tmp_path: Path) -> None:
    listening, writing = os.pipe()
    os.close(listening)
    try:
        with pytest.raises(BrokenPipeError):
            write(Path(f"/dev/fd/{writing}"))
    finally:
        os.close(writing)


@unix
def test_a_full_device_is_named() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has /dev/full")
    with pytest.raises(InputError, match="/dev/full could not be written: No space left"):
        write(Path("/dev/full"))


@unix
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        with pytest.raises(InputError, match="socket exists and cannot be written to"):
            write(Path("socket"))


@unix
def test_a_store_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(os.devnull), tmp_path / "pipe"):
        for create in (True, False):
            with pytest.raises(StoreError, match="is a device or a pipe, not a store"):
                Store(path, create=create)


def test_the_file_that_standard_output_goes_to_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what is printed later would go to a file that has no name any more."""
    path = tmp_path / "file"
    path.write_text("printed")
    monkeypatch.setattr(os, "fstat", lambda number: path.stat())
    with pytest.raises(InputError, match="file is the file that standard output or standard error"):
        require_writable(path)


# What killed processes leave

WRITING = """
import sys
from pathlib import Path
from popsnet.files import write_whole

with write_whole(Path("slow")) as file:
    file.write("half")
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is in the middle of writing the file ``slow``."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(popsnet.__file__).parent.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def parts(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix == ".part"}


def test_a_process_that_is_alive_is_left_alone(
    writing: subprocess.Popen[str], tmp_path: Path
) -> None:
    write(tmp_path / "other")
    assert len(parts(tmp_path)) == 1
    writing.communicate()
    assert writing.returncode == 0
    assert (tmp_path / "slow").read_text() == "half"
    assert parts(tmp_path) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a leftover must be a week old")
def test_what_a_killed_process_leaves_is_removed(
    writing: subprocess.Popen[str], tmp_path: Path
) -> None:
    writing.kill()
    writing.wait()
    assert len(parts(tmp_path)) == 1
    write(tmp_path / "other")
    assert {path.name for path in tmp_path.iterdir()} == {"other"}


@pytest.mark.parametrize("name", [".popsnet-00000000-5eed.part", ".popsnet-ab_12xyz.part"])
def test_what_another_machine_leaves_is_removed_after_a_week(name: str, tmp_path: Path) -> None:
    """Its locks may not be seen here. The second name is one of an earlier version."""
    for age, there in ((6, True), (8, False)):
        (tmp_path / name).touch()
        past = (tmp_path / name).stat().st_mtime - age * 24 * 3600
        os.utime(tmp_path / name, (past, past))
        files._remove_abandoned.cache_clear()
        write(tmp_path / "other")
        assert (tmp_path / name).exists() == there


@unix
def test_nothing_else_is_removed(tmp_path: Path) -> None:
    mine = f".popsnet-{files._machine()}"
    (tmp_path / f"{mine}-1.part").mkdir()
    (tmp_path / f"{mine}-2.part").symlink_to("other")
    for name in (f"{mine}-3.part.csv", f"x{mine}-4.part", ".popsnet-.part", "popsnet-5.part"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    before = {path.name for path in tmp_path.iterdir()}
    write(tmp_path / "other")
    assert {path.name for path in tmp_path.iterdir()} == before | {"other"}


@root
def test_what_another_user_leaves_is_theirs(tmp_path: Path) -> None:
    left = tmp_path / f".popsnet-{files._machine()}-1.part"
    left.touch()
    os.chown(left, ANOTHER, ANOTHER)
    write(tmp_path / "other")
    assert left.exists()


@unix
def test_a_part_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    flock, removed = fcntl.flock, list[Path]()

    def slow(file: TextIO, how: int) -> None:
        if not removed:
            removed.append(Path(file.name))
            removed[0].unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    write(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "new"
    assert len(removed) == 1
