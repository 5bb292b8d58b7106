"""When a point of traffic stops: the lengths of its warm-up and of its window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from popsnet.base.errors import wrong
from popsnet.experiment.experiment import whole_number
from popsnet.model.network import Network

MOST_INSIDE = 2**24
"""A run with more packets inside ends."""
SHORTEST_FRAME = 200
"""Slots of the shortest unit of waiting."""
_WARM_FRAMES, _HOPELESS_FRAMES = 5, 20
_MOST_SLOTS = 2**30
_PROCESSOR_SLOTS = 2**27
"""Slots times processors of the longest window by default."""


def share_of_mean(precision: object) -> float:
    """Return a precision, half the width of a 95 % interval, as a share of the mean.

    >>> share_of_mean("2%"), share_of_mean(0.02)
    (0.02, 0.02)
    """
    number, share = r"(\d{1,18}\.?\d{0,18}|\.\d{1,18})\s*(%?)", 0.0
    if isinstance(precision, int | float) and not isinstance(precision, bool):
        share = float(precision)
    elif match := re.fullmatch(number, str(precision).strip()):
        share = float(Fraction(match[1]) / (100 if match[2] else 1))
    if not 0 < share < 1:
        raise wrong("precision", precision)(
            "it must be between 0 and 1, such as 2% or 0.02: half the width of the 95 % interval, "
            "as a share of the mean."
        )
    return share


@dataclass(frozen=True, slots=True)
class StopRule:
    """How long a point may run.

    Parameters
    ----------
    network : Network
        The network.
    period : int
        The period of the scheduler in slots.
    slots : int, optional
        The length of the window. None: until the precision is reached.
    precision : float
        Half the width of the 95 % interval of the mean delay, as a share of the mean.
    max_slots : int, optional
        The longest window. None: as many slots as a network of this size may take.
    warm_up : int, optional
        The length of the warm-up. None: by MSER-5.
    max_inside : int
        The most packets inside.
    is_list : bool
        Whether the packets are a list, which ends: it is drained until all are delivered.
    until_delivered : bool
        Whether the window begins with ``slots`` slots in which packets arrive, and ends when all
        are delivered.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.experiment.stop import StopRule
    >>> StopRule(Network(8, 8), period=64).longest
    2097152
    """

    network: Network
    period: int = 1
    slots: int | None = None
    precision: float = 0.02
    max_slots: int | None = None
    warm_up: int | None = None
    max_inside: int = MOST_INSIDE
    is_list: bool = False
    until_delivered: bool = False

    def __post_init__(self) -> None:
        for name, least in {"period": 1, "slots": 1, "max_slots": 1, "warm_up": 0}.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole_number(name, value, least, _MOST_SLOTS))
        object.__setattr__(self, "precision", share_of_mean(self.precision))
        whole_number("max_inside", self.max_inside, 1)

    @property
    def frame(self) -> int:
        """The unit of waiting: the period of the scheduler, at least 200 slots."""
        return max(self.period, SHORTEST_FRAME)

    @property
    def longest(self) -> int:
        """The slots of the longest window."""
        most = max(100 * self.frame, _PROCESSOR_SLOTS // self.network.n)
        return self.slots or self.max_slots or min(most, _MOST_SLOTS)

    @property
    def first_warm_up(self) -> int:
        """The slots after which the end of the warm-up is looked for."""
        return _WARM_FRAMES * self.frame

    @property
    def hopeless_after(self) -> int:
        """The slots after which a run whose backlog grows fast is ended."""
        return _HOPELESS_FRAMES * self.frame

    @property
    def most_warm_up(self) -> int:
        """The slots after which the warm-up is ended in any case."""
        return max(self.first_warm_up, self.longest // 2)
