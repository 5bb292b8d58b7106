"""Reports as text, JSON, CSV and HTML, and results that have one."""

from __future__ import annotations

import json
from dataclasses import dataclass

from popsnet.base.report import Column, Fact, Report, Reported, Table

RUNS = Table("runs", "", (), [{"run": 0, "slots": 8}, {"run": 1, "slots": 9}])
STEPS = Table("steps", "Steps", (Column("step", kind="integer"),), [{"step": 1, "pending": 3}])
FACTS = (
    Fact("network", {"d": 4, "g": 2}),
    Fact("slots", 1234, "slots"),
    Fact("used", 0.5, "couplers in use", "share"),
    Fact("bound", None, "lower bound"),
    Fact("seconds", 1.25, "time", text="1.2 s"),
)
REPORT = Report("POPS(4, 2)", FACTS, (RUNS, "a note", STEPS), "OK: all is well.")


def test_text_has_everything_for_people_in_order() -> None:
    assert str(REPORT).splitlines() == [
        "POPS(4, 2)",
        "slots           1,234",
        "couplers in use 50.0%",
        "lower bound         –",
        "time            1.2 s",
        "a note",
        "Steps",
        "step",
        "   1",
        "OK: all is well.",
    ]
    assert repr(REPORT) == "<report: POPS(4, 2)>"


def test_json_has_everything_for_programs() -> None:
    found = REPORT.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert list(found) == ["network", "slots", "used", "bound", "seconds", "runs", "steps", "ok"]
    assert found["network"] == {"d": 4, "g": 2}
    assert found["runs"] == [{"run": 0, "slots": 8}, {"run": 1, "slots": 9}]
    assert found["steps"] == [{"step": 1, "pending": 3}]


def test_whether_all_checks_passed_is_always_said() -> None:
    assert Report("title", FACTS).to_dict()["ok"] is True
    assert Report("title", verdict="OK").to_dict() == {"ok": True}
    assert Report("title", ok=False).to_dict() == {"ok": False}


def test_csv_is_the_first_table_or_the_facts() -> None:
    assert REPORT.csv() == "run,slots\n0,8\n1,9\n"
    assert Report("", FACTS).csv() == (
        "network_d,network_g,slots,used,bound,seconds\n4,2,1234,0.5,,1.25\n"
    )


def test_what_a_report_is_about_is_in_every_row() -> None:
    about = {"network": {"d": 4, "g": 2}, "seed": 3}
    report = Report("", FACTS, (RUNS,), about=about)
    assert report.csv() == "d,g,seed,run,slots\n4,2,3,0,8\n4,2,3,1,9\n"
    assert report.to_dict()["seed"] == 3
    assert report.to_dict()["runs"][0] == {"run": 0, "slots": 8}
    assert Report("", FACTS, about=about).csv().startswith("d,g,seed,slots,used,bound")


def test_columns_that_belong_together_are_one_object_in_json() -> None:
    row = {"load": 0.5, "delay_mean": 3.0, "delay_max": 9}
    report = Report("", (), (Table("points", "", (), [row], nested=("delay",)),))
    assert report.to_dict()["points"] == [{"load": 0.5, "delay": {"mean": 3.0, "max": 9}}]
    assert report.csv() == "load,delay_mean,delay_max\n0.5,3.0,9\n"


def test_more_comes_at_the_end() -> None:
    more = REPORT.plus(Fact("figure", "f.svg"), "Figure written to f.svg.", RUNS)
    assert more.facts == (*FACTS, Fact("figure", "f.svg"))
    assert more.parts == (*REPORT.parts, "Figure written to f.svg.", RUNS)
    assert (more.title, more.verdict, more.ok) == (REPORT.title, REPORT.verdict, REPORT.ok)
    assert str(more).splitlines()[-2:] == ["Figure written to f.svg.", "OK: all is well."]
    assert REPORT.parts == (RUNS, "a note", STEPS)
    assert REPORT.tables == (RUNS, STEPS)


def test_lines_are_broken_at_spaces_and_paths_stay_whole() -> None:
    path = "/a/folder/" + "x" * 100
    lines = str(Report("word " * 40, parts=(f"Written to {path} just now.",))).splitlines()
    assert max(len(line) for line in lines if path not in line) <= 80
    assert any(path in line for line in lines)


def test_long_labels_fit_80_columns() -> None:
    facts = tuple(Fact(f"f{size}", 10**size, "a label of words " * 6) for size in (1, 9))
    lines = str(Report("", facts)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("1,000,000,000") for line in lines)


def test_an_empty_report_is_empty() -> None:
    assert str(Report()) == Report()._repr_html_() == ""
    assert Report().to_dict() == {"ok": True}


def test_html_escapes_everything() -> None:
    hostile = "<script>alert('&')</script>"
    facts = (Fact("a", hostile, hostile, "text"),)
    table = Table("t", hostile, (Column("a", hostile, "text"),), [{"a": hostile}], hostile)
    html = Report(hostile, facts, (hostile, table), hostile)._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 9


def test_html_keeps_the_lines_of_a_text() -> None:
    report = Report("20 runs\nof <mei-rizzi>", (), ("a\n\nb",))
    assert report._repr_html_() == "<p>20 runs<br>of &lt;mei-rizzi&gt;</p><p>a<br><br>b</p>"


def test_marks_of_a_terminal_are_plain_text() -> None:
    report = Report("[bold]", (Fact("a", 1, "[red]a"),), ("[i]note[/i]",), "[/]")
    assert str(report).splitlines() == ["[bold]", "[red]a 1", "[i]note[/i]", "[/]"]


def test_a_result_is_its_report_in_a_notebook_and_as_text() -> None:
    @dataclass(frozen=True, repr=False)
    class Result(Reported):
        slots: int

        def report(self) -> Report:
            return Report(f"{self.slots} slots", verdict="OK")

    result = Result(8)
    assert str(result) == "8 slots\nOK"
    assert repr(result) == "<Result: 8 slots>"
    assert result._repr_html_() == "<p>8 slots</p><p>OK</p>"
