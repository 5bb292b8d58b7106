from __future__ import annotations

import os
from pathlib import Path

import pytest

from popsnet.base.ownership import NotPrivate, open_private_folder

pytest.importorskip("grp", reason="Windows has no owners to check")

ANOTHER = 4242
IS_ROOT = os.geteuid() == 0


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file belong to another user; only root can do it, for others this user changes."""
    if IS_ROOT:
        os.chown(path, ANOTHER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A private folder with a file in a folder of its own, in ``outer/inner``."""
    folder = tmp_path / "outer" / "inner" / "cache"
    for parent in (folder.parent.parent, folder.parent, folder, folder / "package"):
        parent.mkdir()
        parent.chmod(0o755)
    folder.chmod(0o700)
    (folder / "package" / "index").touch()
    return folder


def test_a_missing_folder_is_created_for_this_user_alone(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    mask = os.umask(0)
    try:
        folder = open_private_folder(tmp_path / "link" / "b" / "c")
    finally:
        os.umask(mask)
    assert folder == Path(os.path.realpath(tmp_path)) / "a" / "b" / "c"
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.parents[:2])} == {0o700}
    assert open_private_folder(folder) == folder


@pytest.mark.parametrize("what", [".", "..", "../..", "package", "package/index"])
def test_all_of_it_must_belong_to_this_user(
    what: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_private_folder(cache)
    give_away(cache / what, monkeypatch)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        open_private_folder(cache)


@pytest.mark.parametrize(
    ("what", "mode", "fault"),
    [
        ("..", 0o755, ""),
        ("..", 0o777, "inner can be written to by other users"),
        ("..", 0o775, "inner can be written to by other users"),
        ("../..", 0o757, "outer can be written to by other users"),
        ("../..", 0o1777, ""),
        (".", 0o755, "cache is open to other users"),
        (".", 0o1777, "cache is open to other users"),
        (".", 0o710, "cache is open to other users"),
        ("package", 0o777, ""),  # which other users cannot reach
    ],
)
def test_others_must_not_write(what: str, mode: int, fault: str, cache: Path) -> None:
    (cache / what).chmod(mode)
    if fault:
        with pytest.raises(NotPrivate, match=fault):
            open_private_folder(cache)
    else:
        assert open_private_folder(cache) == Path(os.path.realpath(cache))


def test_a_link_among_the_files_is_refused(cache: Path, tmp_path: Path) -> None:
    (cache / "package" / "link").symlink_to(tmp_path)
    with pytest.raises(NotPrivate, match="is a symbolic link"):
        open_private_folder(cache)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("file", "loop"):
        with pytest.raises(NotADirectoryError):
            open_private_folder(tmp_path / name / "cache")
