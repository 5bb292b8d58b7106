from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import popsnet.model.network
from popsnet import InputError, Network
from tests.each import each


def test_sizes() -> None:
    network = Network(3, 5)
    assert (network.n, network.couplers, str(network)) == (15, 25, "POPS(3, 5)")


def test_numpy_integers_become_plain_ones() -> None:
    network = Network(np.int64(3), np.int32(5))  # type: ignore[arg-type]
    assert type(network.d) is int
    assert network == Network(3, 5)


@each("value", [0, -1, True, 2.0, "4", None])
@each("name", ["d", "g"])
def test_what_is_no_size_is_refused_by_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} = {value!r}.*at least 1"):
        Network(**{"d": 2, "g": 2} | {name: value})


SHAPES = [(1, 1), (1, 5), (4, 4), (3, 5), (9, 4)]


@pytest.mark.parametrize(("d", "g"), SHAPES)
def test_group_and_index_are_those_of_the_definition(d: int, g: int) -> None:
    network = Network(d, g)
    pairs = [(b, m) for b in range(g) for m in range(d)]
    for j, (b, m) in enumerate(pairs):
        assert (network.group(j), network.index(j), network.processor(b, m)) == (b, m, j)


@each("dtype", [np.int32, np.int64])
@each(("d", "g"), SHAPES)
def test_arrays_are_converted_like_numbers_and_keep_their_type(d: int, g: int, dtype: Any) -> None:
    network = Network(d, g)
    processors = network.processors.astype(dtype)
    group, index = network.group(processors), network.index(processors)
    assert group.tolist() == [network.group(j) for j in range(network.n)]
    assert index.tolist() == [network.index(j) for j in range(network.n)]
    assert network.processor(group, index).tolist() == processors.tolist()
    assert {array.dtype for array in (group, index, network.processor(group, index))} == {
        np.dtype(dtype)
    }


@each(
    ("method", "numbers", "says"),
    [
        ("group", (np.int64(99),), r"processor = 99: POPS\(4, 4\) has processors 0 to 15; give"),
        ("index", (np.int64(-1),), "processor = -1: .* has processors 0 to 15"),
        ("index", (16,), "processor = 16: .* has processors 0 to 15"),
        ("processor", (9, 0), "group = 9: .* has groups 0 to 3"),
        ("processor", (np.int32(1), 4), "index = 4: .* has indices 0 to 3"),
        ("group", (1.5,), "processor = 1.5: give an integer, or an array of integers"),
        ("group", ("a",), "processor = 'a': give an integer"),
        ("index", (None,), "processor = None: give an integer"),
        ("processor", (0, 1.0), "index = 1.0: give an integer"),
    ],
)
def test_numbers_outside_the_network_are_refused(
    method: str, numbers: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(InputError, match=f"^{says}"):
        getattr(Network(4, 4), method)(*numbers)


def test_numbers_in_arrays_are_not_checked() -> None:
    network = Network(4, 4)
    assert network.group(np.array([99])).tolist() == [24]
    assert network.processor(np.array([9]), 0).tolist() == [36]
    last: Any = np.int64(15)
    assert network.group(last) == 3


def test_processors_are_all_numbers_in_a_new_array() -> None:
    network = Network(3, 2)
    first = network.processors
    assert first.dtype == np.int32
    assert first.tolist() == [0, 1, 2, 3, 4, 5]
    first[:] = 0
    assert network.processors.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_blocks_of_a_group_cover_its_indices() -> None:
    for d in range(1, 12):
        for g in range(1, 12):
            assert Network(d, g).blocks == len(range(0, d, g))


def test_couplers_are_numbered_by_target_and_source_group() -> None:
    network = Network(2, 3)
    numbers = [network.coupler(b, a) for b in range(3) for a in range(3)]
    assert numbers == list(range(network.couplers))


@pytest.mark.parametrize("small", [np.int8, np.uint16, np.int32])
def test_no_number_overflows_the_type_of_an_array(small: Any) -> None:
    network = Network(2**20, 2**20)
    high = np.array([100], dtype=small)
    expected = 100 * 2**20 + 100
    assert network.processor(high, high).tolist() == [expected]
    assert network.processor(100, high).tolist() == [expected]
    both = network.coupler(high, high)
    for couplers in (both, network.coupler(high, 100), network.coupler(100, high)):
        assert couplers.tolist() == [expected]
        assert couplers.dtype == np.int64
    last = np.array([2**16 - 1], dtype=np.int32)
    assert Network(1, 2**16).coupler(last, last).tolist() == [2**32 - 1]


def test_the_examples_of_the_network_are_right() -> None:
    assert doctest.testmod(popsnet.model.network).failed == 0
    assert doctest.testmod(popsnet.model.network).attempted > 10


def test_a_network_needs_no_numpy_until_arrays_are_asked_for() -> None:
    code = (
        "import sys; from popsnet.model.network import Network; Network(3, 2).group(4);"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
