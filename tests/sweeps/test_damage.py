"""Damaged stores: no traceback, no wrong number, no change, and what can be read is rescued."""

from __future__ import annotations

import io
import json
import random
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from popsnet import Experiment, Store, collect, rescue, verify
from popsnet.base.errors import InputError, StoreError
from popsnet.cli import main as command_line
from popsnet.paper.reproduce import carry_out
from popsnet.sweeps.rows import SHARD, TABLES
from tests.conftest import COMMAND, Finished
from tests.each import each, sampled
from tests.sweeps.edits import as_format_2, change, edit, kept, results, rows_of

SWEEP = """
runs = 30
[[grid]]
shapes = [[2, 2], [3, 2]]
[[grid]]
shapes = [[3, 4]]
routers = "direct"
"""
EXPERIMENTS = [Experiment(2, 2), Experiment(3, 2), Experiment(3, 4, router="direct")]
WANTED = [(one, 30) for one in EXPERIMENTS]
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "results-format-2.sqlite"
PAGE = 4096
MASKS = (0x01, 0x20, 0x80, 0xFF)

COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("results", "list", "--store", "{0}", "--json"),
    "show": ("results", "show", EXPERIMENTS[1].digest[:8], "--store", "{0}", "--json"),
    "plot": ("results", "plot", "--store", "{0}", "--csv"),
    "export": ("results", "export", "--out", "{1}/r.csv", "--store", "{0}", "--json"),
    "export --per-run": (
        "results",
        "export",
        "--out",
        "{1}/r.csv",
        "--per-run",
        "--store",
        "{0}",
        "--json",
    ),
    "verify": ("results", "verify", "--store", "{0}", "--shards", "0", "--json"),
    "merge": ("results", "merge", "{0}", "--store", "{1}/all", "--json"),
    "rescue": ("results", "rescue", "{0}", "{1}/new", "--json"),
    "sweep": ("sweep", "{1}/../sweep.toml", "--store", "{0}", "--json"),
}
"""{0} is the store, {1} a folder for what is written."""


def call(*arguments: str) -> Finished:
    """Call the command line in this process; a traceback is an exception here."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["popsnet", *arguments]),
        patch.object(command_line, "app", COMMAND),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        command_line.main()
    return Finished(int(ended.value.code or 0), out.getvalue(), err.getvalue())


class Folder:
    """A folder with a sound store, the store to be damaged, and what commands print of it."""

    def __init__(self, path: Path, is_old: bool = False) -> None:
        self.path, self.bad = path, path / "bad"
        (path / "sweep.toml").write_text(SWEEP)
        collect(WANTED, store=path / "sound", progress=False)
        if is_old:
            as_format_2(path / "sound")
        self.sound = (path / "sound").read_bytes()
        self.bad.write_bytes(self.sound)
        self.expected = {name: self.run(name) for name in COMMANDS}
        assert {one.code for one in self.expected.values()} == {0}

    def run(self, name: str) -> Finished:
        """Run a command on the store; what it exports is added to what it prints."""
        out = self.path / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        finished = call(*(word.format(self.bad, out) for word in COMMANDS[name]))
        written = "".join(one.read_text() for one in sorted(out.glob("*.csv")))
        if name == "rescue" and finished.code != 2:
            require_rescued(out / "new", self.path / "sound")
        shutil.rmtree(out)
        return Finished(finished.code, finished.out + written, finished.err)

    def require_harmless(self, content: bytes, name: str) -> int:
        """Run a command on a damaged store, check what it does, and return its exit code."""
        self.bad.write_bytes(content)
        finished = self.run(name)
        assert sorted(one.name for one in self.path.iterdir()) == ["bad", "sound", "sweep.toml"]
        assert self.bad.read_bytes() == content
        assert finished.code in ((0, 1, 2) if name in ("verify", "rescue") else (0, 2))
        if finished.code == 0 and name != "rescue":  # which checks its numbers above
            assert finished.out == self.expected[name].out
        if finished.code == 2:
            assert (finished.out, finished.err[:7]) == ("", "Error: ")
            cure = "Restore it" if name == "rescue" else f"popsnet results rescue {self.bad} NEW"
            assert cure in finished.err
        return finished.code

    def require_resumed(self, content: bytes) -> int:
        """Let a sweep add to a damaged store: all shards are right, or nothing was changed."""
        self.bad.write_bytes(content)
        sweep = self.path / "more.toml"
        sweep.write_text(SWEEP.replace("30", "40"))
        finished = call("sweep", str(sweep), "--store", str(self.bad), "--json")
        sweep.unlink()
        self.bad.with_name("bad.format2").unlink(missing_ok=True)
        assert sorted(one.name for one in self.path.iterdir()) == ["bad", "sound", "sweep.toml"]
        if finished.code == 0:
            assert set(kept(self.path / "sound")) < set(kept(self.bad))
            assert len(rows_of(self.bad)) == 12
        else:
            assert finished.code == 2
            assert "popsnet results rescue" in finished.err
            assert self.bad.read_bytes() == content
        return finished.code

    def changed(self, *statements: str) -> bytes:
        """Return the sound store after some statements."""
        self.bad.write_bytes(self.sound)
        with closing(sqlite3.connect(self.bad, isolation_level=None)) as database:
            for statement in statements:
                database.execute(statement)
        return self.bad.read_bytes()


def require_rescued(path: Path, sound: Path) -> None:
    """Every row of a rescued store is one of the sound store."""
    with Store(path) as rescued, Store(sound) as original:
        assert rescued.flaws() == []
        for table in TABLES:
            there = {row[:6] for row in original.rows(table)}  # a digest may be lost
            assert {row[:6] for row in rescued.rows(table)} <= there


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("damage"))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The same store as popsnet 0.6 wrote it."""
    return Folder(tmp_path_factory.mktemp("old"), is_old=True)


def flipped(content: bytes, place: int, mask: int) -> bytes:
    return content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]


def test_a_schema_that_is_not_utf_8_is_damage(folder: Folder, old: Folder) -> None:
    """SQLite puts the name into its message, and Python cannot decode it."""
    for one, table in ((folder, b"tableresults"), (old, b"tableshards")):
        place = one.sound.index(table) + 7
        for name in COMMANDS:
            assert one.require_harmless(flipped(one.sound, place, 0x80), name) == 2


def test_a_sample_of_bytes_in_the_schema(folder: Folder, old: Folder) -> None:
    places, names = random.Random(1).sample(range(PAGE), 40), list(COMMANDS)
    for i, place in enumerate(places):
        one = (folder, old)[i % 2]
        content = flipped(one.sound, place, MASKS[i // 2 % len(MASKS)])
        one.require_harmless(content, names[i % len(names)])


def test_a_sample_of_bytes_anywhere(folder: Folder, old: Folder) -> None:
    for one in (folder, old):
        places, names = random.Random(2).sample(range(PAGE, len(one.sound)), 30), list(COMMANDS)
        codes: Counter[int] = Counter()
        for i, place in enumerate(places):
            content = flipped(one.sound, place, MASKS[i % len(MASKS)])
            one.require_harmless(content, names[i % len(names)])
            codes[one.require_resumed(content)] += 1
        assert min(codes[0], codes[2]) > 4


@pytest.mark.long
@pytest.mark.parametrize("part", range(32))
def test_every_byte_of_the_schema(folder: Folder, part: int) -> None:
    for place in range(part * PAGE // 32, (part + 1) * PAGE // 32):
        for mask in MASKS:
            content = flipped(folder.sound, place, mask)
            for name in COMMANDS:
                folder.require_harmless(content, name)
            folder.require_resumed(content)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_bytes_anywhere(folder: Folder, part: int) -> None:
    draw = random.Random(part)
    for _ in range(100):
        content = flipped(folder.sound, draw.randrange(len(folder.sound)), draw.randrange(1, 256))
        for name in COMMANDS:
            folder.require_harmless(content, name)
        folder.require_resumed(content)


@pytest.mark.long
def test_cut_at_any_length_and_any_page_of_zeros(folder: Folder) -> None:
    for name in COMMANDS:
        for length in (*range(1, 600, 7), *range(600, len(folder.sound), 501)):
            folder.require_harmless(folder.sound[:length], name)
        for page in range(0, len(folder.sound), PAGE):
            zeros = folder.sound[:page] + bytes(PAGE) + folder.sound[page + PAGE :]
            folder.require_harmless(zeros, name)


NOT_OURS: dict[str, tuple[str, ...]] = {
    "a view that never ends": (
        "DROP TABLE results",
        "CREATE VIEW results AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) "
        "SELECT 'a' AS digest, n AS first FROM x",
    ),
    "a view in capitals": ("DROP TABLE results", "CREATE VIEW RESULTS AS SELECT 1, 2, 3"),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM experiments; END",
    ),
    "an index": ("CREATE INDEX i ON results (body)",),
    "a virtual table": (
        "DROP TABLE results",
        "CREATE VIRTUAL TABLE results USING rtree(digest, kind, first)",
    ),
    "a column more": ("ALTER TABLE experiments ADD COLUMN x",),
    "a table less": ("DROP TABLE experiments",),
    "an older format": ("PRAGMA user_version = 2",),
    "a newer format": ("PRAGMA user_version = 4",),
    "another program": ("PRAGMA application_id = 7",),
}  # fmt: skip


@each("kind", NOT_OURS)
def test_what_popsnet_did_not_create_is_refused(folder: Folder, kind: str) -> None:
    content = folder.changed(*NOT_OURS[kind])
    for name in ("list", "verify", "sweep"):
        assert folder.require_harmless(content, name) == 2


OLD_NOT_OURS: dict[str, tuple[str, ...]] = {
    "a view that never ends": (
        "DROP TABLE shards",
        "CREATE VIEW shards AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) "
        "SELECT 'a' AS point, n AS shard FROM x",
    ),
    "a view in capitals": ("DROP TABLE runs", "CREATE VIEW RUNS AS SELECT 1, 2, 3"),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON shards BEGIN DELETE FROM points; END",
    ),
    "an index": ("CREATE INDEX i ON shards (slots)",),
    "a virtual table": (
        "DROP TABLE provenance",
        "CREATE VIRTUAL TABLE provenance USING rtree(point, shard, engine)",
    ),
    "a column more": ("ALTER TABLE points ADD COLUMN x",),
    "a table less": ("DROP TABLE points",),
    "a newer format": ("PRAGMA user_version = 3",),
    "another program": ("PRAGMA application_id = 7",),
}  # fmt: skip


@each("kind", OLD_NOT_OURS)
def test_what_popsnet_0_6_did_not_create_is_refused(old: Folder, kind: str) -> None:
    content = old.changed(*OLD_NOT_OURS[kind])
    for name in ("list", "verify", "sweep"):
        assert old.require_harmless(content, name) == 2


WRONG: dict[str, str] = {
    "counts": "UPDATE results SET body = (SELECT body FROM results ORDER BY 1 LIMIT 1)",
    "swapped rows": "UPDATE results SET first = CASE first WHEN 10 THEN -20 WHEN 20 THEN -10 END "
    "WHERE first > 0",
    "a time": "UPDATE results SET provenance = replace(provenance, 'seconds\": ', 'seconds\": 1')",
    "a description": "UPDATE experiments SET identity = replace(identity, '1000', '7')",
    "a name": "UPDATE experiments SET digest = 'x' || digest",
    "no experiment": "DELETE FROM experiments",
    "another digest": "UPDATE results SET hash = 'x'",
    "another kind": "UPDATE results SET kind = 'window' WHERE first = 10",
    "other runs": "UPDATE results SET runs = 11",
}


@each("kind", WRONG)
def test_what_was_edited_is_found_and_not_shown(folder: Folder, kind: str) -> None:
    statements = [WRONG[kind]]
    if kind == "swapped rows":
        statements.append("UPDATE results SET first = -first WHERE first < 0")
    content = folder.changed(*statements)
    codes = {name: folder.require_harmless(content, name) for name in COMMANDS}
    assert codes["verify"] == 1
    assert {codes[name] for name in ("list", "show", "plot", "export", "merge", "sweep")} == {2}
    assert codes["rescue"] in (1, 2)


OLD_WRONG: dict[str, str] = {
    "a histogram": "UPDATE shards SET slots = '{\"1\": 10}' WHERE shard = 1",
    "a total": "UPDATE shards SET messages = messages + 1 WHERE shard = 1",
    "swapped rows": "UPDATE shards SET shard = CASE shard WHEN 1 THEN -2 WHEN 2 THEN -1 END "
    "WHERE shard > 0",
    "single runs": "UPDATE runs SET counts = (SELECT counts FROM runs ORDER BY 1 LIMIT 1)",
    "a time": "UPDATE provenance SET seconds = seconds + 1 WHERE shard = 1",
    "a description": "UPDATE points SET max_steps = 7",
    "a name": "UPDATE points SET point = 'x' || point",
    "no experiment": "DELETE FROM points",
    "no shard": "DELETE FROM shards WHERE shard = 1",
    "no provenance": "DELETE FROM provenance WHERE shard = 1",
    "no single runs": "DELETE FROM runs WHERE shard = 1",
    "another digest": "UPDATE digests SET digest = 'x'",
}


@each("kind", OLD_WRONG)
def test_what_was_edited_in_an_old_store_is_found_and_not_shown(old: Folder, kind: str) -> None:
    statements = [OLD_WRONG[kind]]
    if kind == "swapped rows":
        statements.append("UPDATE shards SET shard = -shard WHERE shard < 0")
    content = old.changed(*statements)
    codes = {name: old.require_harmless(content, name) for name in COMMANDS}
    assert codes["verify"] == 1
    assert {codes[name] for name in ("list", "show", "plot", "export", "merge", "sweep")} == {2}
    assert codes["rescue"] in (1, 2)


def test_edits_that_contradict_single_runs_are_found_without_digests(old: Folder) -> None:
    edit = "UPDATE shards SET collisions = collisions + 1 WHERE shard = 0"
    for without in ("DELETE FROM digests", "DROP TABLE digests"):
        content = old.changed(without, edit)
        codes = {name: old.require_harmless(content, name) for name in COMMANDS}
        assert codes["verify"] == 1
        assert {codes[name] for name in ("list", "show", "plot", "export", "merge", "sweep")} == {2}


def test_a_store_without_digests_says_so(folder: Folder) -> None:
    content = folder.changed("UPDATE results SET hash = '' WHERE first = 0")
    folder.bad.write_bytes(content)
    found = json.loads(folder.run("verify").out)
    assert (found["ok"], found["shards"], found["with_digest"]) == (True, 9, 6)
    shown = call("results", "verify", "--store", str(folder.bad), "--shards", "0").out
    assert "6 of 9 shards have a digest" in shown


CELLS = {
    "text for counts": "UPDATE results SET body = 'x'",
    "text for a number": "UPDATE results SET first = 'x' WHERE first = 10",
    "a fraction": "UPDATE results SET runs = 10.5",
    "large counts": "UPDATE results SET body = x'81a47374657073cfffffffffffffffff'",
    "nothing": "UPDATE results SET body = x''",
    "many brackets": f"UPDATE results SET body = x'{'91' * 100_000}'",
    "bytes for provenance": "UPDATE results SET provenance = x'00'",
    "brackets for provenance": f"UPDATE results SET provenance = '{'[' * 100_000}'",
    "text that is not UTF-8": "UPDATE results SET provenance = CAST(x'ff' AS TEXT)",
    "a kind": "UPDATE results SET kind = x'00'",
    "a name": "UPDATE results SET digest = CAST(digest AS BLOB) WHERE first = 10",
    "a description": "UPDATE experiments SET identity = x'00'",
    "brackets for a description": f"UPDATE experiments SET identity = '{'[' * 100_000}'",
    "a number for a description": "UPDATE experiments SET identity = '7'",
}


@each("kind", CELLS)
def test_values_that_cannot_be_are_no_traceback_without_digests(folder: Folder, kind: str) -> None:
    content = folder.changed("UPDATE results SET hash = ''", CELLS[kind])
    codes = {name: folder.run(name).code for name in COMMANDS if name != "rescue"}
    assert codes["verify"] in (1, 2)
    assert set(codes.values()) <= {0, 1, 2}
    partly = kind in ("text for a number", "a name")  # of some shards
    with nullcontext() if partly else pytest.raises(StoreError, match="no shard that can be read"):
        rescue(folder.bad, folder.path / "new", progress=False)
    (folder.path / "new").unlink(missing_ok=True)
    assert folder.bad.read_bytes() == content


OLD_CELLS = {
    "text for a count": "UPDATE shards SET messages = 'x'",
    "text for a number": "UPDATE shards SET shard = 'x' WHERE shard = 1",
    "a negative count": "UPDATE shards SET messages = -5",
    "a large total": "UPDATE shards SET messages = 9223372036854775807",
    "a fraction": "UPDATE shards SET runs = 10.5",
    "NaN": "UPDATE shards SET slots = '{\"3\": NaN}'",
    "a NaN of slots": "UPDATE shards SET slots = '{\"NaN\": 10}'",
    "a large number of slots": f"UPDATE shards SET slots = '{{\"1{'0' * 400}\": 10}}'",
    "brackets": f"UPDATE shards SET slots = '{'[' * 100_000}'",
    "bytes": "UPDATE shards SET slots = x'ff00'",
    "text that is not UTF-8": "UPDATE shards SET slots = CAST(x'ff' AS TEXT)",
    "large single runs": "UPDATE runs SET counts = x'99cfffffffffffffffff0000000000000000'",
    "no single runs": "UPDATE runs SET counts = x''",
    "many brackets": f"UPDATE runs SET counts = x'{'91' * 100_000}'",
    "a time": "UPDATE provenance SET seconds = 'x'",
    "a machine": "UPDATE provenance SET machine = x'00'",
    "a version": "UPDATE provenance SET popsnet = x'00'",
    "a size": "UPDATE points SET d = 'x'",
    "a large size": "UPDATE points SET d = 4611686018427387904",
    "a router": "UPDATE points SET router = x'00'",
    "a seed": "UPDATE points SET seed = 1e300",
}


@each("kind", OLD_CELLS)
def test_values_that_cannot_be_are_no_traceback_in_old_stores(old: Folder, kind: str) -> None:
    content = old.changed("DROP TABLE digests", OLD_CELLS[kind])
    codes = {name: old.run(name).code for name in COMMANDS if name != "rescue"}
    assert codes["verify"] in (1, 2)
    assert set(codes.values()) <= {0, 1, 2}
    partly = kind == "text for a number"  # of some shards
    with nullcontext() if partly else pytest.raises(StoreError, match="no shard that can be read"):
        rescue(old.bad, old.path / "new", progress=False)
    (old.path / "new").unlink(missing_ok=True)
    assert old.bad.read_bytes() == content


def test_a_row_too_long_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.sweeps.database._LONGEST_ROW", 10_000)
    content = folder.changed("UPDATE results SET hash = '', body = zeroblob(20000)")
    assert folder.require_harmless(content, "list") == 2


@pytest.mark.parametrize("kind", ["text", "empty", "short"])
def test_what_is_no_database_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "r"
    path.write_bytes(
        {"text": b"d,g\n", "empty": b"", "short": b"SQLite format 3\0" + b"\0" * 30}[kind]
    )
    with pytest.raises(StoreError, match=r"not a store|is empty|is damaged"):
        Store(path)
    with pytest.raises(StoreError, match="has no shard that can be read"):
        rescue(path, tmp_path / "new", progress=False)
    assert [one.name for one in tmp_path.iterdir()] == ["r"]


def test_a_sweep_finds_damage_before_it_runs_anything(folder: Folder) -> None:
    """A shard is missing, and another one was changed."""
    point = EXPERIMENTS[2].digest
    content = folder.changed(
        f"DELETE FROM results WHERE digest = '{point}' AND first = 20",
        f"UPDATE results SET runs = 11 WHERE digest = '{point}' AND first = 0",
    )
    assert folder.require_harmless(content, "sweep") == 2


def test_the_paper_refuses_a_damaged_store_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    carry_out(WANTED, tmp_path, progress=False)
    results, origin = carry_out(WANTED, tmp_path, progress=False)
    content = path.read_bytes()
    draw = random.Random(3)
    codes: Counter[str] = Counter()
    for _ in range(60):
        damaged = flipped(content, draw.randrange(len(content)), draw.randrange(1, 256))
        path.write_bytes(damaged)
        try:
            assert carry_out(WANTED, tmp_path, progress=False) == (results, origin)
            codes["right"] += 1
        except StoreError as error:
            codes[str(error).partition(". ")[2][:30]] += 1
        assert path.read_bytes() == damaged
    assert codes["right"] > 5
    assert codes["popsnet results rescue " + str(path)[:7]] > 5


@pytest.mark.parametrize("page", ["first", "experiments", "results"])
def test_a_store_with_a_destroyed_page_is_rescued_and_continued(
    folder: Folder, tmp_path: Path, page: str
) -> None:
    with closing(sqlite3.connect(folder.path / "sound")) as database:
        query = "SELECT name, rootpage FROM sqlite_master"
        roots = {"first": 1, **dict(database.execute(query).fetchall())}
    begin = (roots[page] - 1) * PAGE
    folder.bad.write_bytes(folder.sound[:begin] + b"\x55" * PAGE + folder.sound[begin + PAGE :])
    new = tmp_path / "new"
    message = {
        "first": "SQLite does not open it .* Restore it from a back",
        "experiments": r"no shard that can be read \(9 lost: the description",
        "results": "no shard that can be read. Restore it from a backup",
    }
    with pytest.raises(StoreError, match=message[page]):
        rescue(folder.bad, new, progress=False)
    if page == "experiments":  # what the sweep describes need not be read
        sweep = folder.path / "sweep.toml"
        finished = call("results", "rescue", str(folder.bad), str(new), "--sweep", str(sweep))
        assert (finished.code, "9 shards copied" in finished.out) == (0, True)
        first = min(one.digest for one in EXPERIMENTS)
        folder.bad.write_bytes(folder.changed(f"DELETE FROM experiments WHERE digest > '{first}'"))
        finished = call("results", "rescue", str(folder.bad), str(tmp_path / "third"))
        assert finished.code == 1
        assert "6 shards lost: the description of the experiment cannot be read. The sweep" in (
            finished.out
        )
    collect(WANTED, store=new, progress=False)
    assert results(new) == results(folder.path / "sound")
    with Store(new) as rescued:
        assert verify(rescued, progress=False).flaws == ()


@pytest.mark.parametrize("page", ["first", "points", "shards", "runs", "provenance", "digests"])
def test_an_old_store_with_a_destroyed_page_is_rescued_and_continued(
    old: Folder, tmp_path: Path, page: str
) -> None:
    with closing(sqlite3.connect(old.path / "sound")) as database:
        query = "SELECT name, rootpage FROM sqlite_master"
        roots = {"first": 1, **dict(database.execute(query).fetchall())}
    begin = (roots[page] - 1) * PAGE
    old.bad.write_bytes(old.sound[:begin] + b"\x55" * PAGE + old.sound[begin + PAGE :])
    new = tmp_path / "new"
    if page in ("points", "shards", "runs", "provenance"):
        with pytest.raises(StoreError, match=r"no shard that can be read \(9 lost: "):
            rescue(old.bad, new, progress=False)
    if page == "first":
        with pytest.raises(StoreError, match=r"SQLite does not open it .* Restore it from a back"):
            rescue(old.bad, new, progress=False)
    if page == "points":  # what the sweep describes need not be read
        sweep = old.path / "sweep.toml"
        finished = call("results", "rescue", str(old.bad), str(new), "--sweep", str(sweep))
        assert (finished.code, "9 shards copied" in finished.out) == (0, True)
        first = [f"DELETE FROM points WHERE point > '{min(one.digest for one in EXPERIMENTS)}'"]
        old.bad.write_bytes(old.changed(*first))
        finished = call("results", "rescue", str(old.bad), str(tmp_path / "third"))
        assert finished.code == 1
        assert "6 shards lost: the description of the experiment cannot be read. The sweep" in (
            finished.out
        )
    if page == "digests":
        found = rescue(old.bad, new, progress=False)
        assert (found.copied, found.lost, found.without_digest) == (9, (), 9)
        assert (found.unread, found.ok) == (("digests",), False)
    collect(WANTED, store=new, progress=False)
    assert results(new) == results(old.path / "sound")
    with Store(new) as rescued:
        assert verify(rescued, progress=False).flaws == ()


def test_what_is_lost_is_said(folder: Folder, tmp_path: Path) -> None:
    place = folder.sound.index(b"collisions", 2 * PAGE) + 10
    folder.bad.write_bytes(flipped(folder.sound, place, 0x01))
    new = tmp_path / "new"
    finished = call("results", "rescue", str(folder.bad), str(new))
    assert finished.code == 1
    assert "1 shard lost: it does not match its digest." in finished.out
    assert "INCOMPLETE: 8 shards copied" in finished.out
    again = call("results", "rescue", str(folder.bad), str(new))
    assert (again.code, "exists and is not overwritten" in again.err) == (2, True)
    found = rescue(folder.bad, tmp_path / "other", progress=False)
    ((point, shard, _),) = found.lost
    with Store(new) as rescued:
        experiment = next(one for one in EXPERIMENTS if one.digest == point)
        assert rescued.missing(experiment, 30) == [shard]
    calls: list[tuple[int, int]] = []
    rescue(folder.bad, tmp_path / "third", progress=lambda *shards: calls.append(shards))
    assert calls[-1] == (9, 9)


def test_a_store_that_was_cut_short_says_so(folder: Folder, old: Folder, tmp_path: Path) -> None:
    old.bad.write_bytes(old.sound[: -2 * PAGE])  # the pages of digests and of traffic
    found = rescue(old.bad, tmp_path / "new", progress=False)
    assert (found.copied, found.without_digest, found.ok) == (9, 9, False)
    assert found.unread == ("digests", "traffic")
    assert "Tables not read to the end: digests, traffic. More" in str(found)
    folder.bad.write_bytes(folder.sound[:-PAGE])
    with pytest.raises(StoreError, match="no shard that can be read"):
        rescue(folder.bad, tmp_path / "other", progress=False)


def test_old_stores_are_rescued(tmp_path: Path) -> None:
    found = rescue(OLD_STORE, tmp_path / "new", progress=False)
    assert found.ok
    assert found.copied == found.without_digest
    with Store(OLD_STORE) as old, Store(tmp_path / "new") as new:
        for table in TABLES:
            assert new.rows(table) == old.rows(table)


@each("table", sampled(["results", "digests", "shards", "runs", "provenance"], 2))
def test_rows_before_and_after_a_damaged_page_are_read(tmp_path: Path, table: str) -> None:
    """Of a table of many pages: one of its leaves is lost, and no other shard."""
    path, new = tmp_path / table, tmp_path / f"new {table}"
    with Store(path, create=True) as store:
        store.put(SHARD.execute(EXPERIMENTS[0], range(400)))
    if table != "results":
        as_format_2(path)
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = database.execute(query, (table,)).fetchall()
    content = path.read_bytes()
    page = content[(root - 1) * PAGE : root * PAGE]
    cell = int.from_bytes(page[12 + 2 * (int.from_bytes(page[3:5]) // 2) :][:2])
    leaf = int.from_bytes(page[cell : cell + 4])  # of a child in the middle
    path.write_bytes(content[: (leaf - 1) * PAGE] + bytes(PAGE) + content[leaf * PAGE :])
    found = rescue(path, new, progress=False)
    assert found.unread == (table,)
    if table == "digests":
        assert (found.copied, found.lost) == (400, ())
        assert 0 < found.without_digest < 200
    else:
        assert 200 < found.copied < 400
        assert found.copied + len(found.lost) == (found.copied if table == "results" else 400)
    with Store(new) as rescued:
        missing = set(rescued.missing(EXPERIMENTS[0], 4000))
        assert len(missing) == 400 - found.copied
        assert table == "results" or missing == {shard for _, shard, _ in found.lost}
        assert rescued.flaws() == []


def test_a_number_of_a_shard_that_is_too_large_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    collect([Experiment(4, 4)], 20, path, progress=False)
    as_format_2(path)
    for table in ("shards", "runs", "provenance", "digests"):
        change(path, f"UPDATE {table} SET shard = {2**63 - 1} WHERE shard = 1")
    with Store(path) as store, pytest.raises(StoreError, match="does not match its row"):
        store.report()
    found = rescue(path, tmp_path / "new.sqlite", progress=False)
    assert (found.copied, len(found.lost)) == (1, 1)


def test_a_log_is_read(tmp_path: Path) -> None:
    """As a sweep that was killed leaves it, with what was committed last."""
    path, copy = tmp_path / "r", tmp_path / "copy"
    with Store(path, create=True) as store:
        store.put(SHARD.execute(EXPERIMENTS[0], range(2)))
        store.put(SHARD.execute(EXPERIMENTS[1], range(30)))
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    shutil.copy(copy, tmp_path / "alone")
    with pytest.raises(StoreError, match="has no shard"):
        rescue(tmp_path / "alone", tmp_path / "new", progress=False)
    before = [Path(f"{copy}{end}").read_bytes() for end in ("", "-wal")]
    found = rescue(copy, tmp_path / "new", progress=False)
    assert (found.copied, found.lost) == (32, ())
    assert [Path(f"{copy}{end}").read_bytes() for end in ("", "-wal")] == before


def test_a_store_that_is_read_is_not_written(folder: Folder) -> None:
    with Store(folder.path / "sound") as store:
        with pytest.raises(StoreError, match="open it with create=True"):
            collect(WANTED, store=store)
        with pytest.raises(StoreError, match="open it with create=True"):
            store.put(SHARD.execute(EXPERIMENTS[0], range(4)))
    assert (folder.path / "sound").read_bytes() == folder.sound


def test_the_new_store_must_be_new(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        rescue(tmp_path / "none", tmp_path / "new")
    with pytest.raises(InputError, match="is not overwritten"):
        rescue(folder.path / "sound", folder.bad)
    with pytest.raises(InputError, match="There is no folder"):
        rescue(folder.path / "sound", tmp_path / "none" / "new")


def test_digests_go_with_their_provenance(tmp_path: Path) -> None:
    """The same shard of another machine is the same result, and keeps the digest it has."""
    here = SHARD.execute(EXPERIMENTS[0], range(3))
    there = replace(
        SHARD.execute(EXPERIMENTS[0], range(5)),
        provenance=replace(here.provenance, machine="another"),
    )
    for old in (False, True):
        paths = [tmp_path / f"{name}{old}" for name in ("put", "merged", "other")]
        for path, shards in zip(paths, (here, here, there), strict=True):
            with Store(path, create=True) as store:
                store.put(shards)
        if old:
            for path in paths[:2]:
                edit(path, lambda row: row._replace(hash=""))
        with Store(paths[0], create=True) as store:
            store.put(there)
        with Store(paths[1], create=True) as store, Store(paths[2]) as other:
            store.merge(other)
        for path in paths[:2]:
            with Store(path) as store:
                assert store.flaws() == []
                assert store.count("shard") == (5, 2 if old else 5)
