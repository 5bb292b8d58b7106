"""Tables as .npy and .parquet files."""

import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from popsnet.base.errors import InputError
from popsnet.base.tables import read_table


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for values in (np.arange(6).reshape(2, 3), np.ones((2, 2)) / 3, np.array(5, ">u2")):
        np.save(path, values)
        assert np.array_equal(read_table(path).values, values)
    assert read_table(path).where(1, 2) == f"{path}, row 1, column 2 (counted from 0)"


def test_structured_arrays_name_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([(0, 1, 2.5)], [("src", "i4"), ("dst", "u1"), ("bytes", "f4")]))
    table = read_table(path)
    assert table.names == ("source", "destination", "amount")
    assert table.values.tolist() == [[0, 1, 2.5]]
    np.save(path, np.array([(0, "x")], [("src", "i4"), ("dst", "U1")]))
    with pytest.raises(InputError, match="has columns that are not numbers"):
        read_table(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["a"]), "holds an array of <U1; give an array of numbers"),
        (np.array([True]), "holds an array of bool; give an array of numbers"),
        (np.array([1j]), "holds an array of complex128; give an array of numbers"),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, values: np.ndarray[tuple[int], np.dtype[np.generic]], message: str
) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "a.npy")


def test_parquet(tmp_path: Path) -> None:
    pd, path = pytest.importorskip("pandas"), tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [0, 1], "b": [2, 0]}).to_parquet(path)
    table = read_table(path)
    assert (table.values.tolist(), table.rows, table.names) == ([[0, 2], [1, 0]], None, None)
    pd.DataFrame([[0, 2.5], [1, 0]], ["r0", "r1"], ["r0", "r1"]).to_parquet(path)
    table = read_table(path)
    assert table.values.tolist() == [[0, 2.5], [1, 0]]
    assert table.rows == table.columns == ("r0", "r1")
    pd.DataFrame({"from": [0, 3], "to": [1, 2], "packets": [5, 6]}).to_parquet(path)
    table = read_table(path)
    assert table.names == ("source", "destination", "amount")
    assert table.values.tolist() == [[0, 1, 5], [3, 2, 6]]
    for wrong, message in (
        ({"a": [1, None]}, "column 'a' has an empty cell; write 0 in its place"),
        ({"a": ["x"], "b": ["y"], "c": [1]}, "column 'b' holds .*string; give columns of numbers"),
        ({"a": ["x"]}, "has no column of numbers"),
    ):
        pd.DataFrame(wrong).to_parquet(path)
        with pytest.raises(InputError, match=message):
            read_table(path)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="is not a complete Parquet file"):
        read_table(path)


def test_columns_of_a_list_in_parquet_are_numbers(tmp_path: Path) -> None:
    """Decimals become numbers, and texts are refused rather than taken for labels."""
    pd, path = pytest.importorskip("pandas"), tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    ends = {"source": [0, 1], "destination": [3, 2]}
    for amounts, kind in ((["5", "7"], "i"), (["5.25", "7.10"], "f")):
        pd.DataFrame({**ends, "amount": list(map(Decimal, amounts))}).to_parquet(path)
        table = read_table(path)
        assert table.names == ("source", "destination", "amount")
        assert table.values.tolist() == [[0, 3, float(amounts[0])], [1, 2, float(amounts[1])]]
        assert table.values.dtype.kind == kind
    pd.DataFrame({name: list(map(Decimal, ends[name])) for name in ends}).to_parquet(path)
    assert read_table(path).values.tolist() == [[0, 3], [1, 2]]
    for wrong, name in (
        ({**ends, "Packets": ["5", "7"]}, "Packets"),
        ({"source": ["0", "1"], "destination": [3, 2]}, "source"),
        ({"src": [0, 1], "dst": ["3", "2"], "bytes": [1, 1]}, "dst"),
        ({"a": [0, 1], "b": [3, 2], "amount": ["5", "7"]}, "amount"),
    ):
        pd.DataFrame(wrong).to_parquet(path)
        with pytest.raises(InputError, match=f"column '{name}' holds .*string; it must hold numb"):
            read_table(path)


def test_labels_in_parquet(tmp_path: Path) -> None:
    pd, path = pytest.importorskip("pandas"), tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    rows = pd.Index(["r0", "r1"], name="source")
    pd.DataFrame([[0, 2], [1, 0]], rows, ["r0", "r1"]).to_parquet(path)
    assert read_table(path).rows == ("r0", "r1")
    with pytest.raises(InputError, match=r"column 'source' holds .*string; it must hold numbers"):
        read_table(path, has_labels=False)
    pd.DataFrame({"a": [0, 1], "b": [3, 2]}, ["x", "y"]).to_parquet(path)
    assert read_table(path, has_labels=False).values.tolist() == [[0, 3], [1, 2]]


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"t\.parquet: Parquet needs pyarrow .*popsnet\[parquet\]"):
        read_table(tmp_path / "t.parquet")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.csv, \.tsv, \.txt, \.npy or \.parquet"):
        read_table(Path("t.xlsx"))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_table(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="cannot be read: "):
        read_table(tmp_path / "folder.csv")
