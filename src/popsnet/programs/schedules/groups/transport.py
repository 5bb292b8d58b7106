"""Matrices of integers whose entries, row sums and column sums lie within bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import I64


class MatrixBounds(NamedTuple):
    """The least and the greatest values of entries, row sums and column sums."""

    least: I64
    most: I64
    row_least: I64
    row_most: I64
    column_least: I64
    column_most: I64


def fit(start: I64, bounds: MatrixBounds) -> I64 | None:
    """Change a matrix until it is within bounds, or return None if no matrix is.

    Rows with a wrong sum are changed along shortest paths that end at a row or a column that can
    take the difference, and then columns in the same way: O(g²) for each path.
    """
    if any((low > high).any() for low, high in zip(bounds[::2], bounds[1::2], strict=True)):
        return None
    matrix = np.clip(start, bounds.least, bounds.most)
    for _ in range(2):  # the second time with rows and columns exchanged
        if not _mend(matrix, matrix.sum(axis=1), matrix.sum(axis=0), bounds):
            return None
        matrix, *both = (np.ascontiguousarray(array.T) for array in (matrix, *bounds[:2]))
        bounds = MatrixBounds._make([*both, *bounds[4:], *bounds[2:4]])
    return matrix


@compiled
def _mend(x: I64, rows: I64, columns: I64, bounds: MatrixBounds) -> bool:
    """Bring the sums of rows within bounds, and no sum of a column out of them."""
    g, (least, most, row_least, row_most, column_least, column_most) = len(x), bounds
    by_row, by_column = np.empty(g, dtype=np.int64), np.empty(g, dtype=np.int64)
    queue = np.empty(g, dtype=np.int64)
    for start in range(g):
        while rows[start] < row_least[start] or rows[start] > row_most[start]:
            rise = 1 if rows[start] < row_least[start] else -1
            wanted = max(row_least[start] - rows[start], rows[start] - row_most[start])
            for a in range(g):
                by_row[a] = by_column[a] = -1  # the column or row from which it was reached
            queue[0], head, tail = start, 0, 1
            by_row[start] = start
            last_row, last_column, spare = -1, -1, 0
            while head < tail and spare == 0:
                a = queue[head]
                head += 1
                for b in range(g):
                    if by_column[b] >= 0 or x[a, b] == (most[a, b] if rise > 0 else least[a, b]):
                        continue
                    by_column[b] = a
                    spare = (
                        column_most[b] - columns[b] if rise > 0 else columns[b] - column_least[b]
                    )
                    if spare > 0:
                        last_column = b
                        break
                    spare = 0
                    for c in range(g):
                        if by_row[c] >= 0 or x[c, b] == (least[c, b] if rise > 0 else most[c, b]):
                            continue
                        by_row[c] = b
                        spare = rows[c] - row_least[c] if rise > 0 else row_most[c] - rows[c]
                        if spare > 0:
                            last_row = c
                            break
                        spare = 0
                        queue[tail] = c
                        tail += 1
                    if spare > 0:
                        break
            if spare == 0:
                return False
            # Two walks back along the path: the first finds how much it can take.
            amount = min(spare, wanted)
            for change in range(2):
                a, b = last_row, last_column
                if change and b >= 0:
                    columns[b] += rise * amount
                if change and a >= 0:
                    rows[a] -= rise * amount
                while True:
                    if a >= 0:
                        if a == start:
                            break
                        b = by_row[a]
                        if change:
                            x[a, b] -= rise * amount
                        elif rise > 0:
                            amount = min(amount, x[a, b] - least[a, b])
                        else:
                            amount = min(amount, most[a, b] - x[a, b])
                    a = by_column[b]
                    if change:
                        x[a, b] += rise * amount
                    elif rise > 0:
                        amount = min(amount, most[a, b] - x[a, b])
                    else:
                        amount = min(amount, x[a, b] - least[a, b])
            rows[start] += rise * amount
    return True
