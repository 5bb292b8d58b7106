"""Events: what an engine tells its observers about each slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypedDict

FORMAT = "popsnet-trace"
VERSION = 1

Send: TypeAlias = tuple[int, Sequence[int], str, int | None]
"""A message: processor, groups, kind, packet."""

Listen: TypeAlias = tuple[int, int]
"""A listener: processor, group."""


Hold: TypeAlias = tuple[int, int]
"""A packet that a processor keeps, drops or delivers: processor, packet."""


Arrival: TypeAlias = tuple[int, int, int]
"""A packet that arrives at the beginning of a slot: processor, packet, destination."""


class TraceWords(TypedDict, total=False):
    """The fields of a header that explain a run to readers.

    Examples
    --------
    >>> from popsnet.trace import TraceWords
    >>> TraceWords(explanation="One hop.", phases={"slot *": "Packets go to their destinations."})
    {'explanation': 'One hop.', 'phases': {'slot *': 'Packets go to their destinations.'}}
    """

    explanation: str
    """What the router does."""
    phases: dict[str, str]
    """What happens in a phase, by pattern. The first pattern that matches is used."""
    conflict_graph: str
    """How the conflict graph of a step groups destinations: ``group`` or ``residue``."""


class Event(NamedTuple):
    """One executed slot, as observers see it.

    Parameters
    ----------
    slot : int
        The number of the slot, counting from 1.
    phase : str
        The name that the router gave the slot.
    step : int
        The step of the router, counting from 0.
    pending : int
        Packets that were not delivered when the slot began.
    records : function
        Returns what was sent and listened to, two lists of tuples, worked out when called.

    Notes
    -----
    The engine ``fused`` executes no single slots. It reports now and then how far a run is: the
    slots and steps that are done, and the packets that are not delivered then.

    Examples
    --------
    >>> import popsnet
    >>> seen = []
    >>> _ = popsnet.route(2, 2, router="direct", observers=[seen.append])
    >>> seen[0].slot, seen[0].phase, seen[0].pending
    (1, 'to destination', 4)
    """

    slot: int
    phase: str
    step: int
    pending: int
    records: Callable[[], tuple[list[Send], list[Listen]]]
    wavelengths: Callable[[], tuple[list[int], list[int]]] | None = None
    """Returns the wavelength of every message and of every listener, in the order of ``records``.
    None if couplers have one wavelength."""
    control_bits: int | None = None
    """The bits in all messages of the slot together, besides packets. None if the engine does not
    count them."""


Observer: TypeAlias = Callable[[Event], None]
"""A function that is called after every slot."""
