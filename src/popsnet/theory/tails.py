"""The tail bounds of the paper, section 3, as stated, and the g from which they say anything.

"With high probability" in the theorem for d = g is the sum of three chances to fail, each a formula
with constants that the proof gives. As numbers they are below 1 only for very large g; the measured
tails are tiny long before. docs/explanation/mei-rizzi-analysis.md says where the proof needs care.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, log, log2

from popsnet.errors import InputError
from popsnet.theory.slot_five import C

_X = 0.25
"""Phase 1 ends at degree gx; the paper wants any x < 1/3, and numbers need one. At the limit 1/3,
which the pictures of phases have, phase 2 would never end."""
_BETA = 1 / 6
"""Phase 3 begins at degree g^(1 - β)."""
_DELTA_ONE = 1 - 2 ** (-1 / 3)
"""So that (1 - δ)³ = 1/2: what phase 1 calls lucky."""
_LARGEST = 10**40


def step_fails(g: float, delta: float) -> float:
    """9g·exp(-δ²(1 - δ)⁴g^(5/6) / 8e²): a group delivers less than (1 - δ)³e^(-2d_s/g) of its own.

    For any step whose conflict graph has a degree d_s from g^(5/6) to g; the last equation before
    the phases in the proof of the theorem for d = g. It is Azuma's inequality for every group at
    both ends and both slots, and the union bound.
    """
    return 9 * g * exp(-(delta**2) * (1 - delta) ** 4 * g ** (5 / 6) / (8 * exp(2)))


def phase_one_steps(x: float = _X) -> int:
    """Y = ⌈log x / log(1 - e^-2/2)⌉ lucky steps bring the degree from g to gx."""
    return ceil(log(x) / log(1 - exp(-2) / 2))


def phase_one_fails(g: float, x: float = _X) -> float:
    """9yg·exp(-αg^(5/6)): one of these steps is not lucky for all groups."""
    return phase_one_steps(x) * step_fails(g, _DELTA_ONE)


def phase_two_steps(g: float, x: float = _X) -> int:
    """The least t with 2^t(1 + log₃ x) ≤ -(log₃ g)/6: λ → 3λ² brings the degree to g^(5/6)."""
    return max(0, ceil(log2(log(g, 3) / 6 / -(1 + log(x, 3)))))


def phase_two_fails(g: float, x: float = _X) -> float:
    """9tg·exp(-β√g): here δ = λ/3, at worst g^(-1/6)/3, which makes β = (1 - δ)⁴/72e².

    The paper's last line has α + β in place of β, which nothing before it gives.
    """
    return phase_two_steps(g, x) * step_fails(g, g ** (-1 / 6) / 3)


def sparse_steps() -> int:
    """3/β steps for degrees up to g^(1 - β): 18 for β = 1/6."""
    return round(3 / _BETA)


def sparse_fails(g: float) -> float:
    """2^(3/β)/g, the lemma for sparse conflict graphs: some packet fails in all 3/β steps."""
    return float(2 ** sparse_steps() / g)


def sparse_tail(packets: int, degree: int, g: int, steps: int) -> float:
    """Packets·(2(degree - 1)/g)^steps: the same lemma before it is rounded, for any degree.

    A packet fails in a step only if one of the other packets at its two ends has its colour.
    """
    return min(1.0, packets * min(1.0, 2 * (degree - 1) / g) ** steps)


def square_steps(g: float) -> int:
    """All three phases: O(log log g) steps, most of them the constants 20 and 18."""
    return phase_one_steps() + phase_two_steps(g) + sparse_steps()


def square_fails(g: float) -> float:
    """The theorem for d = g: not all packets are delivered within :func:`square_steps`."""
    return phase_one_fails(g) + phase_two_fails(g) + sparse_fails(g)


def thinning_fails(g: float) -> float:
    """9g·exp(-δ²(1 - δ)⁴g^(5/6)/8e²) + 4g·exp(-δ²g/4), δ = g^(-1/3), section 3.2.

    The chance that the degree does not fall from d to g as planned, as printed: of one step, though
    the text has the union bound over all of them.
    """
    delta = g ** (-1 / 3)
    return step_fails(g, delta) + 4 * g * exp(-(delta**2) * g / 4)


def general_constant(g: float) -> float:
    """What c + ε(g) is at least: c/(1 - g^(-1/3))⁴; the law with 4 is covered where this is ≤ 4."""
    return C / (1 - g ** (-1 / 3)) ** 4 if g > 1 else inf


@dataclass(frozen=True)
class Tail:
    """A chance to fail, by g."""

    name: str
    fails: Callable[[float], float]
    steps: Callable[[float], int] | None
    """In how many steps it should be done, where the proof has a number."""
    reference: str


TAILS = (
    Tail("phase 1, degree g to g/4", phase_one_fails, lambda _: phase_one_steps(), "3.1, phase 1"),
    Tail("phase 2, to g^(5/6)", phase_two_fails, phase_two_steps, "3.1, phase 2"),
    Tail("phase 3, sparse", sparse_fails, lambda _: sparse_steps(), "3.1, the lemma"),
    Tail("all packets home, d = g", square_fails, square_steps, "3.1, the theorem"),
    Tail("one step of d > g", thinning_fails, None, "3.2, the theorem"),
)
"""The statements of the paper that are numbers."""


def smallest_g(fails: Callable[[float], float], level: float = 1.0) -> int:
    """The least g from which on a chance to fail is below a level; by doubling and halving.

    The bounds grow with g at first, from above 1, and then fall for ever.
    """
    high = 2
    while not (fails(high) < level and fails(2 * high) < fails(high)):
        high *= 2
        if high > _LARGEST:
            raise InputError(f"level = {level}: no g up to {_LARGEST:.0e} is enough.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) < level else (middle, high)
    return high
