"""Demands and matrices from files and arrays: lists, units, and what is refused."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError, Network
from popsnet.programs.schedules.files import read_demand, read_matrix
from tests.each import each

NETWORK = Network(4, 3)
COUNTS = [[0, 9, 1], [4, 0, 4], [2, 2, 0]]


def written(folder: Path, text: str) -> Path:
    path = folder / "given.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "0,9,1\n4,0,4\n2,2,0\n",
        "rack;r0;r1;r2\nr0;0;9;1\nr1;4;0;4\nr2;2;2;0\n",
        "source,destination,amount\n0,1,9\n0,2,1\n1,0,4\n1,2,4\n2,0,2\n2,1,2\n",
        "from\tto\tpackets\n2\t1\t2\n2\t0\t2\n0\t1\t9\n0\t2\t1.0\n1\t0\t4\n1\t2\t4\n",
        "source,destination,amount\n0,1,4\n0,1,5\n0,2,1\n1,0,4\n1,2,4\n2,0,2\n2,1,2\n",
        "dst,src,count\n1,0,9\n2,0,1\n0,1,4\n2,1,4\n0,2,2\n1,2,2\n",
    ],
)
def test_a_matrix_and_lists_of_it(tmp_path: Path, text: str) -> None:
    read = read_matrix(written(tmp_path, text), NETWORK)
    assert read.counts.tolist() == COUNTS
    assert read.rounding is None


def test_a_list_may_have_a_row_per_packet(tmp_path: Path) -> None:
    read = read_matrix(written(tmp_path, "source,destination\n0,1\n2,1\n0,1\n"), NETWORK)
    assert read.counts.tolist() == [[0, 2, 0], [0, 0, 0], [0, 1, 0]]


def test_a_table_of_the_wrong_shape_is_not_told_to_change_what_it_does_not_have(
    tmp_path: Path,
) -> None:
    """An array has no lines and no empty cells, and labels that were read need no advice."""
    labelled = written(tmp_path, ",w,x,y,z\n" + "".join(f"{row},0,1,1,1\n" for row in "wxyz"))
    for table, ending in (
        (np.zeros((5, 2)), "source,destination,amount in a data frame."),
        (np.zeros((4, 4)), "have labels, leave them out."),
        (labelled, "or 12 × 12, for every processor."),
    ):
        with pytest.raises(InputError) as caught:
            read_matrix(table, NETWORK)
        assert str(caught.value).endswith(ending), table


def test_three_columns_without_a_heading(tmp_path: Path) -> None:
    """They are a list, unless there are 3 or g rows, or 3 groups."""
    four = Network(2, 4)
    text = "0,1,5\n3,2,7\n"
    read = read_matrix(written(tmp_path, text), four)
    assert (read.counts[0, 1], read.counts[3, 2], read.counts.sum()) == (5, 7, 12)
    assert np.array_equal(read_matrix([[0, 1, 5], [3, 2, 7]], four).counts, read.counts)
    for rows, network in ((3, four), (4, four), (2, NETWORK), (4, NETWORK)):
        path = written(tmp_path, "0,1,2\n" * rows)
        with pytest.raises(InputError) as caught:
            read_matrix(path, network)
        assert f"is {rows} × 3; a traffic matrix of {network} must be" in str(caught.value)
        assert "Name the columns of a list source,destination,amount" in str(caught.value)
    assert read_matrix(written(tmp_path, "0,1,2\n" * 3), NETWORK).counts.tolist() == [[0, 1, 2]] * 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,3\n0,7\n5,3\n", [(0, 3), (0, 7), (5, 3)]),
        ("destination,source\n3,0\n7,0\n3,5\n", [(0, 3), (0, 7), (5, 3)]),
        ("a,b\n0,3\n", [(0, 3)]),
        ("0;3;2\n5;3;0\n1;1;1\n", [(0, 3), (0, 3), (1, 1)]),
        (",src,dst,packets\n0,0,3,2\n1,5,4,1\n", [(0, 3), (0, 3), (5, 4)]),
    ],
)
def test_demands(tmp_path: Path, text: str, expected: list[tuple[int, int]]) -> None:
    demand = read_demand(written(tmp_path, text), NETWORK).demand
    found = list(zip(demand.source.tolist(), demand.destination.tolist(), strict=True))
    assert found == expected


def packets_of(amount: Fraction, unit: Fraction) -> int:
    """Round up, except that 10^-12 of the amount is within the error of floats."""
    exact = amount / unit
    below = exact.numerator // exact.denominator
    if exact - below <= Fraction(1, 10**12) * below:
        return below
    return below + 1


DECIMALS = st.decimals(0, 1000, places=3)


@given(st.lists(DECIMALS, min_size=4, max_size=4), st.decimals("0.001", 100, places=3))
def test_amounts_are_rounded_up_exactly(amounts: list[object], unit: object) -> None:
    exact = [packets_of(Fraction(str(amount)), Fraction(str(unit))) for amount in amounts]
    values = np.array([float(str(amount)) for amount in amounts]).reshape(2, 2)
    read = read_matrix(values, Network(1, 2), unit=float(str(unit)))
    assert read.counts.ravel().tolist() == exact
    assert read.rounding is not None
    total = sum(Fraction(str(amount)) for amount in amounts)
    error = sum(exact) * Fraction(str(unit)) - total
    assert read.rounding.error == pytest.approx(float(error), abs=1e-9 * max(1, float(total)))
    assert (read.rounding.packets, read.rounding.unit) == (sum(exact), float(str(unit)))


@each(
    ("amount", "unit", "packets"),
    [
        (0.1 + 0.2, 0.1, 3),
        (0.3, 0.1, 3),
        (0.7, 0.1, 7),
        (1e-30, 1.0, 1),
        (1500, 1500, 1),
        (1501, 1500, 2),
        (3.0000001, 1.0, 4),
        (2**24, 1, 2**24),
        (0, 0.5, 0),
        (1e300, 1e300, 1),
    ],
)
def test_rounding_at_the_edges(amount: float, unit: float, packets: int) -> None:
    assert read_matrix([[amount]], Network(1, 1), unit=unit).counts.tolist() == [[packets]]
    assert read_demand([[0, 0, amount]], Network(1, 1), unit=unit).demand.packets == packets


def test_amounts_of_a_list_are_added_before_they_are_rounded(tmp_path: Path) -> None:
    path = written(tmp_path, "source;destination;bytes\n0;1;0,1\n0;1;0,2\n1;0;0,25\n")
    read = read_matrix(path, Network(4, 2), unit=0.1)
    assert read.counts.tolist() == [[0, 3], [3, 0]]
    assert read.rounding is not None
    assert str(read.rounding) == ("0.55 is sent as 6 packets of 0.1; rounding up adds 0.05 (9.1%)")


WRONG_MATRICES = [
    ("0,1\n2,0\n", "is 2 × 2; a traffic matrix of POPS(4, 3) must be 3 × 3, with a row"),
    ("0,0,1,2\n0,1,1,1\n1,1,1,1\n2,1,1,1\n", "is 4 × 4; a traffic matrix of POPS(4, 3) must be"),
    ("0,0,1,2\n0,1,1,1\n1,1,1,1\n2,1,1,1\n", "have labels, leave their common cell empty."),
    ("0,1,2\n3,0.5,1\n1,1,0\n", "line 2, column 2 (from group 1 to group 1): 0.5 is not an integ"),
    ("0,1,2\n3,0.5,1\n1,1,0\n", "Give the amount of one packet (--unit, in Python unit=)"),
    ("0,1,2\n3,0,-1\n1,1,0\n", "line 2, column 3 (from group 1 to group 2): -1 must be a finite"),
    ("a,b,c\n0,1,2\n3,0,1\n", "is 2 × 3; a traffic matrix of POPS(4, 3) must be 3 × 3"),
    ("O,1,2\n0,1,1\n1,1,0\n", "Line 1 counts as a heading, because its column 1 is 'O'; write a"),
    (",1,2\n3,0,1\n1,1,0\n", "Line 1 counts as a heading, because its column 1 is empty; write a"),
    ("O,1,2\n3,0,1\n1,1,0\n", "line 1, column 1: 'O' is not a number"),
    ("0,nan,2\n3,0,1\n1,1,0\n", "line 1, column 2: 'nan' is not a number"),
    (",b,a,c\na,0,1,2\nb,3,0,1\nc,1,1,0\n", "must have their labels in the same order. Sort them."),
    ("source,destination,amount\n0,3,5\n", "line 2, column 2: destination 3 is outside 0 to 2, th"),
    ("dst,src,amount\n0,-1,5\n", "line 2, column 2: source -1 is outside 0 to 2, the groups of"),
    ("source,destination,amount\n0,1.5,5\n", "line 2, column 2: 1.5 is not an integer; sources a"),
    ("source,destination,amount\n0,1,-5\n", "line 2, column 3: -5 must be a finite number of at"),
    ("source,destination,amount\n0,1,0.5\n", "line 2, column 3: 0.5 is not an integer; without a"),
    ("source,destination,amount\nr0,r1,5\n", "line 2, column 1: 'r0' is not a number; only the f"),
    ("time,source,destination\n0,0,1\n", "the column 'time' is not known; a list of packets betw"),
    ("Src,from,to\n0,0,1\n", "2 columns are the source: 'Src', 'from'; a list of packets between"),
    ("source,amount\n0,3\n", "has no column destination; a list of packets between groups must"),
    (f"0,1,2\n3,0,{2**27}\n1,1,0\n", "has 134,217,736 packets in all; at most 2^27 can be sched"),
    (f"0,1,2\n3,0,{2**70}\n1,1,0\n", "1.1805916207174113e+21 is too large; the largest is 2^62."),
]


@each(("text", "message"), WRONG_MATRICES)
def test_wrong_matrices_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_matrix(written(tmp_path, text), NETWORK)
    assert message in str(caught.value)
    assert str(tmp_path / "given.csv") in str(caught.value)


@each(
    ("text", "message"),
    [
        ("0\n1\n", "is 2 × 1; a demand must have two columns, source and destination, or three"),
        ("0,1,2,3\n", "is 1 × 4; a demand must have two columns"),
        ("0,12\n", "line 1: destination 12 is outside 0 to 11, the processors of POPS(4, 3)"),
        ("0,1,1\n\n0,12,1\n", "line 3: destination 12 is outside 0 to 11"),
        ("0,1.5\n", "line 1, column 2: 1.5 is not an integer; sources and destinations are."),
        ("0,1,1.5\n", "line 1, column 3: 1.5 is not an integer; without a unit every amount"),
        ("0,1,-2\n", "line 1, column 3: -2 must be a finite number of at least 0."),
        (
            "0,1,200000000\n",
            "has 200,000,000 packets in all; at most 2^27 can be scheduled. Give a",
        ),
        ("a,0,1\nb,1,2\n", "line 1, column 1: 'a' is not a number"),
        ("O,3\n0,5\n", "line 1, column 1: 'O' is not a number"),
        (",3\n0,5\n2,4\n", "line 1, column 1 is empty; write a number, 0 for nothing."),
        ("x0,3,1\n0,1,1\n", "line 1, column 1: 'x0' is not a number"),
        ('"1,000",3\n0,5\n', "line 1, column 1: '1,000' is not a number"),
        ("nan,nan\n0,5\n", "line 1, column 1: 'nan' is not a number"),
        (
            "slot,source,destination\n0,1,2\n",
            "the column 'slot' is not known; a demand has the col",
        ),
    ],
)
def test_wrong_demands_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_demand(written(tmp_path, text), NETWORK)
    assert message in str(caught.value)
    assert str(tmp_path / "given.csv") in str(caught.value)


@each(
    ("given", "message"),
    [
        (np.ones((3, 3), bool), "matrix is an array of bool; give a file, or an array of numbers."),
        ([["a"]], "matrix is an array of <U1; give a file, or an array of numbers."),
        ([[1, 2], [3]], "matrix: its rows must have the same length."),
        (np.ma.masked_array([[1]], [[True]]), "matrix is a masked array; give a file, or an arr"),
        (
            np.eye(3) * np.nan,
            "matrix, row 0, column 0 (counted from 0) (from group 0 to group 0): n",
        ),
        (np.full((3, 3), np.inf), "inf must be a finite number of at least 0."),
        (5, "matrix is one number; a traffic matrix of POPS(4, 3) must be 3 × 3"),
        (np.ones((3, 3, 3)), "matrix is 3 × 3 × 3; a traffic matrix of POPS(4, 3) must be 3 × 3"),
    ],
)
def test_wrong_arrays_are_refused(given: npt.ArrayLike, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_matrix(given, NETWORK)
    assert message in str(caught.value)


def test_units() -> None:
    for unit in (0, -1, np.nan, np.inf, "1"):
        with pytest.raises(InputError, match="the amount of one packet must be a finite number"):
            read_matrix(COUNTS, NETWORK, unit=unit)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"unit = 2: packets has no amounts, and every row is one"):
        read_demand([[0, 1]], NETWORK, unit=2)
    with pytest.raises(
        InputError, match=r"in all; at most 2\^27 .* Give a unit larger than 1e-300"
    ):
        read_matrix(COUNTS, NETWORK, unit=1e-300)


def test_files_of_numbers_in_binary(tmp_path: Path) -> None:
    for dtype in ("u1", ">i4", "f4", "f8"):
        np.save(tmp_path / "m.npy", np.array(COUNTS, dtype))
        assert read_matrix(tmp_path / "m.npy", NETWORK).counts.tolist() == COUNTS
    np.save(tmp_path / "h.npy", np.array([[60000.0]], "f2"))
    read = read_matrix(tmp_path / "h.npy", Network(1, 1), unit=0.001)
    assert read.counts.tolist() == [[60_000_000]]


def test_names_of_data_frames_count() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"dst": [3, 7], "src": [0, 5], "packets": [1, 2]}, index=[9, 4])
    demand = read_demand(frame, NETWORK).demand
    assert (demand.source.tolist(), demand.destination.tolist()) == ([0, 5, 5], [3, 7, 7])
    between = pd.DataFrame({"amount": [5], "to": [2], "from": [0]})
    assert read_matrix(between, NETWORK).counts.tolist() == [[0, 0, 5], [0, 0, 0], [0, 0, 0]]
    for labels in (None, ["a", "b", "c"]):
        matrix = pd.DataFrame(COUNTS, labels, labels)
        assert read_matrix(matrix, NETWORK).counts.tolist() == COUNTS
    with pytest.raises(InputError, match="row 1 is labelled 'b' and column 1 'a'"):
        read_matrix(pd.DataFrame(COUNTS, ["b", "a", "c"], ["a", "b", "c"]), NETWORK)
    with pytest.raises(InputError, match="the column 'time' is not known"):
        read_demand(pd.DataFrame({"time": [0], "src": [1], "dst": [2]}), NETWORK)
    with pytest.raises(InputError, match="packets is an array of object; give a file, or an arr"):
        read_demand(pd.DataFrame({"src": ["1"], "dst": [2]}), NETWORK)


def test_short_floats_are_rounded_within_their_own_error() -> None:
    for dtype, above in (("f4", 1.0001), ("f2", 1.01)):
        amounts = np.array([[0.1, 0.3, 0.7, above]], dtype).reshape(2, 2)
        assert read_matrix(amounts, Network(1, 2), unit=0.1).counts.tolist() == [[1, 3], [7, 11]]
