"""Distributions with an engine of their own, found by their metadata as installed ones are."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent

import pytest

from popsnet.engines import choice as policy
from popsnet.engines import plugins

TINY = """
from popsnet.engines.fused.engine import FusedEngine

class Tiny(FusedEngine):
    name = "tiny"

    def worth(self, experiment, runs):
        return True

    def seconds(self, experiment, slots):
        return slots * 1e-12

ENGINE = Tiny()
"""
"""The compiled engine under another name."""


def write_plugin(folder: Path, source: str, name: str = "tiny") -> None:
    """Write a module and the metadata of its distribution, as an installer does."""
    (folder / f"{name}_engine.py").write_text(dedent(source), encoding="utf-8")
    metadata = folder / f"{name}_engine-1.5.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}-engine\nVersion: 1.5\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        f"[{plugins.GROUP}]\n{name} = {name}_engine:ENGINE\n", encoding="utf-8"
    )


def forget_plugins() -> None:
    """Look for plug-ins again."""
    for cached in (plugins.offered, plugins.load, plugins.usable):
        cached.cache_clear()
    forget_choices()


def forget_choices() -> None:
    """Choose engines again."""
    policy._of_many.clear()


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this process, and those that it starts, find what is in a folder."""
    monkeypatch.syspath_prepend(folder)
    before = os.environ.get("PYTHONPATH")
    path = str(folder) if before is None else f"{folder}{os.pathsep}{before}"
    monkeypatch.setenv("PYTHONPATH", path)
    forget_plugins()
