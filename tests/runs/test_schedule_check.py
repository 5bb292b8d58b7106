"""Schedules in tables: judged, explained and played; the machine agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popsnet
from popsnet import Coins, Faults, InputError, Machine, Network, RuleViolation, Slot
from popsnet.model.faults import ActiveFaults
from tests.each import each, examples

HEADING = "slot,sender,receiver,packet\n"

Rows = list[list[int]]


def by_machine(network: Network, rows: Rows, faults: Faults) -> int | set[tuple[int, int]]:
    """Return the first slot that the machine refuses, or who holds which packet at the end."""
    active = ActiveFaults(network, faults, Coins(0).for_run(0)) if faults else None
    n, d = network.n, network.d
    machine = Machine(network, np.arange(n)[::-1].copy(), len(rows) + n, faults=active)
    for slot in range(1, max((row[0] for row in rows), default=0) + 1):
        now = [row for row in rows if row[0] == slot]
        sends: dict[tuple[int, int, int], set[int]] = {}
        for _, sender, receiver, packet, wavelength in now:
            sends.setdefault((sender, packet, wavelength), set()).add(receiver // d)
        listens = sorted({(row[2], row[1] // d, row[4]) for row in now})
        senders, packets, tuned = np.array([*sends], int).reshape(-1, 3).T
        listeners, listened, heard = np.array(listens, int).reshape(-1, 3).T
        many = network.wavelengths > 1
        try:
            machine.execute(
                Slot.send_packets(
                    senders, np.array([b for to in sends.values() for b in sorted(to)], int),
                    (listeners, listened), packets=packets, conflict_free=True,
                    fanout=np.array([len(to) for to in sends.values()], int),
                    send_wavelengths=tuned if many else None,
                    listen_wavelengths=heard if many else None,
                )
            )  # fmt: skip
            machine.memory.drop(senders, packets)
            held = contents(machine)
            keeps = sorted({(row[2], row[3]) for row in now} - held)  # one copy is enough
            machine.memory.store(*np.array(keeps, int).reshape(-1, 2).T)
        except RuleViolation as broken:
            return broken.slot
    return contents(machine)


def contents(machine: Machine) -> set[tuple[int, int]]:
    """Return who holds which packet."""
    return set(zip(*(column.tolist() for column in machine.memory.content()), strict=True))


def by_check(check: popsnet.runs.schedule_check.ScheduleCheck) -> int | set[tuple[int, int]]:
    broken = [one.slot for one in check.result.violations if one.slot is not None]
    if broken:
        assert broken == sorted(broken)
        return broken[0]
    return {(who, row["packet"]) for row in check.positions for who in row["processors"]}


@examples(200)
@given(
    st.sampled_from([(2, 2, 1), (3, 2, 2), (2, 4, 1), (1, 5, 1), (6, 3, 1), (5, 1, 2)]),
    st.sampled_from(["", "coupler:0-0", "transmitter:1@2", "receiver:0 processor:2@2"]),
    st.data(),
)
def test_the_machine_judges_the_same(
    shape: tuple[int, int, int], dead: str, data: st.DataObject
) -> None:
    """Schedules as they are made, with a few cells, rows and slots changed at random."""
    network, faults = Network(*shape), Faults.parse(dead if shape[0] * shape[1] > 2 else "")
    made = popsnet.schedule(network, "reversal", hops=data.draw(st.sampled_from([1, 2, "auto"])))
    rows = [
        [row["slot"], row["sender"], row["receiver"], row["packet"], row.get("wavelength", 0)]
        for row in made.to_records()
    ]
    most = [made.slots + 1, network.n - 1, network.n - 1, network.n - 1, network.wavelengths - 1]
    for what in data.draw(st.lists(st.sampled_from(["cell", "row", "copy", "swap"]), max_size=3)):
        one, other = (rows[data.draw(st.integers(0, len(rows) - 1))] for _ in range(2))
        if what == "cell":
            column = data.draw(st.integers(0, 4))
            one[column] = data.draw(st.integers(int(column == 0), most[column]))
        elif what == "swap":
            one[0], other[0] = other[0], one[0]
        elif what == "copy":
            rows.append([*one[:2], other[2], one[3], one[4]])
        elif len(rows) > 1:
            rows.remove(one)
    table: Any = popsnet.base.report.data_frame(
        [dict(zip((*HEADING.strip().split(","), "wavelength"), row, strict=True)) for row in rows]
    )
    check = popsnet.check_schedule(network, table, "reversal", faults=faults)
    assert by_check(check) == by_machine(network, rows, faults)
    ends = {row["packet"]: network.n - 1 - row["packet"] for row in check.positions}
    missing = [
        row["packet"] for row in check.positions if ends[row["packet"]] not in row["processors"]
    ]
    assert check.result.undelivered == missing
    assert check.ok or check.result.violations
    assert bool(faults) or check.ok == (not missing and not isinstance(by_check(check), int))


@each(
    ("shape", "ways"),
    [
        ((4, 4, 1), {"permutation": "reversal"}),
        ((4, 4, 1), {"permutation": "identity"}),
        ((12, 8, 1), {"permutation": "transpose"}),
        ((8, 3, 2), {"permutation": "random"}),
        ((8, 3, 1), {"permutation_seed": 7}),
        ((4, 4, 2), {"packets": [[0, 1], [0, 2], [0, 3], [1, 2], [1, 1]]}),
        ((4, 2, 1), {"matrix": [[2, 3], [1, 0]]}),
        ((1, 3, 1), {"matrix": [[2, 3, 1], [1, 0, 0], [0, 1, 5]]}),
        ((2, 2, 1), {"matrix": np.arange(16).reshape(4, 4)}),
        ((4, 2, 1), {"matrix": [[2, 30], [10, 0]], "unit": 4}),
        ((12, 8, 1), {"permutation": "reversal", "faults": "coupler:0-7 coupler:7-0 processor:3"}),
        ((6, 3, 1), {"permutation": "reversal", "faults": "random:couplers=4", "fault_seed": 3}),
    ],
)
def test_what_is_scheduled_passes(
    tmp_path: Path, shape: tuple[int, ...], ways: dict[str, Any]
) -> None:
    """With what it was made for and without; its trace passes the check of traces, too."""
    network = Network(*shape)
    made = popsnet.schedule(network, **ways)
    made.write_csv(tmp_path / "t.csv")
    faults = {name: value for name, value in ways.items() if name in ("faults", "fault_seed")}
    for goal in (ways, faults):
        check = popsnet.check_schedule(network, tmp_path / "t.csv", **goal)
        assert check.ok, check
        assert check.result.slots == made.slots
        (tmp_path / "t.jsonl").write_text(check.trace)
        assert popsnet.check_trace(tmp_path / "t.jsonl").ok
    assert check.goal == "columns"
    assert popsnet.view(check, check).title == f"{network}: schedule, t.csv, 1 of 2, " + (
        "schedule, t.csv, 2 of 2"
    )


BROKEN = {
    "1,0,2,0\n1,1,3,1": "Processors 0 and 1 send on the coupler from group 0 to group 1: both "
    "messages are destroyed. Send one of them in another slot, or through another group.",
    "1,0,2,0\n1,0,0,1": "Processor 0 sends packets 0 and 1, and a processor sends at most one",
    "1,0,2,0\n1,2,2,2": "Processor 2 is to hear processors 0 and 2, and a processor listens to at",
    "1,1,2,0": "Processor 1 sends packet 0, which it does not hold: it is at processor 0.",
    "1,0,2,0\n2,0,3,0": "which it does not hold: it is at processor 2.",
    "1,0,2,0\n1,1,3,1\n2,2,0,0": "Processors 0 and 1 send",
}


@each(("rows", "words"), BROKEN.items())
def test_the_first_broken_rule_is_explained(rows: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEADING + rows)
    check = popsnet.check_schedule(2, 2, tmp_path / "t.csv")
    assert words in check.result.violations[0].rule
    assert not check.ok
    assert words.split(".")[0][:40] in " ".join(str(check).split())


def test_packets_are_where_the_table_leaves_them(tmp_path: Path) -> None:
    """Also with copies; a sender that is to keep its packet hears itself."""
    rows = [[1, 0, 2, 0], [1, 0, 0, 0], [3, 2, 1, 0]]
    check = popsnet.check_schedule(2, 2, rows)
    assert (check.ok, check.goal, check.result.slots) == (True, None, 3)
    assert check.positions[0] == {
        "packet": 0, "source": 0, "destination": 1, "processors": [0, 1],
    }  # fmt: skip
    again = [[1, 0, 0, 0], [1, 0, 2, 0], [2, 2, 0, 0], [3, 0, 2, 0]]  # 0 hears packet 0 twice
    assert popsnet.check_schedule(2, 2, again).positions[0]["processors"] == [2]
    again.append([4, 0, 1, 0])
    assert popsnet.check_schedule(2, 2, again).result.violations[0].slot == 4
    assert "Nothing says where packets must go" in " ".join(str(check).split())
    wanted = popsnet.check_schedule(2, 2, rows, [3, 1, 2, 0])
    assert [one.rule for one in wanted.result.violations] == [
        "Packet 0 is to be at processor 3 in the end: it is at processors 0 and 1.",
        "Packet 3 is to be at processor 0 in the end: it is at processor 3.",
    ]
    (tmp_path / "t.txt").write_text("packet;from;to;slot\n1;1;3;2\n0;0;3;1\n")
    assert popsnet.check_schedule(2, 2, tmp_path / "t.txt").ok
    (tmp_path / "t.csv").write_text("slot,sender,receiver,packet,source,destination\n")
    assert popsnet.check_schedule(2, 2, tmp_path / "t.csv").report().ok


@each(
    ("text", "complaint"),
    [
        ("slot,sender,packet\n1,0,0\n", "t.csv has no column receiver; a schedule has the columns"),
        ("slot,sender,receiver,packet,foo\n1,0,0,0,0\n", "t.csv has 'foo' too many"),
        ("slot,sender,from,receiver,packet\n1,0,0,0,0\n", "t.csv has 'sender' too many"),
        ("1,0,0\n", "no heading and is of the shape"),
        (f"{HEADING}0,0,1,0\n", "t.csv, line 2: slot 0: give 1 to 1048576, the slots, which count"),
        (f"{HEADING}1,0,1,0\n\n1,0,4,0\n", "line 4: receiver 4: give 0 to 3, the processors of"),
        (f"{HEADING}1,0,1,4\n", "line 2: packet 4: give 0 to 3, the processors where they start"),
        (f"{HEADING}1,0,1.5,0\n", "1.5 is not an integer"),
        (f"{HEADING[:-1]},wavelength\n1,0,1,0,1\n", "wavelength 1: give 0 to 0"),
        (f"{HEADING[:-1]},to_group\n1,0,1,0,1\n", "to_group 1: it must be the group of the"),
        (f"{HEADING[:-1]},source\n1,0,1,0,0\n2,1,2,0,1\n", "line 2: source 0: this packet has an"),
    ],
)
def test_a_table_that_is_no_schedule(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        popsnet.check_schedule(2, 2, tmp_path / "t.csv")


def test_what_must_be_delivered_fits_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{HEADING}1,0,2,0\n")
    for ways, complaint in (
        ({"matrix": [[0, 1], [0, 0]]}, "matrix: it does not have the packets of t.csv"),
        ({"packets": []}, "packets"),
        ({"permutation": "reversal", "matrix": [[0, 1], [0, 0]]}, "each give the packets"),
        ({"faults": "loss:0.5"}, "Leave the loss out"),
    ):
        with pytest.raises(InputError, match=complaint):
            popsnet.check_schedule(2, 2, tmp_path / "t.csv", **ways)
    with pytest.raises(TypeError, match="permutations"):
        popsnet.check_schedule(2, 2, tmp_path / "t.csv", permutations="x")  # type: ignore[call-overload]
