"""What slot 5 costs the published protocol where d > g: the constant c, and c with slot 5 counted.

With one packet a coupler in slot 1 a packet is alone there with probability 1/e; of what is left,
1/e a coupler, one is alone in slot 2 with probability e^(-1/e). So a step brings 1/c packets a
coupler to their temporary groups, c = e^(1 + 1/e), and d/g falls to 1 in c(d/g - 1) steps: the
constant of the paper, section 3.2.

For d = g that is delivery. For d > g it is not: k = d/g destinations of a group share a residue,
and with it a coupler of slot 5. Each is arrived for in a step with probability 1/(ck), so that an
arriving packet is alone with probability (1 - 1/(ck))^(k - 1). If packets that fail there were
tried again, a step would deliver so many fewer: the constant becomes c(1 - 1/(ck))^(1 - k), which
is c at k = 1 and tends to c·e^(1/c) ≈ 5.066 as k grows. One packet a coupler remains the best load:
what arrives, y = 1/c, is largest there, and y(1 - y/k)^(k - 1) grows with y below 1.
"""

from __future__ import annotations

from math import exp

from popsnet.theory.fluid import loads

C = exp(1 + exp(-1))
"""Steps for each packet a coupler by which the load must fall: about 3.927."""

C_WITH_SLOT_FIVE = C * exp(1 / C)
"""The same with slot 5 counted, for d much larger than g: about 5.066."""

_NOTHING = 1e-12


def c_with_slot_five(ratio: float) -> float:
    """The constant with slot 5 counted, for d = ratio·g, ratio ≥ 1."""
    return C / _alone(1 / C, ratio)


def lost_share(ratio: float) -> float:
    """The share of all packets that ``published`` loses in the limit of large networks.

    Its sources drop what has arrived at the temporary group, so that loads fall as in the fluid
    limit; of y packets a coupler that arrive in a step y(1 - (1 - y/k)^(k - 1)) meet in slot 5.
    """
    lost, load = 0.0, ratio
    for after in loads(ratio):
        arrived = load - after
        lost += arrived * (1 - _alone(arrived, ratio))
        load = after
        if load < _NOTHING:
            return lost / ratio
    raise AssertionError("loads never end")


def _alone(arrived: float, ratio: float) -> float:
    """The chance that none of the other destinations of a group and residue is arrived for."""
    return float((1 - arrived / ratio) ** (ratio - 1))
