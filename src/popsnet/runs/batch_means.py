"""Batch means: the interval of a mean whose values are correlated.

Also where the warm-up of a run ends: the rule MSER-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np
import numpy.typing as npt

from popsnet.model.network import F64, I64, Ints

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
    >>> from popsnet.runs.batch_means import Cut
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
    >>> from popsnet.runs.batch_means import find_cut
    >>> noise = np.random.default_rng(0).normal(size=200)
    >>> find_cut(noise + 10 * (np.arange(200) < 40))
    Cut(batches=40, is_late=False)
    """
    y = np.asarray(means, np.float64)
    if len(y) < _LEAST:
        return Cut(len(y), True)
    centred = y - y.mean()
    left = len(y) - np.arange(len(y))
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (centred, centred**2))
    scores = np.maximum(squares - sums**2 / left, 0.0) / left**2
    cut = int(np.argmin(scores[: 3 * len(y) // 4 + 1]))
    return Cut(cut, cut > len(y) // 2)


MOST_SUMS = 2048
"""Sums that are kept per series. One more, and neighbours are merged."""
BATCHES = (30, 25, 20)
"""The numbers of batches that are tried, in this order, until they look independent."""
_CONFIDENCE = 0.95
_LEVEL = 0.05
_LARGEST_LAG1 = 0.9


class Sums:
    """Sums of an integer quantity over batches of consecutive slots, in bounded memory.

    Batches have ``width`` slots. It doubles, and neighbours are merged, whenever there would be
    more than ``most`` batches, so the sums do not depend on how the slots were added.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.runs.batch_means import Sums
    >>> sums = Sums(most=4)
    >>> sums.add(np.arange(6))
    >>> sums.width, sums.means.tolist(), sums.slots
    (2, [0.5, 2.5, 4.5], 6)
    """

    def __init__(self, width: int = 1, most: int = MOST_SUMS) -> None:
        self.width = width
        self.slots = 0
        self._sums = np.zeros(most, np.int64)

    def add(self, values: Ints) -> None:
        """Add the values of the next slots."""
        if not len(values):
            return
        while self.slots + len(values) > len(self._sums) * self.width:
            self._sums, self.width = merged(self._sums), 2 * self.width
        places = (self.slots + np.arange(len(values))) // self.width
        begins = np.flatnonzero(np.diff(places, prepend=-1))
        self._sums[places[begins]] += np.add.reduceat(values, begins, dtype=np.int64)
        self.slots += len(values)

    @property
    def means(self) -> F64:
        """The means per slot of the batches that are complete."""
        return self._sums[: self.slots // self.width] / self.width


def merged(sums: I64) -> I64:
    """Return the sums with neighbours added, and zeros behind them."""
    return np.pad(sums[0::2] + sums[1::2], (0, len(sums) // 2))


@dataclass(frozen=True, slots=True)
class BatchMeans:
    """A mean and its interval by batch means.

    Parameters
    ----------
    mean : float
        The mean.
    half_width : float
        Half the width of the 95 % interval.
    batches : int
        The number of batches.
    lag1 : float
        The lag-1 correlation of the batch means.
    independent : bool
        Whether the test found no correlation.
    """

    mean: float
    half_width: float
    batches: int
    lag1: float
    independent: bool


def batch_means(sums: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> BatchMeans | None:
    """Return the mean of a series and its 95 % interval.

    Parameters
    ----------
    sums : array
        Sums of the values in consecutive short batches.
    counts : array, optional
        The number of values in each, by default 1.

    Returns
    -------
    BatchMeans or None
        None if there are fewer than 20 short batches, or no values.

    Notes
    -----
    The short batches are merged into 30 batches of nearly equal length. The mean is the ratio of
    all sums to all counts, and batch i contributes its deviation (sᵢ - mean·cᵢ) / c̄ from it, so
    batches need not have equally many values. The interval is Student's t with one degree of
    freedom less than there are batches. If the lag-1 correlation of the deviations is positive at
    5 %, 25 and then 20 batches are tried (Law and Kelton, *Simulation Modeling and Analysis*). The
    test overlooks moderate correlations, so the interval is always multiplied by
    √((1 + r)/(1 - r)), as for an autoregressive process with the correlation r = lag1 + 1/b, b
    being the number of batches, if that is positive; it is taken to be at most 0.9.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.runs.batch_means import batch_means
    >>> found = batch_means(np.tile([1.0, 3.0], 300))
    >>> found.mean, found.batches, found.independent
    (2.0, 30, True)
    """
    s = np.asarray(sums, np.float64)
    c = np.ones_like(s) if counts is None else np.asarray(counts, np.float64)
    if len(s) < BATCHES[-1] or not c.sum():
        return None
    means = None
    for batches in BATCHES:
        if len(s) >= batches:
            means = _of(grouped(s, batches), grouped(c, batches))
            if means.independent:
                break
    return means


def grouped(values: F64, batches: int) -> F64:
    """Return the sums of the values in this many groups of nearly equal length."""
    sums: F64 = np.add.reduceat(values, np.arange(batches) * len(values) // batches)
    return sums


def dot(x: F64, y: F64) -> float:
    """Return the scalar product, rounded once: that of NumPy depends on the processor."""
    return fsum((x * y).tolist())


def lag1_correlation(deviations: F64) -> float:
    """Return the lag-1 correlation of values whose mean is 0; that of zeros is 0."""
    square = dot(deviations, deviations)
    return dot(deviations[1:], deviations[:-1]) / square if square > 0 else 0.0


def inflation(lag1: float) -> float:
    """Return by how much a positive lag-1 correlation increases a standard error.

    Examples
    --------
    >>> round(inflation(0.5), 3), inflation(-0.5)
    (1.732, 1.0)
    """
    r = min(max(lag1, 0.0), _LARGEST_LAG1)
    return sqrt((1 + r) / (1 - r))


def _of(sums: F64, counts: F64) -> BatchMeans:
    from scipy.special import ndtri, stdtrit

    batches, mean = len(sums), float(sums.sum() / counts.sum())
    deviations = (sums - mean * counts) / counts.mean()
    error = sqrt(dot(deviations, deviations) / (batches - 1) / batches)
    reach = float(stdtrit(batches - 1, (1 + _CONFIDENCE) / 2)) * error
    lag1 = lag1_correlation(deviations)
    # The correlation of independent values has mean -1/b and variance about 1/b.
    largest = float(ndtri(1 - _LEVEL)) / sqrt(batches) - 1 / batches
    reach *= inflation(lag1 + 1 / batches)
    return BatchMeans(mean, reach, batches, lag1, lag1 <= largest)
