"""Schedules as tables: read back with the csv module and replayed by their columns alone."""

import csv
import io
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Network
from popsnet.programs.schedules import Demand, make_schedule
from popsnet.programs.schedules.exports import write_hops, write_ports
from tests.each import examples


def table(text: str) -> list[dict[str, int | None]]:
    rows = csv.DictReader(io.StringIO(text))
    return [{name: int(cell) if cell else None for name, cell in row.items()} for row in rows]


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    d, g = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    processors = st.integers(0, d * g - 1)
    pairs = draw(st.lists(st.tuples(processors, processors), max_size=20))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return Demand(Network(d, g), ends[:, 0], ends[:, 1])


@examples(60)
@given(demands())
def test_hops_can_be_replayed(demand: Demand) -> None:
    file = io.StringIO()
    write_hops(make_schedule(demand), demand, file)
    rows, d = table(file.getvalue()), demand.network.d
    at = dict(enumerate(demand.source.tolist()))
    made: Counter[int | None] = Counter()
    for slot in range(1, max((row["slot"] or 0 for row in rows), default=0) + 1):
        now = [row for row in rows if row["slot"] == slot]
        for names in (("sender",), ("receiver",), ("from_group", "to_group"), ("packet",)):
            assert len({tuple(row[name] for name in names) for row in now}) == len(now)
        for row in now:
            sender, receiver, packet = row["sender"], row["receiver"], row["packet"]
            assert sender is not None
            assert receiver is not None
            assert packet is not None
            assert at[packet] == sender
            assert (row["from_group"], row["to_group"]) == (sender // d, receiver // d)
            assert row["source"] == demand.source[packet]
            assert row["destination"] == demand.destination[packet]
            made[packet] += 1
            assert row["hop"] == made[packet]
        at.update({row["packet"]: row["receiver"] for row in now})  # type: ignore[misc]
    assert at == dict(enumerate(demand.destination.tolist()))
    assert [row["slot"] for row in rows] == sorted(row["slot"] or 0 for row in rows)


@examples(60)
@given(demands())
def test_ports_can_be_executed(demand: Demand) -> None:
    """Couplers carry what is sent on them, and every processor hears what its row says."""
    file = io.StringIO()
    write_ports(make_schedule(demand), file)
    rows, d = table(file.getvalue()), demand.network.d
    places = [(row["slot"] or 0, row["processor"] or 0) for row in rows]
    assert places == sorted(set(places))
    at = dict(enumerate(demand.source.tolist()))
    for slot in sorted({slot for slot, _ in places}):
        carried: dict[tuple[int, int], int] = {}
        now = [row for row in rows if row["slot"] == slot]
        for row in now:
            assert row["sends_to_group"] is not None or row["listens_to_group"] is not None
            assert (row["sends_to_group"] is None) == (row["sends_packet"] is None)
            assert (row["listens_to_group"] is None) == (row["hears_packet"] is None)
            if row["sends_to_group"] is not None:
                assert row["sends_packet"] is not None
                assert at[row["sends_packet"]] == row["processor"]
                coupler = ((row["processor"] or 0) // d, row["sends_to_group"])
                assert coupler not in carried
                carried[coupler] = row["sends_packet"]
        for row in now:
            if row["listens_to_group"] is not None:
                processor = row["processor"] or 0
                packet = carried.pop((row["listens_to_group"], processor // d))
                assert packet == row["hears_packet"]
                at[packet] = processor
        assert not carried
    assert at == dict(enumerate(demand.destination.tolist()))


def test_a_schedule_of_nothing_has_only_headings() -> None:
    demand = Demand(Network(2, 2), np.zeros(0, np.int64), np.zeros(0, np.int64))
    for write in (lambda s, f: write_hops(s, demand, f), write_ports):
        file = io.StringIO()
        write(make_schedule(demand), file)
        assert file.getvalue().startswith("slot,")
        assert file.getvalue().count("\n") == 1
