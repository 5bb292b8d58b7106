"""Lists of packets: blocks, loads, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network
from popsnet.workloads.block import Block
from popsnet.workloads.packet_list import PacketList, read_packet_list
from tests.each import each
from tests.workloads.matrices_of import groups_of

NETWORK = Network(2, 4)


def read(tmp_path: Path, text: str) -> PacketList:
    path = tmp_path / "packets.csv"
    path.write_bytes(text.encode())
    return read_packet_list(path, NETWORK)


def rows(block: Block) -> list[tuple[int, int, int]]:
    slots = block.begin + np.repeat(np.arange(block.slots), np.diff(block.starts))
    table = (slots.tolist(), block.sources.tolist(), block.destinations.tolist())
    return list(zip(*table, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "1,1,2\n1,3,4\n3,0,7\n3,0,5\n",
        "slot,source,destination\n1,1,2\n1,3,4\n3,0,7\n3,0,5\n",
        "Slot, Source , destination\r\n1,1,2\r\n1,3,4\r\n3,0,7\r\n3,0,5\r\n",
        "destination,slot,source\n2,1,1\n4,1,3\n7,3,0\n5,3,0\n",
        "1,3,4\n3,0,7\n1,1,2\n3,0,5",
        "1,3,4\n1,1,2\n3,0,7\n3,0,5\n",
        '\n"1",1,2\n\n1,3,4\n3,0,7\n3,0,5\n',
        "\ufeffslot,source,destination\n1,1,2\n1,3,4\n3,0,7\n3,0,5\n",
        " 1, 1,2\n+1,3,4\n3,0,7\n3,0,5\n",
        "3,0,7,1\n3,0,5,1\n1,1,2,1\n1,3,4,1\n",
        "slot\tsrc\tdst\n1\t1\t2\n1\t3\t4\n3\t0\t7\n3\t0\t5\n",
        "# a recording\n1 1 2\n1 3 4\n3 0 7\n3 0 5\n",
        "packets,source,slot,destination\n1,1,1,2\n1,3,1,4\n1,0,3,7\n1,0,3,5\n",
    ],
)
def test_all_forms_of_a_list(tmp_path: Path, text: str) -> None:
    packets = read(tmp_path, text)
    expected = [(0, 1, 2), (0, 3, 4), (2, 0, 7), (2, 0, 5)]
    assert rows(packets.block(0, 5)) == expected
    assert rows(packets.block(0, 1)) + rows(packets.block(1, 1)) + rows(packets.block(2, 9)) == (
        expected
    )
    assert (packets.slots, packets.packets, packets.load) == (3, 4, 4 / (8 * 3))
    assert len(packets.block(3, 100).sources) == 0
    assert packets.name.startswith("list.csv:")
    assert packets.file == str((tmp_path / "packets.csv").resolve())


def test_rows_may_stand_for_several_packets(tmp_path: Path) -> None:
    packets = read(tmp_path, "2,2,3,2\n1,5,6,1\n2,2,4,3\n")
    assert rows(packets.block(0, 2)) == [(0, 5, 6), *[(1, 2, 3)] * 2, *[(1, 2, 4)] * 3]
    assert packets.block(1, 1).starts.tolist() == [0, 5]
    assert packets.load == 6 / 16


def test_rates_are_those_of_the_matrix(tmp_path: Path) -> None:
    table = [(1, 1, 2, 3), (5, 1, 2, 1), (5, 6, 1, 2), (10, 7, 0, 5), (10, 0, 0, 1)]
    packets = read(tmp_path, "\n".join(",".join(map(str, row)) for row in table))
    matrix = np.zeros((8, 8))
    for _, source, destination, count in table:
        matrix[source, destination] += count
    matrix *= 8 / matrix.sum()
    rates, groups = packets.rates(), groups_of(matrix, NETWORK)
    assert rates.source == pytest.approx(matrix.sum(axis=1).max())
    assert rates.destination == pytest.approx(matrix.sum(axis=0).max())
    assert rates.group_out == pytest.approx(groups.sum(axis=1).max())
    assert rates.group_in == pytest.approx(groups.sum(axis=0).max())
    assert rates.pairs == pytest.approx(np.sort(groups[groups > 1])[::-1])


def test_a_list_may_be_above_any_bound(tmp_path: Path) -> None:
    assert read(tmp_path, "1,0,1,100\n").load == 100 / 8


@each(
    ("text", "message"),
    [
        ("", "has no row of numbers; give at least one"),
        ("slot,source,destination\n", "has no row of numbers; give at least one"),
        ("\n\n", "has no row of numbers; give at least one"),
        ("1,1,2\n0,3,4\n2,0", "line 3 has 2 columns; all rows must have 3, as the first has."),
        ("1,1,2\n0,3,4\n2,0", "The file ends within this row: it may be incomplete."),
        ("0,1\n0,3\n", "has 2 columns; a list of packets must have slot,source,destination or"),
        ("0,1,2,3,4\n", "has 5 columns; a list of packets must have slot,source,destination or"),
        ("1,1,2\n0,3,4,1\n", "line 2 has 4 columns; all rows must have 3"),
        ("slot,source,destination\n0,1,2,3\n", "has a heading of 3 columns, and line 2 has 4"),
        ("slot,source,destination\n0,1,2,3\n0,1,2,3\n", "has a heading of 3 columns, and line 2 h"),
        ("time,from,to\n0,1,2\n", "has the heading 'time,from,to'; a list of packets must have"),
        ("a,b,c\n0,1,2\n", "the heading 'a,b,c'; a list of packets must have slot,source,destina"),
        ("slot,source\n0,1\n", "the heading 'slot,source'; a list of packets must have slot,sour"),
        ("slot,slot,source,destination\n0,0,1,2\n", "the heading 'slot,slot,source,destination'"),
        (
            "Slot,src,dst,bytes,count\n0,1,2,1,1\n",
            "has the heading 'Slot,src,dst,bytes,count'; a l",
        ),
        ("slot,,from\n0,7,1\n", "has the heading 'slot,from'; a list of packets must have"),
        ("1,1,2\n\n0,x,4\n", "line 3, column 2: 'x' is not a number"),
        ("1,1,2\n0,,4\n", "line 2, column 2 is empty"),
        ("1,1,2\n1,1.5,4\n", "line 2, column 2: 1.5 is not an integer"),
        ("1,1,2\n1e-3,1,4\n", "line 2, column 1: 0.001 is not an integer"),
        ("1,1,2\n0,٣,4\n", "line 2, column 2: '٣' is not a number"),
        (
            "0,1,2\n-1,1,2\n",
            "slot 0 must be from 1 to 281474976710656; slots count from 1; add 1 to each slot",
        ),
        ("1,1,2\n\n\n1,8,2\n", "line 4: source 8 must be from 0 to 7; POPS(2, 4) has n = 8"),
        ("slot,source,destination\n1,1,-2\n", "line 2: destination -2 must be from 0 to 7; POPS(2"),
        ("1,1,2,0\n", "line 1: packets 0 must be from 1 to 16777216; split the row, or use a sma"),
        ("1,1,2,16777217\n", "line 1: packets 16777217 must be from 1 to 16777216; split the row"),
        (f"{2**48 + 1},1,2\n", "line 1: slot 281474976710657 must be from 1 to 281474976710656"),
        (f"1,1,2\n{2**64},1,2\n", "line 2, column 1: 1.8446744073709552e+19 is too large"),
        ("9" * 5000 + ",1,2\n", "is too large for a number."),
        ("1,1,2\n\x00,1,2\n", "line 2, column 1: '\\x00' is not a number"),
    ],
)
def test_wrong_lists_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert str(tmp_path / "packets.csv") in str(caught.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a list of packets must be a file that ends in \.csv"):
        read_packet_list("packets.npy", NETWORK)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_packet_list(tmp_path / "missing.csv", NETWORK)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="cannot be read: "):
        read_packet_list(tmp_path / "folder.csv", NETWORK)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe1,2,3\n")
    with pytest.raises(InputError, match="is not a CSV text file"):
        read_packet_list(tmp_path / "binary.csv", NETWORK)


LATE = """
    0:2>2 2:5>9 2:6>1 4:5>13 5:12>11 4:14>8 0:0>11 3:10>12 3:5>5 1:7>0 1:10>5 1:11>5 3:13>11
    4:11>11 3:5>12 5:14>7 3:8>15 4:11>14 3:11>14 3:7>10 5:5>8 3:9>9 5:13>9 5:6>15 4:11>2 2:0>6
    5:3>1 4:1>8 4:7>3 4:4>8
"""  # slot (from 0):source>destination


def test_a_list_is_drained_until_a_scheduler_that_backs_off_has_tried_again(tmp_path: Path) -> None:
    """The last packet meets others often, and is repeated after thousands of slots."""
    slots = [packet.split(":") for packet in LATE.split()]
    rows = [f"{int(slot) + 1},{ends.replace('>', ',')}" for slot, ends in slots]
    path = tmp_path / "packets.csv"
    path.write_text("\n".join(["slot,source,destination", *rows]))
    faults = "coupler:1-0 coupler:1-2 coupler:2-3"
    result = popsnet.simulate(4, 4, scheduler="relay", packets=path, faults=faults, seed=2)
    assert (result.undelivered, result.unreachable, result.verdict) == (0, 6, "stable")
    assert result.slots > 6000
