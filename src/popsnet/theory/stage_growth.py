"""How relay's stages grow with g: sweeps, marked stages and team stages, in the fluid limit.

For d = g, and from the fraction ρ of pending packets before a stage, a plain sweep leaves
ρ(1 - e^-ρ), about ρ², in 3 slots; a marked stage ρ(1 - e^-ρ(1 - ρ)²), about 3ρ², in 2 slots; a team
stage ρ(1 - e^(-2rρ))^r in 8 slots, which for the best r is ρe^(-0.24/ρ). So the exponent of ρ
doubles in a sweep or a marked stage, and becomes a power of e in a team stage.

All fractions are kept as L = -ln ρ, so g may be so large that ρ is below the smallest float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import exp, expm1, floor, isfinite, log, log1p, log2

from popsnet.base.errors import InputError, wrong

SWEEP_SLOTS, MARKED_SLOTS, TEAM_SLOTS = 3, 2, 8
"""The slots of a stage for d = g."""

EXPONENTS = (4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 128, 256, 1024, 2**16, 2**32, 2**64)
"""The values of log2 g that :func:`growth` lists unless it is told others."""

LEFT = 0.01
"""The mean number of packets at which a schedule is said to end, unless told otherwise."""

_SEED_SLOTS = 1
_EXACT = 40.0
"""From this L on, a stage of one place squares ρ to all digits of a float."""
_LARGEST_EXPONENT = 1e300


@dataclass(frozen=True, slots=True)
class Growth:
    """The slots that relay's stages need on POPS(g, g), in the fluid limit.

    Examples
    --------
    >>> from popsnet.theory import growth
    >>> row = growth([64])[0]
    >>> row.sweeps, row.marked, row.team
    (28, 22, 24)
    """

    log2_g: float
    sweeps: int
    """Slots with sweeps alone, and one slot for the seed, as in the other numbers."""
    marked: int
    """Slots with sweeps and then marked stages (Q), if any."""
    marked_sweeps: int
    """How many sweeps come before the marked stages."""
    team: int
    """Slots with sweeps and then at least one team stage (T)."""
    team_sweeps: int
    """How many sweeps come before the team stages."""
    candidates: tuple[int, ...]
    """The number r of candidates in each team stage."""
    proof: int
    """Slots in the proof that all packets are delivered with probability 1 - 1/g, for large g."""
    log2_log2_g: float
    log_star_g: int
    """How often the logarithm to base 2 must be taken of g until it is at most 1."""


def growth(exponents: Iterable[float] = EXPONENTS, left: float = LEFT) -> tuple[Growth, ...]:
    """Compare sweeps, marked stages and team stages on POPS(g, g) in the fluid limit.

    Parameters
    ----------
    exponents : iterable of float
        The values of log2 g, each from 1 to 10^300.
    left : float
        The stages go on until fewer than this many packets are pending on average. So by Markov's
        inequality all packets are delivered with probability at least 1 - ``left``.

    Returns
    -------
    tuple of Growth
        A row for each value of log2 g.

    Raises
    ------
    InputError
        If a value of log2 g or ``left`` is out of range.

    Notes
    -----
    The schedules are the shortest of their kind: a number of sweeps, then stages of the other kind.
    A team stage has the best r, or the smallest r that is enough to end. Sweeps and marked
    stages take O(log log g) slots, and team stages O(log* g).

    Examples
    --------
    >>> from popsnet.theory import growth
    >>> [(row.sweeps, row.marked, row.team) for row in growth([10, 1024, 2**64])]
    [(19, 18, 21), (40, 30, 24), (202, 138, 29)]
    """
    if not 0 < left < 1:
        raise wrong("left", left)("give a number of packets between 0 and 1.")
    return tuple(_row(exponent, left) for exponent in exponents)


def first_shorter(than: str, left: float = LEFT, most: int = 256) -> int | None:
    """Return the least k such that team stages are shorter for every g = 2^k, 2^(k+1), …, 2^most.

    Parameters
    ----------
    than : {"sweeps", "marked"}
        The stages to compare with.
    left : float
        As in :func:`growth`.
    most : int
        The largest k that is looked at.

    Returns
    -------
    int or None
        The least k, or None if there is none.

    Examples
    --------
    >>> from popsnet.theory import first_shorter
    >>> first_shorter("sweeps")
    12
    """
    least = None
    for exponent in range(most, 0, -1):
        (row,) = growth([exponent], left)
        if row.team >= getattr(row, than):
            break
        least = exponent
    return least


def _row(exponent: float, left: float) -> Growth:
    if not 1 <= exponent <= _LARGEST_EXPONENT:
        raise InputError(f"log2 g = {exponent}: it must be from 1 to {_LARGEST_EXPONENT:g}.")
    goal = 2 * exponent * log(2) - log(left)
    after_sweeps = list(_until(goal, after_sweep, 0.0))
    marked, marked_sweeps = min(_with_marked(goal, after_sweeps))
    team, team_sweeps, before, best = min(_with_teams(exponent, goal, after_sweeps))
    return Growth(
        exponent,
        _SEED_SLOTS + SWEEP_SLOTS * (len(after_sweeps) - 1),
        _SEED_SLOTS + marked,
        -marked_sweeps,
        _SEED_SLOTS + team,
        -team_sweeps,
        (*best[:-1], _fewest_candidates(goal, before, best[-1])),
        _SEED_SLOTS + TEAM_SLOTS * _stages_of_the_proof(exponent),
        log2(exponent),
        log_star(exponent) + 1,
    )


def _until(goal: float, after: Callable[[float], float], logarithm: float) -> Iterator[float]:
    """Yield L before the first stage and after each, up to the first that reaches the goal."""
    yield logarithm
    while logarithm < goal:
        logarithm = after(logarithm)
        yield logarithm


def _with_marked(goal: float, after_sweeps: list[float]) -> Iterator[tuple[int, int]]:
    """Yield the slots with each number of sweeps before marked stages; more sweeps are preferred.

    Without a sweep no marked stage delivers anything.
    """
    for sweeps, logarithm in enumerate(after_sweeps[1:], start=1):
        stages = sum(1 for _ in _until(goal, after_mark, logarithm)) - 1
        yield SWEEP_SLOTS * sweeps + MARKED_SLOTS * stages, -sweeps


def _with_teams(
    exponent: float, goal: float, after_sweeps: list[float]
) -> Iterator[tuple[int, int, float, tuple[int, ...]]]:
    """Yield the slots with each number of sweeps before at least one team stage.

    With them come L before the last stage, and the best r of each.
    """
    for sweeps, logarithm in enumerate(after_sweeps[:-1]):
        candidates: list[int] = []
        while logarithm < goal:
            before = logarithm
            candidates.append(_best_candidates(exponent, before))
            logarithm = after_team(before, candidates[-1])
        slots = SWEEP_SLOTS * sweeps + TEAM_SLOTS * len(candidates)
        yield slots, -sweeps, before, tuple(candidates)


def after_sweep(logarithm: float) -> float:
    """Return L after a plain sweep."""
    if logarithm > _EXACT:
        return 2 * logarithm
    return logarithm - log(-expm1(-exp(-logarithm)))


def after_mark(logarithm: float) -> float:
    """Return L after a marked stage of one place, from L > 0."""
    if logarithm > _EXACT:
        return 2 * logarithm - log(3)
    rho = exp(-logarithm)
    return logarithm - log(-expm1(2 * log1p(-rho) - rho))


def after_team(logarithm: float, candidates: int) -> float:
    """Return L after a team stage of r candidates."""
    load = log(2 * candidates) - logarithm  # of 2rρ
    shared = load if load < -_EXACT else log(-expm1(-exp(load)))
    return logarithm - candidates * shared


def _best_candidates(exponent: float, logarithm: float) -> int:
    """Return the r ≤ g that leaves least: 2rρ is about ln 2, and up to there more are better."""
    largest: int = 2 ** floor(min(exponent, 1000.0))
    below = max(floor(exp(min(logarithm, 690.0)) * log(2) / 2), 1)
    choices = min(below, largest), min(below + 1, largest)
    return max(choices, key=lambda r: after_team(logarithm, r))


def _fewest_candidates(goal: float, logarithm: float, best: int) -> int:
    """Return the smallest r with which a stage reaches the goal, as it does with the best r."""
    low, high = 0, best
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if after_team(logarithm, middle) >= goal else (middle, high)
    return high


def _stages_of_the_proof(exponent: float) -> int:
    """Return the team stages in the proof for failures of probability at most 1/g.

    Seven stages with r = 1 leave ρ ≤ 0.006, so z = 1/(2eρ) > 30. Then z grows to at least e^z per
    stage, and as soon as it is at least 4 ln g one more stage ends the run.
    """
    z, stages = 30.0, 7
    while z < 4 * exponent * log(2):
        z, stages = exp(min(z, 700.0)), stages + 1
    return stages + 1


def log_star(number: float) -> int:
    """Return how often the logarithm to base 2 must be taken until the number is at most 1."""
    if not isfinite(number):
        raise InputError(f"log* of {number} is not defined.")
    times = 0
    while number > 1:
        number, times = log2(number), times + 1
    return times
