"""Tables as text: every usual form, the compiled reader beside the careful one, and refusals."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from popsnet.base.errors import InputError
from popsnet.base.tables import FileTable, table_of
from popsnet.base.tables.reading import read_plain
from popsnet.base.tables.text import read_any
from tests.each import each, examples

PATH = Path("t.csv")
NAMES = ["source", "destination", "amount"]


def read(text: str) -> FileTable:
    return table_of(PATH, text.encode())


@each(
    "text",
    [
        "0,3\n1,0\n",
        "0;3\n1;0\n",
        "0\t3\n1\t0\n",
        "0 3\n1 0\n",
        "  0   3  \n 1  0",
        "0, 3\r\n1, 0\r\n",
        "0,3\r1,0\r",
        "\ufeff0,3\n1,0\n\n\n",
        '"0","3"\n"1","0"\n',
        "# made by hand\n# in June\n0,3\n1,0\n",
        "\n0,3\n\n1,0\n",
        "0,3,\n1,0,\n",
        "0;3\n1;0\n;\n;\n",
        "a,b\n0,3\n1,0\n",
        "a b\n0 3\n1 0\n",
        ",a,b\na,0,3\nb,1,0\n",
        "rack,a,b\na,0,3\nb,1,0\n",
        "rack;a;b\na;0;3\nb;1;0\n",
        "\ta\tb\na\t0\t3\nb\t1\t0\n",
        "a b\na 0 3\nb 1 0\n",
        '"a;x","b, y"\n0,3\n1,0\n',
        "a,0,3\nb,1,0\n",
        ",0,1\n0,0,3\n1,1,0\n",
        "rack,0,1\n0,0,3\n1,1,0\n",
        "rack,0,1\na,0,3\nb,1,0\n",
        "10.0.0.1,10.0.0.2\n0,3\n1,0\n",
    ],
)
def test_all_forms_of_a_table(text: str) -> None:
    table = read(text)
    assert table.values.tolist() == [[0, 3], [1, 0]]
    assert table.values.dtype == np.int64
    assert table.names is None


@each(
    ("text", "numbers"),
    [
        ("0.5,1\n2,.25\n", [[0.5, 1], [2, 0.25]]),
        ("0,5;1\n2;0,25\n", [[0.5, 1], [2, 0.25]]),
        ("0,5\t1\n2\t0,25\n", [[0.5, 1], [2, 0.25]]),
        ("0.5;1\n2;0.25\n", [[0.5, 1], [2, 0.25]]),
        ("1,234;0,5\n2;0\n", [[1.234, 0.5], [2, 0]]),  # 0,5 shows what commas are
        ("0,125;1\n2;0\n", [[0.125, 1], [2, 0]]),
        ("1.234;0.500\n2;0\n", [[1.234, 0.5], [2, 0]]),  # 0.500 shows what points are
        ("1.234;2500.125\n2;0\n", [[1.234, 2500.125], [2, 0]]),
        ("1.234,2.500\n2,0\n", [[1.234, 2.5], [2, 0]]),
        ("1E+06,1e-1\n-2,+3\n", [[1e6, 0.1], [-2, 3]]),
    ],
)
def test_decimals(text: str, numbers: list[list[float]]) -> None:
    assert read(text).values.tolist() == numbers


@each(
    ("text", "names", "numbers"),
    [
        ("source,destination\n0,1\n", ["source", "destination"], [[0, 1]]),
        ("Src;DST;Bytes\n0;1;5\n", ["source", "destination", "amount"], [[0, 1, 5]]),
        (",to,from\n0,7,8\n1,9,6\n", ["destination", "source"], [[7, 8], [9, 6]]),
        ("src_group,destination group\n0,1\n", ["source", "destination"], [[0, 1]]),
        ("from,to,count\n0,1,2\n1,0,2\n", NAMES, [[0, 1, 2], [1, 0, 2]]),
        ("# source,destination\n0,1\n", ["source", "destination"], [[0, 1]]),
        ("# from to\n0 1\n", ["source", "destination"], [[0, 1]]),
        ("time,source,destination\n0,1,2\n", ["time", "source", "destination"], [[0, 1, 2]]),
    ],
)  # fmt: skip
def test_a_heading_makes_a_list(text: str, names: list[str], numbers: list[list[int]]) -> None:
    for found in (read(text), read_plain(PATH, text.encode())):
        assert found is not None
        assert found.names is not None
        assert (list(found.names), found.values.tolist()) == (names, numbers)


def test_labels_and_places_are_kept() -> None:
    table = read("# rates\nrack;r0;r1\n\nr0;0;1,5\nr1;2;0\n")
    assert (table.columns, table.rows) == (("r0", "r1"), ("r0", "r1"))
    assert (table.where(1), table.where(0, 1)) == ("t.csv, line 5", "t.csv, line 4, column 3")
    table.require_order()
    with pytest.raises(
        InputError, match=r"line 2: row 1 is labelled 'a' and column 1 'b'; rows and"
    ):
        read(",b,a\na,0,3\nb,1,0\n").require_order()
    read("to,b,a\nx,0,3\ny,1,0\n").require_order()
    quoted = read('"two\nlines",b\n0,1\n')
    assert quoted.where(0) == "t.csv, line 3"


@each(
    ("text", "message"),
    [
        ("", "t.csv has no row of numbers; give at least one."),
        ("# only this\n", "has no row of numbers"),
        ("a,b\n", "has no row of numbers"),
        ("1,2\n3\n", "line 2 has 1 column; all rows must have 2, as the first has."),
        ("1,2\n3", "line 2 has 1 column; all rows must have 2, as the first has. The file ends "),
        ("a,b,c,d\n1,2\n", "has a heading of 4 columns, and line 2 has 2; all rows must have"),
        ("source,destination\n1,2,3\n", "has a heading of 2 columns, and line 2 has 3; all rows"),
        ("1,2\n3,x\n", "line 2, column 2: 'x' is not a number; only the first row and the first"),
        ("1,2\n3,\n4,5\n", "line 2, column 2 is empty; write a number, 0 for nothing."),
        ("1;2\n3;4 GB\n", "column 2: '4 GB' is not a number; write numbers without their unit."),
        ("1,2\n3,٣\n", "line 2, column 2: '٣' is not a number"),
        ("1,2\n3,1_0\n", "line 2, column 2: '1_0' is not a number"),
        ("1,2\n3,nan\n", "line 2, column 2: 'nan' is not a number"),
        ("1,2\n3,1e999\n", "line 2, column 2: '1e999' is too large for a number."),
        ("1,2\n3,0x10\n", "line 2, column 2: '0x10' is not a number"),
        ('1,2\n3,"4,5"\n', "'4,5' is not a number; separate columns by semicolons where numb"),
        ("1;2\n3;1,234,567\n", "'1,234,567' is not a number; write it without separators of th"),
        ("1;2\n3;1.234,5\n", "'1.234,5' is not a number; write it without separators of th"),
        ("1,2\n3,1'000\n", "\"1'000\" is not a number; write it without separators of thousands."),
        ("1\t2\n3\t1,234\n", "column 2: '1,234' could be 1.234 or 1234; write it with a dec"),
        ("0,5;2\n3;1.5\n", "column 1: '0,5' has a comma, and '1.5' in line 2, column 2 a point"),
        ("1;2\n3;1.234\n", "column 2: '1.234' could be 1.234 or 1234; write 1234 without a sep"),
        ("1.000\t2.000\n3.000\t4.000\n", "line 1, column 1: '1.000' could be 1.000 or 1000; w"),
        ("x,3,1\n0,1,1\n5,2,2\n", "line 1, column 1: 'x' is not a number"),
        ("nan,nan\n0,1\n1,0\n", "line 1, column 1: 'nan' is not a number"),
        ("-,-,-\n0,1,2\n1,0,2\n1,1,0\n", "line 1, column 1: '-' is not a number"),
        ('"1,000","2,000"\n0,1\n1,0\n', "line 1, column 1: '1,000' is not a number"),
        ("1,2\n\x00,2\n", "line 2, column 1: '\\x00' is not a number"),
    ],
)  # fmt: skip
def test_wrong_texts_are_refused_with_the_cell(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)
    assert "t.csv" in str(caught.value)


def test_numbers_in_the_first_column_are_labels_only_if_they_count_or_repeat_the_heading() -> None:
    for labels in (["0", "1"], ["1", "2"], ["7", "9"]):
        above = labels if labels == ["7", "9"] else ["a", "b"]
        text = f"rack,{','.join(above)}\n{labels[0]},0,3\n{labels[1]},1,0\n"
        assert read(text).rows == tuple(labels)
        if above == ["a", "b"]:
            assert table_of(PATH, text.encode(), has_labels=False).values.shape == (2, 3)
    with pytest.raises(InputError, match="line 1, column 1: 'rack' is not a number"):
        table_of(PATH, b"rack,7,9\n7,0,3\n9,1,0\n", has_labels=False)
    assert read("x,y,z\n7,0,3\n9,1,0\n").values.tolist() == [[7, 0, 3], [9, 1, 0]]


def test_other_encodings_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"t\.csv is not a CSV text file .* Save it as CSV in UTF-8"
    ):
        table_of(PATH, "0,1\n".encode("utf-16"))


CELLS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(0, 99).map(str),
    st.decimals(-1000, 1000, places=3).map(lambda number: f"{number:f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["+5", "007", "-0", "-0.0", "1.", ".5", "9" * 18, "0." + "1" * 17]),
    st.sampled_from(["", "x", "1,5"]),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Tables of few columns, most of them plain."""
    width = draw(st.integers(1, 4))
    plain = st.one_of(st.integers(-99, 10**17), st.decimals(0, 10**6, places=2)).map(str)
    sign = draw(st.sampled_from(",."))
    comma = st.decimals(0, draw(st.sampled_from([9, 10**6])), places=draw(st.integers(1, 3))).map(
        lambda number: str(number).replace(".", sign)
    )
    mixed = st.one_of(comma, st.integers(0, 2000).map(str))
    cells = draw(st.sampled_from([plain, plain, CELLS, mixed]))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6))
    headings = [None, ['"a"', "b", '"c, c"', "d"], ["source", "destination", "amount", ""]]
    heading = draw(
        st.sampled_from(
            [*headings, ["", "source", "destination", "x"], ["1", "a", "2", "3"], ["nan"] * 4]
        )
    )
    if heading is not None:
        rows.insert(
            0, heading[: draw(st.sampled_from([width, width, width, width - 1, width + 1]))]
        )
    separator = draw(st.sampled_from([",", ",", ";", "\t", " ", ", ", "  "]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    begin = draw(
        st.sampled_from(["", "", "", "\ufeff", "# note\n", "\n", "# source,destination\n"])
    )
    last = draw(st.sampled_from(["", end, end, end * 2, f" {end}", f"{end}x", f"{end}1{end}"]))
    return begin + end.join(separator.join(row) for row in rows) + last


@examples(600)
@given(texts(), st.booleans())
@example("a,b\r1,2\n3,4\n", True)
@example("1 2\n 3  4\n", True)
@example("1\t 2\n3\t4\n", True)
@example("a,b,c\n1,2,3\n4,5,6\n", True)
@example("a,b,c\n1,2,3\n4,5,6\n", False)
@example("\t1\n2\t3\n", True)
@example('"source", "destination"\n1,2\n3,4\n', True)
@example('"a;b";"c""d"\n1;2\n3;4\n', True)
@example('"1","2"\n1,2\n', True)
@example('a "b",c\n1,2\n3,4\n', True)
@example("", True)
def test_the_compiled_reader_agrees_with_the_careful_one(text: str, has_labels: bool) -> None:
    data = text.encode()
    quick = read_plain(PATH, data, has_labels)
    event(f"plain: {quick is not None}")
    if quick is None:
        return
    careful = read_any(PATH, data, has_labels)
    assert quick.values.dtype == careful.values.dtype
    assert quick.values.tolist() == careful.values.tolist()
    assert (quick.names, quick.columns, quick.rows) == (
        careful.names,
        careful.columns,
        careful.rows,
    )
    assert careful.lines is not None
    assert careful.positions is not None
    assert list(quick.lines or ()) == list(careful.lines)
    assert list(quick.positions or ()) == list(careful.positions)
    assert quick.is_torn == careful.is_torn


@examples(200)
@given(texts())
def test_accepted_texts_have_the_numbers_of_the_cells(text: str) -> None:
    """Every number that is read is in the cell at its place, whatever else is in the file."""
    try:
        table = read(text)
    except InputError:
        return
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    assert table.lines is not None
    assert table.positions is not None
    for i, line in enumerate(table.lines):
        plain = lines[line - 1].strip("\r\n")
        for j, column in enumerate(table.positions):
            assert table.values[i, j] == float(_cells(plain)[column - 1].replace(",", "."))


def _cells(line: str) -> list[str]:
    for separator in (";", "\t", ","):
        if separator in line:
            return line.split(separator)
    return line.split()


def test_large_plain_files_are_read_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 20_000
    numbers = np.arange(2 * rows).reshape(rows, 2)
    text = "source,destination\n" + "".join(f"{a},{b}\n" for a, b in numbers.tolist())
    monkeypatch.setattr("popsnet.base.tables.reading.read_any", None)
    table = read(text)
    assert np.array_equal(table.values, numbers)
    assert table.where(rows - 1, 1) == f"t.csv, line {rows + 1}, column 2"
