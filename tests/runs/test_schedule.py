"""Schedules as users make them: of anything to be sent, executed and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network


def test_a_schedule_is_made_of_anything_to_be_sent(tmp_path: Path) -> None:
    net = Network(6, 4)
    reversal = np.arange(24)[::-1]
    packets = np.array([[0, 5], [0, 7], [3, 3]])
    matrix = np.full((4, 4), 2)
    np.save(tmp_path / "m.npy", matrix)
    by_name, by_array = popsnet.schedule(net, "reversal"), popsnet.schedule(net, reversal)
    assert by_name.slots == by_array.slots == 3
    assert popsnet.schedule(net, reversal, hops=2).slots == 4
    assert popsnet.schedule(net, permutation=reversal).execute() == by_array.execute()
    assert popsnet.schedule(net, packets=packets.tolist()).execute().delivered == 3
    assert popsnet.schedule(net, packets=packets).demand.packets == 3
    by_file = popsnet.schedule(net, matrix=tmp_path / "m.npy")
    assert by_file.execute() == popsnet.schedule(net, matrix=matrix).execute()
    assert by_file.execute().delivered == 32
    again = popsnet.schedule(net, packets=by_file.demand)
    assert again.lower_bound <= again.slots
    again.write_trace(tmp_path / "t.jsonl")
    assert popsnet.check_trace(tmp_path / "t.jsonl").ok
    again.write_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("slot,hop,from_group,to_group,")
    for wrong, complaint in (
        ({"permutation": "random", "matrix": matrix}, "permutation and matrix each give"),
        ({"matrix": matrix[:2]}, "matrix is 2 × 4; a traffic matrix of POPS"),
        ({"packets": [1, 2]}, "packets is 2; a demand must have two columns"),
        ({"packets": popsnet.schedule(Network(2, 2)).demand}, r"for POPS\(2, 2\), not for"),
        ({"permutation": [0, 1]}, "permutation has 2 entries"),
        ({"packets": matrix}, "A row per group or processor is a matrix"),
        ({"permutation": packets}, "a schedule is of one permutation"),
        ({"permutation": by_file.demand}, "a schedule is of one permutation"),
        ({"matrix": [[1, 2], [3]]}, "matrix: its rows must have the same length"),
        ({"packets": [[1, 2], [3]]}, "packets: its rows must have the same length"),
        ({"permutation": [[1, 2], [3]]}, "permutation: its rows must have the same length"),
    ):
        with pytest.raises(InputError, match=complaint):
            popsnet.schedule(net, **wrong)
    with pytest.raises(InputError, match="g is missing beside d = 4; give a network"):
        popsnet.schedule(4)  # type: ignore[call-overload]


def test_a_matrix_may_have_a_row_per_processor(tmp_path: Path) -> None:
    net, counts = Network(3, 2), np.zeros((6, 6), dtype=np.int64)
    counts[0, 4], counts[5, 1], counts[2, 2] = 2, 1, 1
    packets = [[0, 4], [0, 4], [2, 2], [5, 1]]
    Path(tmp_path / "m.csv").write_text("\n".join(",".join(map(str, row)) for row in counts))
    for matrix in (counts, tmp_path / "m.csv"):
        made = popsnet.schedule(net, matrix=matrix)
        assert made.execute() == popsnet.schedule(net, packets=packets).execute()
        assert made.demand.source.tolist() == [0, 0, 2, 5]
        runs = popsnet.route(net, router="direct", matrix=matrix)
        assert runs.slots == popsnet.route(net, router="direct", packets=packets).slots
        found = popsnet.compare(net, routers="direct", matrix=matrix, runs=1)
        assert found.lower_bound == made.lower_bound
    experiment = popsnet.Experiment(net, router="direct", matrix=tmp_path / "m.csv")
    assert (experiment.packets, experiment.way) == (4, "matrix")
    alone = np.array([[0, 2], [1, 0]])
    assert (
        popsnet.schedule(1, 2, matrix=alone).slots
        == popsnet.schedule(1, 2, packets=[[0, 1]] * 2).slots
    )
    with pytest.raises(InputError, match=r"must be 2 × 2, .*, or 6 × 6, for every processor"):
        popsnet.schedule(net, matrix=np.ones((4, 4)))
    with pytest.raises(InputError, match=r"\(from processor 0 to processor 3\)"):
        popsnet.schedule(net, matrix=np.eye(6)[::-1] / 2 + np.eye(6)[[3, 1, 2, 0, 4, 5]] / 4)


def test_packets_that_start_where_they_go_are_not_sent() -> None:
    net = Network(2, 2)
    for packets in ([[0, 0]], [[0, 0], [0, 0], [3, 3]]):
        made = popsnet.schedule(net, packets=packets)
        assert (made.slots, made.lower_bound, made.execute().delivered) == (0, 0, len(packets))
    assert (
        popsnet.schedule(net, "identity").slots
        == popsnet.schedule(Network(1, 4), "identity").slots
        == 0
    )
    lonely = popsnet.schedule(Network(1, 3), matrix=[[50, 5, 0], [0, 1, 5], [0, 0, 0]])
    assert (lonely.slots, lonely.lower_bound, lonely.execute().delivered) == (5, 5, 61)


def test_many_packets_of_a_processor_go_straight_if_two_hops_cannot() -> None:
    packets = np.zeros((70_000, 2), dtype=np.int64)
    packets[:, 1] = 5
    made = popsnet.schedule(Network(4, 4), packets=packets)
    assert (made.slots, made.lower_bound) == (70_000, 70_000)
    with pytest.raises(InputError, match="Split the demand"):
        popsnet.schedule(Network(4, 4), packets=packets, hops=2)


def test_matrices_of_many_groups_are_refused_before_they_are_made() -> None:
    with pytest.raises(popsnet.SizeError, match="GB are available here"):
        popsnet.schedule(Network(4, 10**6), matrix=[[0, 1, 5], [9, 0, 3]])


def test_a_frame_has_a_row_per_message_as_the_file_has(tmp_path: Path) -> None:
    made = popsnet.schedule(Network(4, 2), "reversal", fault_seed=3, faults="random:couplers=1")
    made.write_csv(tmp_path / "s.csv")
    header, *rows = (tmp_path / "s.csv").read_text().splitlines()
    frame, columns = made.to_dataframe(), header.split(",")
    assert frame[columns].astype(str).agg(",".join, axis=1).tolist() == rows
    assert [*frame][: -len(columns)] == [
        "d", "g", "n", "wavelengths", "seed", "permutation_seed", "fault_seed", "popsnet_version",
    ]  # fmt: skip
    assert set(frame["fault_seed"]) == {3}


def test_the_frame_of_an_empty_schedule_has_its_columns() -> None:
    empty, full = popsnet.schedule(1, 1).to_dataframe(), popsnet.schedule(2, 2).to_dataframe()
    assert (len(empty), list(empty.columns)) == (0, list(full.columns))
