"""The tail bounds of the paper, section 3, as stated, and the g from which they are below 1.

"With high probability" in the theorem for d = g is the sum of three failure probabilities, each a
formula with constants that the proof gives. As numbers they are below 1 only for very large g; the
measured tails are tiny long before. docs/explanation/mei-rizzi-analysis.md says where the proof
needs care.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, log, log2

from popsnet.base.errors import wrong

_X = 0.25
"""Phase 1 ends at degree gx; the paper allows any x < 1/3, and numbers need one. At the limit 1/3,
which the figures of phases use, phase 2 would never end."""
_BETA = 1 / 6
"""Phase 3 begins at degree g^(1 - β)."""
_DELTA_ONE = 1 - 2 ** (-1 / 3)
"""Chosen so that (1 - δ)³ = 1/2, which makes a step lucky in phase 1."""
_LARGEST = 10**40


def step_fails(g: float, delta: float) -> float:
    """Bound the probability that a step delivers less than (1 - δ)³e^(-2d_s/g) of some group.

    The bound is 9g·exp(-δ²(1 - δ)⁴g^(5/6) / 8e²) for any step whose conflict graph has a degree d_s
    from g^(5/6) to g: the last equation before the phases in the proof of the theorem for d = g. It
    is Azuma's inequality for every group at both ends and both slots, and the union bound.
    """
    return 9 * g * exp(-(delta**2) * (1 - delta) ** 4 * g ** (5 / 6) / (8 * exp(2)))


def phase_one_steps(x: float = _X) -> int:
    """Return the lucky steps that reduce the degree from g to gx: ⌈log x / log(1 - e^-2/2)⌉."""
    return ceil(log(x) / log(1 - exp(-2) / 2))


def phase_one_fails(g: float, x: float = _X) -> float:
    """Bound the probability that a step of phase 1 is not lucky: 9yg·exp(-αg^(5/6))."""
    return phase_one_steps(x) * step_fails(g, _DELTA_ONE)


def phase_two_steps(g: float, x: float = _X) -> int:
    """Return the steps of λ → 3λ² that reduce the degree from gx to g^(5/6).

    It is the least t with 2^t(1 + log₃ x) ≤ -(log₃ g)/6.
    """
    return max(0, ceil(log2(log(g, 3) / 6 / -(1 + log(x, 3)))))


def phase_two_fails(g: float, x: float = _X) -> float:
    """Bound the probability that a step of phase 2 is not lucky: 9tg·exp(-β√g).

    Here δ = λ/3, at worst g^(-1/6)/3, which gives β = (1 - δ)⁴/72e². The paper's last line has
    α + β in place of β, which does not follow from the steps before.
    """
    return phase_two_steps(g, x) * step_fails(g, g ** (-1 / 6) / 3)


def sparse_steps() -> int:
    """Return the steps for degrees up to g^(1 - β): 3/β, which is 18 for β = 1/6."""
    return round(3 / _BETA)


def sparse_fails(g: float) -> float:
    """Bound the probability that some packet fails in all 3/β steps of phase 3: 2^(3/β)/g."""
    return float(2 ** sparse_steps() / g)


def square_steps(g: float) -> int:
    """Return the steps of all three phases: O(log log g), most of them the constants 20 and 18."""
    return phase_one_steps() + phase_two_steps(g) + sparse_steps()


def square_fails(g: float) -> float:
    """Bound the probability that packets are left after :func:`square_steps`, for d = g."""
    return phase_one_fails(g) + phase_two_fails(g) + sparse_fails(g)


def thinning_fails(g: float) -> float:
    """Bound the probability that the degree does not fall from d to g as planned (section 3.2).

    The bound is 9g·exp(-δ²(1 - δ)⁴g^(5/6)/8e²) + 4g·exp(-δ²g/4) with δ = g^(-1/3), as printed: for
    one step, though the text has the union bound over all steps.
    """
    delta = g ** (-1 / 3)
    return step_fails(g, delta) + 4 * g * exp(-(delta**2) * g / 4)


@dataclass(frozen=True)
class Tail:
    """A failure probability as a function of g.

    Examples
    --------
    >>> from popsnet.theory import TAILS
    >>> [tail.name for tail in TAILS][:2]
    ['phase 1, degree g to g/4', 'phase 2, to g^(5/6)']
    """

    name: str
    fails: Callable[[float], float]
    """The bound on the failure probability."""
    steps: Callable[[float], int] | None
    """The number of steps, if the proof gives one."""
    reference: str


TAILS = (
    Tail("phase 1, degree g to g/4", phase_one_fails, lambda _: phase_one_steps(), "3.1, phase 1"),
    Tail("phase 2, to g^(5/6)", phase_two_fails, phase_two_steps, "3.1, phase 2"),
    Tail("phase 3, sparse", sparse_fails, lambda _: sparse_steps(), "3.1, the lemma"),
    Tail("all packets delivered, d = g", square_fails, square_steps, "3.1, the theorem"),
    Tail("one step of d > g", thinning_fails, None, "3.2, the theorem"),
)
"""The tail bounds of the paper that have constants."""


def smallest_g(fails: Callable[[float], float], level: float = 1.0) -> int:
    """Find the least g from which on a failure probability is below a level.

    Parameters
    ----------
    fails : function
        The bound as a function of g, such as ``Tail.fails``.
    level : float
        The level, above 0.

    Returns
    -------
    int
        The least g, found by doubling and bisection.

    Raises
    ------
    InputError
        If no g up to 10^40 is large enough.

    Notes
    -----
    The bounds first grow with g, from above 1, and then decrease for ever.

    Examples
    --------
    >>> from popsnet.theory import smallest_g
    >>> smallest_g(lambda g: 100 / g)
    101
    """
    high = 2
    while not (fails(high) < level and fails(2 * high) < fails(high)):
        high *= 2
        if high > _LARGEST:
            raise wrong("level", level)(
                f"no g up to {_LARGEST:.0e} is large enough; give a larger level."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) < level else (middle, high)
    return high
