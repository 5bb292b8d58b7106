"""How propagation lengthens a run, or the delay of a packet: computed, not simulated.

Let a message that is sent in slot s arrive by the end of slot s + τ, for all processors alike. The
slots of popsnet have τ = 0. Whatever runs on popsnet runs with propagation, too, if

- *every slot waits*: slot s of the run is sent in slot s(1 + τ), when everything that was sent
  before has arrived. The run takes (1 + τ) times as long, and 1 + τ runs fit into each other;
- or, for traffic that does not end, *1 + τ schedulers are interleaved*: number j has the slots
  j, j + (1 + τ), …, and the packets that arrive in them. Each of them sees slots that are 1 + τ
  times as long, and everything in time. All carry the same load as one, and delays are 1 + τ
  times as long.

What is sent by a schedule that is known beforehand need not wait. The routers and schedulers for
which this holds state it, with the reason, in their own files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from popsnet.model.network import Network

Accuracy: TypeAlias = Literal["exact", "bound", "estimate"]
Lengthened: TypeAlias = Callable[[Network, float, float, int], float]


@dataclass(frozen=True)
class Propagation:
    """The rule by which propagation lengthens slots.

    Parameters
    ----------
    rule : str
        The rule, in a few words.
    lengthen : function
        Returns the slots with propagation, of a network, the slots without, the hops of a packet,
        and τ.
    accuracy : {"exact", "bound", "estimate"}
        Whether this many slots are taken, at most this many, or about this many on average.
    hops : int
        The most hops of a packet, for percentiles and maxima.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.hardware import EVERY_SLOT_WAITS, ONE_HOP
    >>> EVERY_SLOT_WAITS.slots(Network(4, 4), 10, tau=2), ONE_HOP.slots(Network(4, 4), 10, tau=2)
    (30, 12)
    """

    rule: str
    lengthen: Lengthened
    accuracy: Accuracy = "exact"
    hops: int = 1

    def slots(
        self, network: Network, slots: float, *, tau: int, hops: float | None = None
    ) -> float:
        """Return the slots with propagation.

        Parameters
        ----------
        network : Network
            The network.
        slots : float
            The slots without propagation.
        tau : int
            The slots by which a message arrives later.
        hops : float, optional
            The hops of a packet, by default the most.
        """
        return self.lengthen(network, slots, self.hops if hops is None else hops, tau)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule and its accuracy."""
        return {"rule": self.rule, "accuracy": self.accuracy}

    def __str__(self) -> str:
        return self.rule if self.accuracy == "exact" else f"{self.rule} ({self.accuracy})"


def _stretched(network: Network, slots: float, hops: float, tau: int) -> float:
    return slots * (1 + tau)


def _shifted(network: Network, slots: float, hops: float, tau: int) -> float:
    return slots + tau


EVERY_SLOT_WAITS = Propagation("every slot waits for the one before: slots × (1 + τ)", _stretched)
"""The rule that holds for every router."""

INTERLEAVED = Propagation("1 + τ interleaved schedulers: delay × (1 + τ)", _stretched)
"""The rule that holds for every scheduler."""

ONE_HOP = Propagation("one hop, nothing waits: + τ", _shifted)
"""The rule of what sends in one hop, and depends on nothing that is heard."""


def rounded_up(tau: int, period: int) -> int:
    """Return the smallest multiple of a period that is at least τ.

    Examples
    --------
    >>> rounded_up(3, 2), rounded_up(4, 2)
    (4, 4)
    """
    return -(-tau // period) * period
