"""The corpus once, some mutations of it, and whether faults would be found at all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import popsnet
from popsnet.base.errors import TraceFormatError
from popsnet.trace import reader
from tests.each import each
from tests.fuzz.__main__ import Summary, main, minimized, signature
from tests.fuzz.kinds import CORPUS, KINDS, Input, attempt, corpus_inputs, make_input
from tests.fuzz.replay import Broken, replay
from tests.fuzz.trial import Finding, limited
from tests.fuzz.workers import Options, results, trial

MUTATED = 200
TRACE = Path(CORPUS, "trace", "direct-2x3.jsonl").read_bytes()


@pytest.fixture(autouse=True)
def _limited() -> Iterator[None]:
    with limited():
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_no_input_of_the_corpus_is_a_finding(kind: str, tmp_path: Path) -> None:
    inputs = [one for one in corpus_inputs() if one.kind == kind]
    found = {one.name: trial(one, tmp_path / "work")[1] for one in inputs}
    assert inputs
    assert not {name: text for name, text in found.items() if text}


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 200_000


@pytest.mark.parametrize("part", range(4))
def test_no_mutation_is_a_finding(part: int, tmp_path: Path) -> None:
    found = {
        number: trial(make_input(0, number), tmp_path / "work")[1]
        for number in range(part, MUTATED, 4)
    }
    assert not {number: text for number, text in found.items() if text}


def test_an_input_depends_on_nothing_but_seed_and_number() -> None:
    first = [make_input(3, number) for number in range(20)]
    assert [make_input(3, number) for number in reversed(range(20))] == first[::-1]
    assert [make_input(4, number) for number in range(20)] != first


def test_an_exception_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(popsnet, "check_trace", lambda *_: 1 // 0)
    with pytest.raises(Finding, match="ZeroDivisionError"):
        attempt(Input("trace", "a.jsonl", TRACE, 0), tmp_path / "work")


def test_a_file_beside_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = popsnet.check_trace

    def check_and_write(*arguments: Any) -> Any:
        Path("beside").touch()
        return check(*arguments)

    monkeypatch.setattr(popsnet, "check_trace", check_and_write)
    with pytest.raises(Finding, match="beside was written"):
        attempt(Input("trace", "a.jsonl", TRACE, 0), tmp_path / "work")


def test_a_changed_input_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = popsnet.check_trace

    def check_and_cut(path: Path, *others: Any) -> Any:
        found = check(path, *others)
        path.write_bytes(b"")
        return found

    monkeypatch.setattr(popsnet, "check_trace", check_and_cut)
    with pytest.raises(Finding, match=r"input\.jsonl was changed"):
        attempt(Input("trace", "a.jsonl", TRACE, 0), tmp_path / "work")


def test_a_message_must_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader.TraceReader, "_error", lambda *_: TraceFormatError("Wrong."))
    with pytest.raises(Finding, match="does not name the file"):
        attempt(Input("trace", "a.jsonl", b"[", 0), tmp_path / "work")


def test_a_wrong_count_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = popsnet.check_trace

    def check_and_add(*arguments: Any) -> Any:
        found = check(*arguments)
        found.messages += 1
        return found

    monkeypatch.setattr(popsnet, "check_trace", check_and_add)
    with pytest.raises(Finding, match="the counts differ"):
        attempt(Input("trace", "a.jsonl", TRACE, 0), tmp_path / "work")


def _changed(line: int, **values: Any) -> bytes:
    lines = [json.loads(one) for one in TRACE.splitlines()]
    lines[line].update(values)
    return b"\n".join(json.dumps(one).encode() for one in lines)


@each(
    "data",
    [
        _changed(0, destination=[0, 0, 1, 2, 3, 4]),
        _changed(1, slot=2),
        _changed(1, listens=[]),
        _changed(1, drops=[[0, 5]]),
        _changed(2, sends=[[0, [0, 0], "packet", 0]]),
        _changed(-1, outcome={"slots": 9, "delivered": 6, "lost": 0, "lost_packets": []}),
        TRACE.rpartition(b'{"outcome"')[0],
    ],
)
def test_the_second_checker_finds_violations(data: bytes) -> None:
    replay(TRACE)
    with pytest.raises(Broken):
        replay(data)


def test_a_finding_is_made_smaller() -> None:
    one = Input("trace", "a.jsonl", b"0123456789" * 30 + b"x" + b"9" * 77, 0)
    assert minimized(one, lambda other: b"x" in other.data).data == b"x"


def test_findings_of_one_cause_have_one_signature() -> None:
    place = '  File "/a/b/popsnet/trace/reader.py", line 7, in f\n'
    assert signature(f"KeyError: 17\nTraceback\n{place}    x\nKeyError: 17") == (
        "KeyError: N popsnet/trace/reader.py, line 7, in f"
    )


def test_findings_are_saved_and_counted(tmp_path: Path) -> None:
    summary = Summary(Options(0), tmp_path)
    kinds = [make_input(0, number).kind for number in range(3)]
    summary.add(0, kinds[0], "2", "")
    summary.add(1, kinds[1], "finding", "KeyError: 1")
    assert "2 inputs" in str(summary)
    assert "1 × " in str(summary)
    data, text = sorted(tmp_path.iterdir(), key=lambda path: path.suffix == ".finding")
    assert data.read_bytes() == make_input(0, 1).data
    assert text.read_text().startswith("python -m tests.fuzz --seed 0 --input 1\n")


@pytest.mark.long
def test_workers_give_the_results_of_this_process(tmp_path: Path) -> None:
    options = Options(0)
    there = sorted(results(options, range(30), jobs=2))
    here = [
        (number, options.input(number).kind, *trial(options.input(number), tmp_path / "work"))
        for number in range(30)
    ]
    assert there == here


@pytest.mark.long
def test_an_input_that_takes_too_long_is_a_finding() -> None:
    """And the worker that dies of it is replaced for the next input."""
    found = list(results(Options(0, limit=0.001), range(3), jobs=1))
    assert [number for number, *_ in found] == [0, 1, 2]
    assert any(text.startswith("no end after 0 s") for *_, text in found)


@pytest.mark.long
def test_the_program_ends_with_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--kind", "trace", "--inputs", "20", "--findings", str(tmp_path)]
    assert main([*asked, "--jobs", "1"]) == 0
    assert "20 inputs" in capsys.readouterr().out
    assert main([*asked, "--jobs", "1", "--limit", "0.0001"]) == 1


def test_one_input_is_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--kind", "trace", "--input", "5", "--findings", str(tmp_path)]
    assert main(asked) == 0
    assert "exit code" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_an_interrupt_shows_what_was_done(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "tests.fuzz", "--findings", str(tmp_path), "--jobs", "1"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        assert one.stderr is not None
        one.stderr.readline()  # the first progress
        one.send_signal(signal.SIGINT)
        out, _ = one.communicate()
    assert one.returncode == 130
    assert "findings, seed 0" in out
