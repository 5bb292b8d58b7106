"""A lower bound for the slots of a traffic matrix by a linear program."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.model.network import F64, I64

_SCALE = 2**40
_LARGEST = 2**22
"""Sums of dual values are near 1; sums of larger ones would not be exact in 64 bits."""


class Capacities(NamedTuple):
    """What a network with dead parts can carry in a slot."""

    couplers: I64
    """The packets from each group (row) to each group: W or 0."""
    sends: I64
    """The packets that each group can send."""
    hears: I64
    """The packets that each group can hear."""
    longest: int
    """The slots of a schedule that is known."""


def linear_bound(
    counts: npt.NDArray[Any], d: int, wavelengths: int = 1, capacities: Capacities | None = None
) -> float | None:
    """Return the least number of slots that a linear program allows for a traffic matrix.

    No schedule has fewer slots, whatever processors, relays and numbers of hops it uses.
    For the bound as an integer take ``whole_slots``.

    Parameters
    ----------
    counts : array of int
        M, with M[a, b] packets from group a to group b.
    d : int
        Processors per group. For d = 1 the packets of a group for itself are where they go, and
        do not count.
    wavelengths : int
        Wavelengths per coupler, W.
    capacities : Capacities, optional
        What a network with dead parts can carry. By default everything works.

    Returns
    -------
    float or None
        The bound, or None if the solver (HiGHS) fails.

    Notes
    -----
    Take any schedule of T slots. Leave out the hops from a group to itself, except one of every
    packet that never leaves its group. Let m = min(d, g), let x[a, b] be the number of packets from
    a to b with one hop, y[a, t] and z[t, b] the numbers of first and last hops of all others, and
    v[t, u] that of the hops between. Then

    - a coupler carries one packet per slot, and a group sends and receives at most m: x + y + z + v
      is at most T in every entry, and at most mT in every row and every column;
    - a first hop that is not the last is not in the last slot, and a last hop that is not the
      first is not in the first: y and z are at most T - 1, the sum of a row of y and of a column
      of z at most m(T - 1);
    - the packets of a that do not go straight make as many first hops, and those to b as many
      last hops: the sums of row a of x + y and M are equal, and those of column b of x + z and M;
    - what arrives at t to be sent on leaves it: column t of y + v and row t of z + v have one sum;
    - 0 ≤ x ≤ M, and y, z and v are 0 from a group to itself.

    With W wavelengths m is min(d, gW), and W takes the place of 1 per coupler: x + y + z + v is at
    most WT, and y and z are at most W(T - 1). A dead coupler carries nothing, and m becomes what
    the live transmitters and couplers of a group allow, and its live receivers and couplers.

    So the least T of the linear program is a lower bound. What it does not see: from which group
    a packet came that leaves t, and the order of slots but for the first and the last.

    The solver computes in floating point. Its dual solution is rounded to multiples of 2^-40, and
    what it proves is computed from it in integers, so that the value returned is a bound whatever
    the solver did (after Neumaier and Shcherbina, *Safe bounds in linear and mixed-integer linear
    programming*, 2004). All variables are at most the slots of a two-hop schedule, or the
    packets, so that a dual solution need not be feasible to prove something.

    Solving takes 0.01 s to 0.05 s for 16 groups and 0.2 s to 4 s for 64, by the interior point
    method; the dual simplex method takes up to 21 s for 64.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.programs.schedules import linear_bound
    >>> counts = np.zeros((8, 8), dtype=np.int64)
    >>> counts[:4, 4:] = 20
    >>> counts[0, 4] = 100
    >>> round(linear_bound(counts, 8), 6)
    25.0
    """
    from scipy.optimize import linprog

    counts = np.asarray(counts).astype(np.int64)
    if d == 1:
        counts = counts * ~np.eye(len(counts), dtype=np.bool_)
    if not counts.any():
        return 0.0
    program = _program(counts, capacities or _capacities(counts, d, wavelengths))
    solution = linprog(**program, method="highs-ipm")
    if solution.status != 0:
        return None
    proved = _proved(program, solution.ineqlin.marginals, solution.eqlin.marginals)
    return None if proved is None else float(proved)


def whole_slots(bound: float) -> int:
    """Return the number of slots that a bound of :func:`linear_bound` stands for.

    It is rounded up. A bound that is above an integer by 1e-6 or less is rounded to this integer.
    """
    return int(np.ceil(bound - 1e-6))


def _capacities(counts: I64, d: int, w: int) -> Capacities:
    """Return what a network without dead parts can carry."""
    g = len(counts)
    m = min(d, g * w)
    most = max(int(counts.sum(axis=axis).max()) for axis in (0, 1))
    longest = 2 * -(-most // m)  # two hops, and enough for d = 1 as well
    return Capacities(np.full((g, g), w), np.full(g, m), np.full(g, m), longest)


def _program(counts: I64, capacities: Capacities) -> dict[str, Any]:
    """Write the linear program of the notes, as arguments of ``linprog``.

    The variables are x, y, z, v by rows, and T.
    """
    from scipy import sparse

    g = len(counts)
    size, each = g * g, np.ones((1, g), dtype=np.int64)
    unit = sparse.eye_array(g, dtype=np.int64)
    entry = sparse.eye_array(size, dtype=np.int64)
    row, column = sparse.kron(unit, each), sparse.kron(each, unit)
    carried, sent, heard = (-array.reshape(-1, 1).astype(np.int64) for array in capacities[:3])

    nothing, longest = np.zeros((g, 1), dtype=np.int64), capacities.longest
    limits = (np.zeros(size + 2 * g, dtype=np.int64), carried, carried, sent, heard)
    elsewhere = np.where(np.eye(g, dtype=np.bool_), 0, longest * capacities.couplers).ravel()
    most = np.concatenate((counts.ravel(), elsewhere, elsewhere, elsewhere, [longest]))
    return {
        "c": np.repeat(np.array([0, 1]), (4 * size, 1)),
        "A_ub": sparse.block_array(
            [
                [entry, entry, entry, entry, carried],
                [row, row, row, row, sent],
                [column, column, column, column, heard],
                [None, entry, None, None, carried],
                [None, None, entry, None, carried],
                [None, row, None, None, sent],
                [None, None, column, None, heard],
            ],
            format="csr",
        ),
        "b_ub": np.concatenate([limit.ravel() for limit in limits]),
        "A_eq": sparse.block_array(
            [
                [row, row, None, None, nothing],
                [column, None, column, None, None],
                [None, column, -row, column - row, None],
            ],
            format="csr",
        ),
        "b_eq": np.concatenate((counts.sum(axis=1), counts.sum(axis=0), nothing.ravel())),
        "bounds": np.stack((np.zeros_like(most), most), axis=1),
    }


def _proved(program: dict[str, Any], below: F64, equal: F64) -> Fraction | None:
    """Return the bound that any values of the dual variables prove, in exact arithmetic.

    For p ≤ 0 and any q, a feasible x has c·x ≥ p·b_ub + q·b_eq + r·x, where r is
    c - p·A_ub - q·A_eq, and r·x is at least the sum of all min(r, 0) times the bounds of x.
    """
    sums = abs(program["A_ub"]).T @ np.abs(below) + abs(program["A_eq"]).T @ np.abs(equal)
    if not sums.max() <= _LARGEST:  # true of nan as well
        return None
    p = np.minimum(np.rint(below * _SCALE), 0).astype(np.int64)
    q = np.rint(equal * _SCALE).astype(np.int64)
    rest = np.minimum(program["c"] * _SCALE - program["A_ub"].T @ p - program["A_eq"].T @ q, 0)
    terms = (p, program["b_ub"]), (q, program["b_eq"]), (rest, program["bounds"][:, 1])
    products = (left.astype(object) @ right for left, right in terms)  # integers of any size
    return Fraction(sum(products), _SCALE)
