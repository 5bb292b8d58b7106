"""The cost of slot 5 to the published protocol for d > g: the constant c without and with slot 5.

With one packet per coupler in slot 1 a packet is alone there with probability 1/e; of the
survivors, 1/e per coupler, a packet is alone in slot 2 with probability e^(-1/e). So a step brings
1/c packets per coupler to their temporary groups, c = e^(1 + 1/e), and d/g falls to 1 in c(d/g - 1)
steps: the constant of the paper, section 3.2.

For d = g these packets are delivered. For d > g they are not: k = d/g destinations of a group share
a residue, and with it a coupler of slot 5. For each of them a packet arrives in a step with
probability 1/(ck), so an arriving packet is alone with probability (1 - 1/(ck))^(k - 1). If packets
that fail there were sent again, a step would deliver fewer by this factor: the constant becomes
c(1 - 1/(ck))^(1 - k), which is c at k = 1 and tends to c·e^(1/c) ≈ 5.066 as k grows. One packet per
coupler remains the best load: the arrivals, y = 1/c, are largest there, and y(1 - y/k)^(k - 1)
grows with y below 1.
"""

from __future__ import annotations

from math import exp, floor

from popsnet.theory.fluid import loads, require_ratio

C = exp(1 + exp(-1))
"""The steps needed to reduce the load by one packet per coupler: about 3.927."""

C_WITH_SLOT_FIVE = C * exp(1 / C)
"""The same with slot 5 counted, for d much larger than g: about 5.066."""

_NOTHING = 1e-12


def c_with_slot_five(ratio: float) -> float:
    """Return the constant c with slot 5 counted, for d = ratio·g.

    Parameters
    ----------
    ratio : float
        The ratio d/g, at least 1. The formula is derived for integers.

    Returns
    -------
    float
        c(1 - 1/(c·ratio))^(1 - ratio).

    Examples
    --------
    >>> from popsnet.theory import c_with_slot_five
    >>> round(c_with_slot_five(1), 3), round(c_with_slot_five(1000), 3)
    (3.927, 5.065)
    """
    require_ratio(ratio)
    return float(C * (1 - 1 / (C * ratio)) ** (1 - ratio))


def lost_share(ratio: float) -> float:
    """Return the share of all packets that ``published`` loses in the limit of large networks.

    Parameters
    ----------
    ratio : float
        The ratio k = d/g, at least 1.

    Returns
    -------
    float
        The share of lost packets. Networks with few groups lose another share: POPS(16, 4) loses
        15.0 % and not 17.2 %.

    Notes
    -----
    The sources drop packets that have arrived at the temporary group, so loads fall as in the fluid
    limit. Of y packets per coupler that arrive in a step, y(1 - (1 - y/k)^(k - 1)) collide in
    slot 5. If k is not an integer, some couplers of slot 5 lead to ⌊k⌋ destinations of a residue
    and the others to ⌈k⌉; a packet arrives for each of them with probability y/k.

    Examples
    --------
    >>> from popsnet.theory import lost_share
    >>> round(lost_share(1), 3), round(lost_share(4), 3)
    (0.0, 0.172)
    """
    require_ratio(ratio)
    fewest = floor(min(ratio, 2**53))  # the limit is refused for ratios that are much smaller
    more = ratio - fewest
    lost, load = 0.0, ratio
    for after in loads(ratio):
        arrives = (load - after) / ratio
        alone = (1 - more) * fewest * (1 - arrives) ** (fewest - 1)
        alone += more * (fewest + 1) * (1 - arrives) ** fewest
        lost += arrives * (ratio - alone)
        load = after
        if load < _NOTHING:
            return lost / ratio
    raise AssertionError("loads never end")
