"""Where the warm-up of a run ends: the rule MSER-5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

BATCH = 5
"""Slots per batch in MSER-5."""
_LEAST = 20
"""Batches without which nothing is said."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the warm-up ends.

    Parameters
    ----------
    batches : int
        The batches to be left out.
    is_late : bool
        Whether they are more than half of the series, so that it is too short.

    Examples
    --------
    >>> from popsnet.traffic.warm_up import Cut
    >>> Cut(batches=12, is_late=False).batches
    12
    """

    batches: int
    is_late: bool


def find_cut(means: npt.ArrayLike) -> Cut:
    """Return how many batches to leave out at the beginning of a series, by MSER.

    Parameters
    ----------
    means : array
        Means of consecutive batches, of five slots each for MSER-5.

    Returns
    -------
    Cut
        The cut, and whether it lies past half. It does if there are fewer than 20 batches.

    Notes
    -----
    The cut minimizes the squared standard error of the mean of what remains, as if batches were
    independent: Σ (yⱼ - ȳ)² / (k - c)² over the last k - c batches (K. P. White, "An effective
    truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997). The
    last quarter of the series is not tried: a few equal values at its end would always win.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.traffic.warm_up import find_cut
    >>> noise = np.random.default_rng(0).normal(size=200)
    >>> find_cut(noise + 10 * (np.arange(200) < 40))
    Cut(batches=40, is_late=False)
    """
    y = np.asarray(means, np.float64)
    if len(y) < _LEAST:
        return Cut(len(y), True)
    scores = _scores(y)[: 3 * len(y) // 4 + 1]
    cut = int(np.argmin(scores))
    return Cut(cut, cut > len(y) // 2)


def _scores(y: F64) -> F64:
    """Return the squared standard error of the mean of what remains after each cut."""
    centred = y - y.mean()
    left = len(y) - np.arange(len(y))
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (centred, centred**2))
    scores: F64 = np.maximum(squares - sums**2 / left, 0.0) / left**2
    return scores
