"""Matrices of rates: both readings, files, and what is refused."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from popsnet import Coins, InputError, Network
from popsnet.workloads.matrices import resolve_matrix
from tests.each import each
from tests.workloads.matrices_of import F64, groups_of

NETWORK = Network(2, 3)


def spelt_out(groups: F64, network: Network) -> F64:
    """Deal the rates of groups to processors, one pair at a time."""
    d, n = network.d, network.n
    rates = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            rate = groups[i // d, j // d] / d
            if i // d != j // d or d == 1:
                rates[i, j] = rate / d
            elif i != j:
                rates[i, j] = rate / (d - 1)
    rates *= n / rates.sum()
    return rates


def sample(size: int) -> F64:
    words = Coins(2).draws(10, "test", 0, np.arange(size * size)).astype(np.float64)
    rates: F64 = np.maximum(words - 4, 0).reshape(size, size)  # about half are zero
    return rates


@each(("d", "g"), [(2, 3), (3, 3), (1, 5), (4, 2)])
@each("by_group", [False, True])
def test_rates_and_destinations(d: int, g: int, by_group: bool) -> None:
    """Chi-square over all rows at 10^-7."""
    network = Network(d, g)
    given = sample(g if by_group else network.n)
    rates = spelt_out(given, network) if by_group else given * network.n / given.sum()
    pattern = resolve_matrix(given, network)
    found, groups = pattern.rates(), groups_of(rates, network)
    assert pattern.sources() == pytest.approx(rates.sum(axis=1))
    assert found.source == pytest.approx(rates.sum(axis=1).max())
    assert found.destination == pytest.approx(rates.sum(axis=0).max())
    assert found.group_out == pytest.approx(groups.sum(axis=1).max())
    assert found.group_in == pytest.approx(groups.sum(axis=0).max())
    assert found.pair == pytest.approx(groups.max())
    targets, draws, statistic, freedom = pattern.targets(), 4000, 0.0, 0
    for source in np.flatnonzero(rates.sum(axis=1)):
        words = Coins(3).words("test", int(source), np.arange(draws))
        seen = np.bincount(
            targets.draw(words, np.full(draws, source, np.int32)), minlength=network.n
        )
        expected = rates[source] / rates[source].sum() * draws
        there = expected > 0
        assert not seen[~there].any()
        statistic += float(((seen - expected)[there] ** 2 / expected[there]).sum())
        freedom += int(there.sum()) - 1
    assert chi2.sf(statistic, freedom) > 1e-7


def test_a_row_of_zeros_is_silent() -> None:
    pattern = resolve_matrix([[0, 0, 0], [1, 0, 2], [0, 0, 0]], NETWORK)
    assert pattern.sources().tolist() == [0, 0, 3, 3, 0, 0]
    drawn = pattern.targets().draw(Coins(0).words("t", 0, np.arange(99)), np.full(99, 2, np.int32))
    assert set(drawn) == {0, 1, 4, 5}


def test_extreme_rates_are_scaled() -> None:
    for unit in (1e308, 5e-324, 1e-300):
        sources = resolve_matrix(np.full((3, 3), unit), NETWORK).sources()
        assert sources == pytest.approx(np.ones(6))


@pytest.mark.parametrize("name", ["rates.csv", "rates.npy", "RATES.CSV"])
def test_files(tmp_path: Path, name: str) -> None:
    path, given = tmp_path / name, sample(6) + 0.125
    if path.suffix == ".npy":
        np.save(path, given)
    else:
        path.write_text("\n".join(",".join(map(repr, row)) for row in given.tolist()))
    pattern = resolve_matrix(str(path), NETWORK)
    assert np.array_equal(pattern.values, resolve_matrix(given, NETWORK).values)
    assert pattern.file == str(path.resolve())
    assert pattern.name.startswith(f"matrix{path.suffix.lower()}:")
    assert resolve_matrix(given, NETWORK).name.startswith("matrix:")


@pytest.mark.parametrize(
    "text",
    [
        "rack;r0;r1;r2\nr0;0,0;1,0;2\nr1;3;0;1\nr2;1;1;0\n",
        "a,b,c\n0,1,2\n3,0,1\n1,1,0\n",
        '"0","1","2"\n3,0,1\n\n1,1,0',
        "\ufeff0,1,2\n3,0,1\n1,1,0\n",
    ],
)
def test_headings_quotes_and_blank_lines_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(text, encoding="utf-8")
    expected = resolve_matrix([[0, 1, 2], [3, 0, 1], [1, 1, 0]], NETWORK)
    assert np.array_equal(resolve_matrix(path, NETWORK).values, expected.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no row of numbers; give at least one."),
        ("a,b,c\n", "has no row of numbers; give at least one."),
        ("1,2,3\n1,2\n", "line 2 has 2 columns; all rows must have 3, as the first has."),
        ("1,2,3\n1,x,3\n1,2,3\n", "line 2, column 2: 'x' is not a number;"),
        ("1,2,3\n1,,3\n1,2,3\n", "line 2, column 2 is empty; write a number, 0 for nothing."),
        ("1,2,3\n1,1_0,3\n1,2,3\n", "line 2, column 2: '1_0' is not a number;"),
        (",b,a,c\na,1,2,3\nb,1,2,3\nc,1,2,3\n", "row 1 is labelled 'a' and column 1 'b'; rows an"),
        ("src,dst,rate\n0,1,2\n1,0,2\n0,2,3\n", "is a list with the columns src, dst, rate; "),
        (
            "1,2,3\n1,2,3\n",
            "has shape 2 × 3; a matrix of rates on POPS(2, 3) is 6 × 6, a row and a",
        ),
        ("1\n", "has shape 1 × 1; a matrix of rates on POPS(2, 3) is 6 × 6"),
        (
            "1,2,3\n1,-2,3\n1,2,3\n",
            "line 2, column 2 is -2; a rate must be a finite number of at l",
        ),
        ("1,2,3\n1,2,nan\n1,2,3\n", "line 2, column 3: 'nan' is not a number;"),
        ("1,2,inf\n1,2,3\n1,2,3\n", "line 1, column 3: 'inf' is not a number;"),
        ("0,0,0\n0,0,0\n0,0,0\n", "has no rate above 0; give at least one."),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        resolve_matrix(path, NETWORK)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a matrix of rates must end in \.csv, .* or \.parquet"):
        resolve_matrix("rates.json", NETWORK)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        resolve_matrix(tmp_path / "missing.npy", NETWORK)
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    with pytest.raises(InputError, match="holds an array of <U1; give an array of numbers"):
        resolve_matrix(tmp_path / "text.npy", NETWORK)
    (tmp_path / "torn.npy").write_bytes((tmp_path / "text.npy").read_bytes()[:-2])
    with pytest.raises(InputError, match=r"is not a complete \.npy file"):
        resolve_matrix(tmp_path / "torn.npy", NETWORK)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe1,2")
    with pytest.raises(InputError, match="is not a CSV text file"):
        resolve_matrix(tmp_path / "binary.csv", NETWORK)


@each(
    ("given", "message"),
    [
        ([[1, 2], [3]], "give a file, or a square array of numbers."),
        (5, "matrix = 5: give a file, or a square array of numbers."),
        ([["a"]], "give a file, or a square array of numbers."),
        (np.ma.masked_array([[1]], [[True]]), "give a file, or a square array of numbers."),
        (np.ones((3, 3, 3)), "matrix has shape 3 × 3 × 3; a matrix of rates on POPS(2, 3)"),
        (np.eye(3) * 1j, "give a file, or a square array of numbers."),
        (np.full((6, 6), -1), "matrix, row 0, column 0 (counted from 0) is -1; a rate must be"),
    ],
)
def test_wrong_arrays_are_refused(given: npt.ArrayLike, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_matrix(given, NETWORK)
    assert message in str(caught.value)


def test_with_one_processor_per_group_only_one_size_is_named() -> None:
    with pytest.raises(InputError, match=r"is 4 × 4, a row and a column for every processor\.$"):
        resolve_matrix([[1]], Network(1, 4))
