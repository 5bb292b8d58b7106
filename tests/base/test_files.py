"""How files are written: links, permissions, devices, and what killed processes leave."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from threading import Thread

import pytest

from popsnet.base.errors import InputError, StoreError
from popsnet.base.files import make_folder, write_whole
from popsnet.sweeps import Store
from tests.conftest import Cli
from tests.each import sampled

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


# Links


@pytest.mark.parametrize("name", sampled(OUTPUTS, 4))
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
    assert {entry.name for entry in tmp_path.iterdir()} == {"sweep.toml", link.name, "folder"}


def test_links_to_links_and_files_that_exist(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "target").write_text("old")
    (tmp_path / "folder" / "second").symlink_to(Path("..", "target"))
    (tmp_path / "first").symlink_to(Path("folder", "second"))
    write(tmp_path / "first")
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "folder" / "second").is_symlink()


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


def test_other_hard_links_keep_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "other").hardlink_to(tmp_path / "file")
    write(tmp_path / "file")
    assert (tmp_path / "other").read_text() == "old"


def test_a_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda file, mode: file != path)  # root may always write
    with pytest.raises(InputError, match="file exists and cannot be written to; give another"):
        write(path)
    assert path.read_text() == "old"


# Devices and sockets


@unix
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(InputError, match="socket could not be written: No such device"):
            write(Path("socket"))


@unix
def test_a_store_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(os.devnull), tmp_path / "pipe"):
        for create in (False, True):
            with pytest.raises(StoreError, match="is a device or a pipe, not a store"):
                Store(path, create=create)


# What killed processes leave


@unix
def test_a_pipe_and_a_device_are_written_directly(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with write_whole(pipe) as file:
        file.write("a line\n")
    reader.join()
    assert read == ["a line\n"]
    with write_whole(Path(os.devnull)) as file:
        file.write("a line\n")
    assert not Path(os.devnull).is_file()
    assert list(tmp_path.iterdir()) == [pipe]
