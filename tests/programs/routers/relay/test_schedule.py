"""Schedules: text and data are the same thing, and what cannot be meant is refused with a cure."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError, Network
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay import RelaySchedule, RelayStage, parse_schedule
from popsnet.programs.routers.relay.grid import Grid
from popsnet.programs.routers.relay.marked import Mark, MarkSeveral
from popsnet.programs.routers.relay.park import Park, SweepStage
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.programs.routers.relay.team import TeamStage
from tests.conftest import Cli
from tests.each import each

SIZE = st.integers(1, 2**16)
STAGE: st.SearchStrategy[RelayStage] = st.one_of(
    st.builds(Park, st.lists(SIZE, min_size=1, max_size=5).map(tuple)),
    st.builds(SweepStage),
    st.builds(Fold),
    st.builds(Shower, st.integers(1, 16)),
    st.builds(Mark),
    st.builds(MarkSeveral, st.integers(1, 16)),
    st.builds(Grid, SIZE, SIZE),
)
FEW = st.sampled_from([Park((1,)), Park((2, 1)), SweepStage(), Fold(), TeamStage(2)])
"""Few kinds, so that repetitions are likely."""


def made_of(stage: st.SearchStrategy[RelayStage]) -> st.SearchStrategy[RelaySchedule]:
    stages = st.lists(stage, max_size=6).map(tuple)
    return st.tuples(stages, stages).filter(any).map(lambda two: RelaySchedule(*two))


def first(schedule: RelaySchedule, stages: int) -> list[RelayStage]:
    return list(islice(schedule, stages))


@given(made_of(STAGE))
def test_what_is_printed_is_read_again(schedule: RelaySchedule) -> None:
    assert parse_schedule(str(schedule)) == schedule
    assert str(parse_schedule(str(schedule))) == str(schedule)


@given(st.one_of(made_of(STAGE), made_of(FEW)), st.data())
def test_spaces_and_brackets_change_nothing(schedule: RelaySchedule, data: st.DataObject) -> None:
    text = str(schedule)
    gap = data.draw(st.sampled_from(["  ", "\t", "\n", " \n "]))
    assert parse_schedule(gap + text.replace(" ", gap).replace(",", " , ") + gap) == schedule
    bare = text.replace(" | ", "|")
    assert parse_schedule(bare) == schedule
    if " " in bare:
        with pytest.raises(InputError, match="stages must have spaces between them"):
            parse_schedule(bare.replace(" ", ""))


@given(made_of(FEW), made_of(FEW))
def test_schedules_are_equal_if_and_only_if_they_do_the_same(
    schedule: RelaySchedule, other: RelaySchedule
) -> None:
    """Sequences with at most 6 stages before periods of at most 6 differ early or nowhere."""
    same = first(schedule, 6 + 2 * 36) == first(other, 6 + 2 * 36)
    assert (schedule == other) == same
    assert (str(schedule) == str(other)) == same


@given(
    st.lists(FEW, max_size=4).map(tuple),
    st.lists(FEW, min_size=1, max_size=4).map(tuple),
    st.integers(0, 9),
    st.integers(1, 3),
)
def test_a_repetition_written_out_is_the_same_schedule(
    before: tuple[RelayStage, ...], repeated: tuple[RelayStage, ...], unrolled: int, times: int
) -> None:
    schedule = RelaySchedule(before, repeated)
    whole, part = divmod(unrolled, len(repeated))
    longer = before + repeated * whole + repeated[:part]
    spelled = RelaySchedule(longer, (repeated[part:] + repeated[:part]) * times)
    assert spelled == schedule
    assert str(spelled) == str(schedule)
    assert hash(spelled) == hash(schedule)


@each(
    ("text", "canonical"),
    [
        ("P2 P1 P1 P1", "P2 P1"),
        ("P2|P1", "P2 P1"),
        ("P2 | P1 P1", "P2 P1"),
        ("| P1", "P1"),
        ("P(2) P(1)", "P2 P1"),
        ("P( 5 , 5 )\tP4  F\nF R(3)", "P(5,5) P4 F F R3"),
        ("S() F()", "S F"),
        ("P2 P1 F | P1 F", "P2 | P1 F"),
        ("P2 P1 F P1 | F P1 F P1", "P2 | P1 F"),
        ("P1 F | P1 F", "| P1 F"),
        ("XY(04,2)", "XY(4,2)"),
        ("T(4) Q X(2)\tP1", "T4 Q X2 P1"),
        ("P1 X2 | Q X2", "P1 | X2 Q"),
        ("T2 T2 | T2", "T2"),
    ],
)
def test_each_schedule_has_one_name(text: str, canonical: str) -> None:
    assert str(parse_schedule(text)) == canonical
    assert get_router("relay").variant(text).name == canonical


@each(
    ("text", "complaint"),
    [
        ("Z2", r"'Z2' does not begin .*made of Pw or P\(w1,w2,…\), S, F, Rr, Tr, Q, Xr and XY"),
        ("P2 p1", r"'p1' does not begin with a stage"),
        ("P2, P1", r"'P2, P1' does not begin"),
        ("P(2,1", r"'P\(2,1' does not begin"),
        ("P(2,)", r"'P\(2,\)' does not begin"),
        ("P-1", r"'P-1' does not begin"),
        ("P1.5", r"'P1.5' does not begin"),
        ("census P1", r"'census P1' does not begin"),
        ("P4P3", r"'P4P3': stages must have spaces between them; give 'P4 P…'"),
        ("P2 P(2,1)R1", r"'P\(2,1\)R1': stages must have spaces between them; give 'P\(2,1\) R…'"),
        ("P2 | FF", r"'FF': stages must have spaces between them; give 'F F…'"),
        ("P４", r"'４' is not allowed in a schedule.*made of Pw or P\(w1,w2,…\)"),
        ("P(2,٣)", r"'٣' is not allowed in a schedule"),
        ("P2\u3000P1", r"is not allowed in a schedule"),
        ("P", r"'P': P takes windows, as in P2 or P\(5,5\)"),
        ("P()", r"'P\(\)': P takes windows"),
        ("P0", r"P: 0 must be from 1 to 65536"),
        ("P(3,0,2)", r"P: 0 must be from 1 to 65536"),
        ("P65537", r"P: 65537 must be from 1 to 65536"),
        ("P" + 30 * "9", r"Stage P: numbers must be from 1 to 65536"),
        ("R" + 5000 * "9", r"Stage R: numbers must be from 1 to 65536"),
        ("XY(2," + 5000 * "9" + ")", r"Stage XY: numbers must be from 1"),
        ("P2 R", r"'R': R takes one number of copies, as in R2"),
        ("R0", r"R: 0 must be from 1"),
        ("R(2,2)", r"'R\(2,2\)': R takes one number"),
        ("S2", r"'S2': S takes no number"),
        ("Q2", r"'Q2': Q takes no number"),
        ("T", r"'T': T takes one number of candidates, as in T4"),
        ("T(2,2)", r"T takes one number of candidates"),
        ("T0", r"T: 0 must be from 1 to 1024"),
        ("T1025", r"T: 1025 must be from 1 to 1024"),
        ("X", r"'X': X takes one number of places, as in X2"),
        ("X(2,2)", r"X takes one number of places"),
        ("X17", r"X: 17 must be from 1 to 16"),
        ("QQ", r"'QQ': stages must have spaces between them; give 'Q Q…'"),
        ("Q T2 P1", r"Stage Q comes before T2, but after Q a source may not know"),
        ("P1 X2 P1 T2 P1", r"Stage X2 comes before T2"),
        ("R1 S S T9", r"Stage R1 comes before T9.*Give T before Q, X and R, and repeat other"),
        ("P1 | T2 Q", r"Stage Q comes before T2"),
        ("P1 | T2 P1 X3 P1", r"Stage X3 comes before T2"),
        ("P1 Q | T2", r"Stage Q comes before T2"),
        ("F1", r"'F1': F takes no number"),
        ("XY", r"'XY': XY takes two numbers, as in XY\(4,4\)"),
        ("XY(2)", r"'XY\(2\)': XY takes two numbers"),
        ("XY(2,2,2)", r"XY takes two numbers"),
        ("XY(0,4)", r"XY: 0 must be from 1"),
        ("P2 | P1 | F", r"has 2 bars; it must have at most one"),
        ("P2 |", r"nothing follows the bar; give stages to repeat"),
        ("", r"empty; give stages, as in 'P2 P1 F R2'"),
        ("   ", r"empty; give stages"),
        (1001 * "P1 ", r"at most 1000 stages"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_cure(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_schedule(text)


@given(st.text("PSFRTQXY0123456789(),| ²٣", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except InputError:
        return
    assert parse_schedule(str(schedule)) == schedule


@each("network", [Network(3, 8), Network(1, 2)])
@each("text", ["P1", "S", "F", "R2", "T2", "Q", "X2", "XY(1,8) P1"])
def test_stages_for_large_groups_are_refused_on_small_ones(network: Network, text: str) -> None:
    with pytest.raises(InputError, match=r"does not apply.*needs d >= g; for d < g use .*XY"):
        get_router("relay").choose_variant(text, network)


@pytest.mark.parametrize(
    ("d", "g", "text", "complaint"),
    [
        (8, 8, "XY(1,1)", r"needs d < g; for d >= g use stages P, S, F, R, T, Q and X"),
        (8, 8, "P1 | XY(1,1) P1", r"XY\(1,1\) needs d < g"),
        (2, 8, "XY(1,3)", r"XY\(1,3\) needs x·y >= ⌈g/d⌉ = 4"),
        (2, 9, "XY(2,2)", r"XY\(2,2\) needs x·y >= ⌈g/d⌉ = 5"),
        (2, 8, "XY(5,1)", r"XY\(5,1\) needs x <= ⌈g/d⌉ = 4"),
    ],
)
def test_a_stage_that_does_not_fit_says_what_would(
    d: int, g: int, text: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=rf"does not apply to POPS\({d}, {g}\).*{complaint}"):
        get_router("relay").choose_variant(text, Network(d, g))


@pytest.mark.parametrize(
    ("text", "named"), [("P0", False), ("P4P3", False), ("Z", False), ("", False), ("other", True)]
)
def test_names_are_offered_only_for_what_may_be_one(cli: Cli, text: str, named: bool) -> None:
    finished = cli("route", 8, 8, "--router", "relay", "--variant", text)
    assert finished.code == 2
    names = "Or use a variant: direct, roll-call, census, survive, survive-flooded."
    assert (names in finished.err) == named


def test_the_command_line_takes_schedules(cli: Cli) -> None:
    said = [
        cli("route", 8, 8, "--router", "relay", option, text, "--seed", 3, "--json")
        for option in ("--schedule", "--variant")
        for text in ("P2 P1", "P(2) P1|P1 P1")
    ]
    assert [finished.code for finished in said] == [0] * 4
    objects = [json.loads(finished.out) for finished in said]
    for answer in objects:
        assert answer["variant"] == "P2 P1"
        answer["outcomes"][0].pop("seconds")
        answer.pop("seconds")
    assert objects[1:] == objects[:1] * 3
    told = cli("route", 8, 8, "--router", "relay", "--schedule", "P2 P1 P1").out
    assert "\n1 run of relay, engine slots\nschedule P2 P1\n" in told


@pytest.mark.parametrize("variant", ["roll-call", "census", "direct"])
def test_the_command_line_takes_variants_with_a_name(cli: Cli, variant: str) -> None:
    finished = cli("route", 4, 4, "--router", "relay", "--variant", variant, "--json")
    assert finished.code == 0
    told = json.loads(finished.out)
    (run,) = told["outcomes"]
    assert (told["variant"], run["delivered"], run["lost"]) == (variant, 16, 0)


@each(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("P0", "0 must be from 1"),
        ("Z", "does not begin with a stage"),
        ("s", "Did you mean 'S'?"),
        ("p2 P1", "Did you mean 'P2 P1'?"),
        ("Roll_Call", "Did you mean 'roll-call'?"),
        ("P1 | P1 | P1", "2 bars"),
        ("XY(1,1)", "needs d < g"),
        ("P" + 5000 * "1", "numbers must be from 1"),
    ],
)
@each("option", ["--schedule", "--variant"])
def test_the_command_line_refuses_what_is_no_schedule(
    cli: Cli, option: str, text: str, complaint: str
) -> None:
    finished = cli("route", 8, 8, "--router", "relay", option, text)
    assert finished.code == 2
    assert complaint in " ".join(finished.err.split())
    assert not finished.out


@pytest.mark.parametrize(
    ("d", "g", "variant", "complaint"),
    [
        (6, 4, "census", "d must be a multiple of g"),
        (2, 4, "census", "d must be a multiple of g"),
        (6, 4, "roll-call", "roll call needs d = g"),
        (1024, 1024, "census", "g^3 = 1,073,741,824 counters"),
    ],
)
def test_variants_say_where_they_do_not_apply(
    cli: Cli, d: int, g: int, variant: str, complaint: str
) -> None:
    finished = cli("route", d, g, "--router", "relay", "--variant", variant)
    assert finished.code == 2
    assert complaint in " ".join(finished.err.split())
