"""Traffic matrices of the kinds that plans are measured on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int64]

SEED = 20261115


def families(g: int) -> dict[str, Matrix]:
    """Return matrices for g groups by name, with nothing inside groups; g is at least 8."""
    rng, groups = np.random.default_rng(SEED), np.arange(g)
    weights = np.outer(rng.lognormal(0, 0.7, g), rng.lognormal(0, 0.7, g))
    hot = np.full((g, g), 15.0)
    hot[:, : max(1, g // 16)] += 5 * g / max(1, g // 16)
    background = rng.poisson(5, (g, g))
    one_entry, one_row, blocks = (np.zeros((g, g), dtype=np.int64) for _ in range(3))
    one_entry[3, 5] = 20 * g
    one_row[3, g - g // 4 :] = 100
    blocks[: g // 2, g // 2 :] = 20
    blocks[0, g - 1] = 200
    heavy_row = background.copy()
    heavy_row[3] = 60
    found = {
        "poisson": rng.poisson(20, (g, g)),
        "gravity": rng.poisson(20 * weights / weights.mean()),
        "hotspot": rng.poisson(hot),
        "sparse": _sparse(g, rng),
        "group permutation": 5 * g * _shifted(g, 1),
        "three permutations": 3 * g * _shifted(g, 1) + g * _shifted(g, 2) + g // 2 * _shifted(g, 5),
        "heavy row": heavy_row,
        "one row": one_row,
        "one entry": one_entry,
        "one entry and others": background + one_entry // 2,
        "blocks": blocks,
    }
    for matrix in found.values():
        matrix[groups, groups] = 0
    return found


def _sparse(g: int, rng: np.random.Generator) -> Matrix:
    """Three partners for every group."""
    matrix = np.zeros((g, g), dtype=np.int64)
    for a in range(g):
        partners = (a + 1 + rng.permutation(g - 1)[:3]) % g
        matrix[a, partners] = rng.poisson(20 * g / 6, 3)
    return matrix


def _shifted(g: int, by: int) -> Matrix:
    matrix = np.zeros((g, g), dtype=np.int64)
    matrix[np.arange(g), (np.arange(g) + by) % g] = 1
    return matrix


def simple_bound(counts: Matrix, d: int) -> int:
    """Return a bound that counts the hops of couplers and groups.

    In T slots a group sends at most min(d, g)·T packets. Those of the last slot go straight, so
    they have different destination groups. The same is true of what it receives and the first slot.
    Between the two halves of the groups, h·(g - h) couplers lead either way.
    """
    g, total = len(counts), int(counts.sum())
    m, inside = min(d, g), np.diag(counts)
    half = g // 2
    crossing = max(int(counts[:half, half:].sum()), int(counts[half:, :half].sum()))
    slots = 1 if total else 0
    while True:
        own = np.minimum(inside, slots)
        hops = total + int(np.maximum(counts - slots, 0).sum())
        fits = hops <= min(slots * g * m, slots * g * (g - 1) + int(own.sum()))
        fits = fits and crossing <= slots * half * (g - half)
        for lines in (counts, counts.T):
            sums, partners = lines.sum(axis=1), np.count_nonzero(lines, axis=1)
            most = m * (slots - 1) + np.minimum(m, partners)
            fits = fits and bool((sums <= np.minimum(most, (g - 1) * slots + own)).all())
        if fits and (slots > 1 or counts.max(initial=0) <= slots):
            return slots
        slots += 1
