"""Everything popsnet raises on purpose.

    PopsnetError
    ├── InputError              what was asked for cannot be done; the cure is in the text
    │   ├── PermutationError    not a permutation of [0, n), or a file that holds none
    │   ├── SizeError           the network does not fit in this machine's memory
    │   ├── StoreError          a file that is not a store, or one that contradicts itself
    │   └── TraceFormatError    a file that is not a readable trace
    └── RuleViolation           a router broke a rule of the machine

The command line turns an ``InputError`` into exit code 2 and a ``RuleViolation`` into 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message that suggests a known name, or nothing.

    Case does not count, and neither does the choice between ``_``, ``-`` and a space.

    Parameters
    ----------
    name : str
        The name that does not exist.
    known : iterable of str
        The names that do.

    Examples
    --------
    >>> did_you_mean("Mei_Rizzi", ["mei-rizzi", "relay"])
    " Did you mean 'mei-rizzi'?"
    >>> did_you_mean("nothing like it", ["mei-rizzi", "relay"])
    ''
    """
    close = closest(name, known)
    return f" Did you mean {close!r}?" if close is not None else ""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another one, if any is like it."""
    from difflib import get_close_matches

    plain = {_plain(one): one for one in known}
    close = get_close_matches(_plain(name), plain, n=1)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-").replace(" ", "-")


class PopsnetError(Exception):
    """Root of all errors raised on purpose."""


class InputError(PopsnetError):
    """A value that cannot be used: the text gives the value, the rule and the cure."""


class PermutationError(InputError):
    """The destinations are not a permutation of [0, n)."""


class SizeError(InputError):
    """The network would not fit in memory."""


class StoreError(InputError):
    """The file is not a store of results that can be used, or results contradict each other."""


class TraceFormatError(InputError):
    """The file is not a trace that can be read."""


class Rule(StrEnum):
    """The rules of a POPS network, in the words used to report a violation."""

    PROCESSOR_EXISTS = "processors are numbered 0 to n - 1"
    GROUP_EXISTS = "groups are numbered 0 to g - 1"
    ONE_MESSAGE = "a processor sends at most one message per slot"
    COUPLER_SET = "a message goes to a non-empty set of couplers, each named once"
    ONE_LISTENED = "a processor listens to at most one coupler per slot"
    PACKET_EXISTS = "packets are numbered 0 to n - 1, and a packet message names its packet"
    SENDS_WHAT_IT_HOLDS = "a processor sends only packets it holds"
    KEEPS_WHAT_IT_HEARD = "a processor stores only a packet it heard in the slot just past"
    DROPS_WHAT_IT_HOLDS = "a processor drops only packets it holds, and never a delivered one"
    BUFFERS = "a processor holds no more packets than its router claims buffers"
    DELIVERS_HOME = "a packet is delivered once, at its destination"
    BITS = "what a control message carries fits in the bits its slot has for it"
    CONFLICT_FREE = "two messages meet on a coupler in a slot declared free of conflicts"


class RuleViolation(PopsnetError):
    """A router did what the machine forbids: an error in the router, never repaired."""

    def __init__(self, slot: int, processor: int, rule: Rule, detail: str) -> None:
        super().__init__(f"slot {slot}, processor {processor}: {detail} (rule: {rule})")
        self.slot = slot
        self.processor = processor
        self.rule = rule
        self.detail = detail

    def __reduce__(self) -> tuple[type[RuleViolation], tuple[int, int, Rule, str]]:
        """It can be sent to another process."""
        return type(self), (self.slot, self.processor, self.rule, self.detail)
