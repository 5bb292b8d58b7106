"""What a router states about itself: expected slots, bounds, and texts that explain its traces."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from popsnet.base.errors import InputError, wrong
from popsnet.model.network import Network
from popsnet.theory.bounds import Bound
from popsnet.trace import TraceWords

Text: TypeAlias = str | Callable[[Network], str]
"""A sentence or two, or a function that writes it for a network."""

Phases: TypeAlias = Mapping[str, Text]
"""What happens in a phase, by pattern, as in :class:`Explanation`."""


@cache
def _stated() -> dict[str, dict[str, str]]:
    return tomllib.loads((files(__package__) / "phases.toml").read_text(encoding="utf-8"))


def phases_of(name: str) -> Mapping[str, str]:
    """Return what happens in the phases of a router or stage that ships, as the file says."""
    return _stated()[name]


def explanation(name: str) -> str:
    """Return an explanation of a variant that ships."""
    return _stated()["explanations"][name]


def explained(name: str, *stages: str) -> Explanation:
    """Return the explanation of a variant that ships, with the phases of some routers or stages."""
    phases = {pattern: text for stage in stages for pattern, text in phases_of(stage).items()}
    return Explanation(explanation(name), phases)


def by_shape(name: str) -> Callable[[Network], str]:
    """Return a function of a network that tells an explanation for d = g or for d > g."""
    return lambda network: explanation(name if network.d == network.g else f"{name}, d > g")


@dataclass(frozen=True)
class Expectation:
    """The slots that the default variant of a router is expected to take.

    Parameters
    ----------
    slots : function of a network
        Returns the expected slots.
    exact : bool or function of a network
        Whether every permutation takes exactly this many slots.
    reason : str or function of a network
        The basis of the estimate, in a few words.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.facts import Expectation
    >>> one_by_one = Expectation(lambda network: network.n, exact=True, reason="a packet per slot")
    >>> one_by_one.slots(Network(4, 4))
    16
    """

    slots: Callable[[Network], float]
    exact: bool | Callable[[Network], bool]
    reason: Text

    def __post_init__(self) -> None:
        if not callable(self.slots):
            raise wrong("slots", f"{self.slots!r:.40}")("give a function of a network.")

    def basis(self, network: Network) -> tuple[bool, str]:
        """Return whether the slots are exact on a network, and the basis of the estimate."""
        exact = self.exact(network) if callable(self.exact) else self.exact
        return exact, text_on(self.reason, network)


@dataclass(frozen=True)
class Claims:
    """What a router claims about its slots, in numbers.

    Parameters
    ----------
    expected : Expectation, optional
        The slots that the default variant is expected to take.
    bounds : tuple of popsnet.theory.Bound
        Upper bounds on its slots.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.find_router("direct").claims.expected.slots(popsnet.Network(4, 16))
    16
    """

    expected: Expectation | None = None
    bounds: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.expected, Expectation | None):
            raise wrong("expected", f"{self.expected!r:.40}")("give an Expectation.")
        if not all(isinstance(bound, Bound) for bound in self.bounds):
            raise InputError("bounds must be a tuple of Bound.")


NO_CLAIMS = Claims()


@dataclass(frozen=True)
class Explanation:
    """Texts in the header of a trace that explain a variant, for the viewer to show.

    Parameters
    ----------
    explanation : str or function of a network
        What the router does, in a sentence or two.
    phases : mapping
        Maps patterns to what happens in a phase: a text, or a function of a network. In a pattern
        ``*`` stands for any characters. The first pattern that matches the whole name of a phase
        explains it.
    conflict_graph : {"group", "residue"}
        The nodes for destinations in the conflict graph of a step: their groups, or their numbers
        mod g.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.facts import Explanation
    >>> words = Explanation("One hop.", {"slot *": lambda network: f"One of {network.d} slots."})
    >>> words.on(Network(3, 2))
    {'explanation': 'One hop.', 'phases': {'slot *': 'One of 3 slots.'}}
    """

    explanation: Text = ""
    phases: Phases = field(default_factory=dict)
    conflict_graph: Literal["group", "residue"] = "group"

    def __post_init__(self) -> None:
        texts = isinstance(self.phases, Mapping) and all(
            isinstance(pattern, str) for pattern in self.phases
        )
        if not texts:
            raise wrong("phases", f"{self.phases!r:.40}")("give a mapping of patterns to texts.")
        if self.conflict_graph not in ("group", "residue"):
            raise wrong("conflict_graph", f"{self.conflict_graph!r:.40}")(
                "give 'group' or 'residue'."
            )

    def on(self, network: Network) -> TraceWords:
        """Return the texts for a network, without those that are empty."""
        words: TraceWords = {}
        if explanation := text_on(self.explanation, network):
            words["explanation"] = explanation
        if self.phases:
            words["phases"] = {
                pattern: text_on(text, network) for pattern, text in self.phases.items()
            }
        if self.conflict_graph != "group":
            words["conflict_graph"] = self.conflict_graph
        return words


Words = Explanation
"""The old name."""

NO_EXPLANATION = Explanation()


def text_on(text: Text, network: Network) -> str:
    """Return the text for a network."""
    try:
        words = text(network) if callable(text) else text
    except Exception as error:
        raise InputError(f"a function of its words fails on {network}: {error!r:.60}") from error
    if not isinstance(words, str):
        raise InputError(
            f"{words!r:.40} is not a string; the explanation of a router must be a string."
        )
    return words
