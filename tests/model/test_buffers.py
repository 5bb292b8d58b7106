"""Both kinds of buffers behave as a multiset of pairs of processor and packet."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet.model.buffers import BufferTable, Cells, HashTable, make_buffers

N, PACKETS = 5, 7
pairs = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, PACKETS - 1)), max_size=12)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


@pytest.mark.parametrize("kind", [Cells, HashTable])
@given(st.integers(1, 6), st.lists(st.tuples(st.booleans(), pairs), max_size=12))
def test_they_are_a_multiset(
    kind: type[BufferTable], most: int, changes: list[tuple[bool, list[tuple[int, int]]]]
) -> None:
    buffers = kind(N, most)
    held: Counter[tuple[int, int]] = Counter()
    every = [(j, p) for j in range(N) for p in range(-2, PACKETS)]
    for is_stored, rows in changes:
        if not is_stored:
            rows = [row for row in dict.fromkeys(rows) if held[row]]
        room = Counter(j for j, _ in held.elements())
        allowed = []
        for row in rows:
            if not is_stored or room[row[0]] < most:
                allowed.append(row)
                room[row[0]] += 1
        if is_stored:
            assert buffers.put_in(*columns(allowed))[0] == -1
            held.update(allowed)
        else:
            assert buffers.take_out(*columns(allowed)) == -1
            held -= Counter(allowed)
        expected = [bool(held[row]) for row in every]
        assert buffers.find(*columns(every)).tolist() == expected
        there = [row for row in every if held[row]]
        assert buffers.hold_all(*columns(there))
        assert not buffers.hold_all(*columns([*there, (0, -1)]))
        content = zip(*(column.tolist() for column in buffers.content()), strict=True)
        assert Counter(content) == held
        loads = [sum(held[j, p] for p in range(PACKETS)) for j in range(N)]
        assert buffers.most_held(np.arange(N, dtype=np.int32)) == max(loads)


@pytest.mark.parametrize("kind", [Cells, HashTable])
def test_what_is_full_and_what_is_missing(kind: type[BufferTable]) -> None:
    buffers = kind(N, 2)
    assert buffers.put_in(*columns([(0, 1), (1, 1), (0, 2)])) == (-1, 2)
    assert buffers.put_in(*columns([(1, 3), (0, 3)]))[0] == 1
    assert buffers.take_out(*columns([(1, 1), (2, 1)])) == 1


def test_many_packets_that_come_and_go() -> None:
    """The hash table grows, and stays searchable after 10,000 removals."""
    rng, buffers = np.random.default_rng(0), make_buffers(50, 10_000)
    assert isinstance(buffers, HashTable)
    packets = np.arange(20_000, dtype=np.int32)
    processors = rng.integers(0, 50, 20_000).astype(np.int32)
    assert buffers.put_in(processors, packets)[0] == -1
    out = rng.permutation(20_000)[:10_000]
    assert buffers.take_out(processors[out], packets[out]) == -1
    expected = np.ones(20_000, dtype=np.bool_)
    expected[out] = False
    assert np.array_equal(buffers.find(processors, packets), expected)
    assert np.array_equal(np.sort(buffers.content()[1]), np.flatnonzero(expected))
