"""What a router states about itself: expected slots, bounds, and words that explain its traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.theory.bounds import Bound
from popsnet.trace import TraceWords

Text: TypeAlias = str | Callable[[Network], str]
"""A sentence or two, always the same or made for a network."""

Phases: TypeAlias = Mapping[str, Text]
"""What happens in a phase, by pattern; see :class:`Words`."""


@dataclass(frozen=True)
class Expectation:
    """The slots that the default variant of a router is expected to take."""

    slots: Callable[[Network], float]
    exact: bool
    """Whether every permutation takes exactly this many."""
    reason: str
    """How that is known, in a few words."""

    def __post_init__(self) -> None:
        if not callable(self.slots):
            raise InputError(f"slots = {self.slots!r:.40}: give a function of a network.")


@dataclass(frozen=True)
class Claims:
    """What is known about the slots of a router, in numbers."""

    expected: Expectation | None = None
    bounds: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.expected, Expectation | None):
            raise InputError(f"expected = {self.expected!r:.40}: give an Expectation.")
        if not all(isinstance(bound, Bound) for bound in self.bounds):
            raise InputError("bounds must be a tuple of Bound.")


NO_CLAIMS = Claims()


@dataclass(frozen=True)
class Words:
    """What the header of a trace says about a variant, for the viewer to show.

    Parameters
    ----------
    explanation : str or function of a network
        What the router does, in a sentence or two.
    phases : mapping
        From patterns to what happens in a phase: a text, or a function of a network. In a pattern
        ``*`` stands for any characters. A phase is explained by the first pattern that matches all
        of it.
    conflict_graph : {"group", "residue"}
        The nodes for destinations in the conflict graph of a step: their groups, or their numbers
        mod g.

    Examples
    --------
    >>> words = Words("One hop.", {"slot *": lambda network: f"One of {network.d} slots."})
    >>> words.on(Network(3, 2))
    {'explanation': 'One hop.', 'phases': {'slot *': 'One of 3 slots.'}}
    """

    explanation: Text = ""
    phases: Phases = field(default_factory=dict)
    conflict_graph: Literal["group", "residue"] = "group"

    def __post_init__(self) -> None:
        texts = isinstance(self.phases, Mapping) and all(
            isinstance(one, str) for one in self.phases
        )
        if not texts:
            raise InputError(f"phases = {self.phases!r:.40}: give a mapping of patterns to texts.")
        if self.conflict_graph not in ("group", "residue"):
            raise InputError(f"conflict_graph = {self.conflict_graph!r:.40}: give group, residue.")

    def on(self, network: Network) -> TraceWords:
        """Return the texts for a network, without what is empty."""
        words: TraceWords = {}
        if explanation := told(self.explanation, network):
            words["explanation"] = explanation
        if self.phases:
            words["phases"] = {
                pattern: told(text, network) for pattern, text in self.phases.items()
            }
        if self.conflict_graph != "group":
            words["conflict_graph"] = self.conflict_graph
        return words


NO_WORDS = Words()


def told(text: Text, network: Network) -> str:
    """Return the text for a network."""
    try:
        words = text(network) if callable(text) else text
    except Exception as error:
        raise InputError(f"a function of its words fails on {network}: {error!r:.60}") from error
    if not isinstance(words, str):
        raise InputError(f"{words!r:.40} is not a text; a router explains itself in text.")
    return words
