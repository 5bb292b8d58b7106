"""What processors do and hear in two runs, compared outside of the causal cone.

Two runs differ only at a few processors. These are in the cone, and a processor enters it when what
it hears differs, silence included. Every other processor has seen exactly the same in both runs and
must do exactly the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from popsnet.base.errors import PopsnetError
from popsnet.model.coins import Coins
from popsnet.model.network import I32, U64
from popsnet.model.slot import Contents, Inbox, Ints, Slot
from popsnet.trace import records


class LocalityError(PopsnetError):
    """A processor acted on something that it could not know.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.router import find_router
    >>> from popsnet.testing import LocalityError, check_locality
    >>> try:
    ...     check_locality(find_router("offline"), Network(2, 2))
    ... except LocalityError:
    ...     print("The off-line router uses what no processor knows.")
    The off-line router uses what no processor knows.
    """


class PrivateCoins(Coins):
    """The coins of n processors, some of which have those of another seed.

    The seed itself and keys, which belong to no processor, are of the other seed, too, so that a
    router that uses them as public coins is found out. A configured word is known to every
    processor, and is the same in both runs.
    """

    hint: ClassVar = (
        "A router has no public coins except those that it broadcasts or is configured with."
    )
    """How coins that belong to no processor are drawn."""
    _n: int
    _changed: Ints
    _original: Coins

    def __init__(self, seed: int, n: int, changed: Sequence[int] = ()) -> None:
        super().__init__(seed ^ 0x5DEECE66D if changed else seed)
        vars(self).update(_n=n, _changed=np.asarray(changed, np.int64), _original=Coins(seed))

    def words(self, purpose: str, step: int, processors: Ints) -> U64:
        """Return the words of processors, each of its own seed."""
        if len(processors) and not 0 <= processors.min() <= processors.max() < self._n:
            raise LocalityError(
                f"Coins are drawn for a processor outside 0 to {self._n - 1}; they would belong to "
                f"no processor. {self.hint}"
            )
        mine = self._original.words(purpose, step, processors)
        theirs = super().words(purpose, step, processors)
        return np.where(np.isin(processors, self._changed), theirs, mine)

    def configured(self, purpose: str) -> int:
        """Return the same word in both runs: that of the unchanged seed."""
        return self._original.configured(purpose)

    def word(self, purpose: str, step: int, processor: int) -> int:
        """Return the word of one processor, of its own seed."""
        return int(self.words(purpose, step, np.array([processor]))[0])


class Moment(NamedTuple):
    """What every processor did and heard in a slot or after it."""

    name: tuple[str, int, str]
    """What tells moments of a run apart, last whether this is the slot or after it."""
    slot: int
    acts: dict[int, list[Any]]
    hears: dict[int, Any]


class Journal:
    """A record of what each processor does and hears: a mixin for memories of either kind."""

    by_phase: ClassVar[bool] = True
    """Whether slots are matched by their phases, or by their numbers."""

    def __init__(self, *arguments: Any) -> None:
        self._entries: dict[int, list[Any]] = {}
        self._heard_moments: list[Moment] = []
        self._times: Counter[str] = Counter()
        self._of, self._number = ("start", 0), 0
        super().__init__(*arguments)

    def moments(self) -> list[Moment]:
        """Return the slot since the last call, if any, and what was done after it."""
        after = Moment((*self._of, "after it"), self._number, self._entries, {})
        moments = [*self._heard_moments, after]
        self._entries, self._heard_moments = {}, []
        return moments

    def _hear(self, number: int, slot: Slot, messages: I32, inbox: Inbox) -> None:
        super()._hear(number, slot, messages, inbox)  # type: ignore[misc]
        phase = slot.phase if self.by_phase else ""
        self._of, self._number = (phase, self._times[phase]), number
        self._times[phase] += 1
        acts, heard = _acts_in(slot, self.name), _heard_in(inbox, self.name)
        self._heard_moments.append(Moment((*self._of, "itself"), number, acts, heard))

    def name(self, packet: int) -> Any:
        """Name a packet."""
        return packet

    def store(self, processors: Ints, packets: Ints) -> None:
        """Note that packets are stored."""
        super().store(processors, packets)  # type: ignore[misc]
        self._enter("store", processors, packets)

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Note that packets are dropped."""
        super().drop(processors, packets)  # type: ignore[misc]
        self._enter("drop", processors, packets)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Note that packets are delivered."""
        super().deliver(processors, packets)  # type: ignore[misc]
        self._enter("deliver", processors, packets)

    def _enter(self, act: str, processors: Ints, packets: Ints) -> None:
        for processor, packet in zip(processors.tolist(), packets.tolist(), strict=True):
            self._entries.setdefault(processor, []).append((act, self.name(packet)))


def _acts_in(slot: Slot, name: Callable[[int], Any]) -> dict[int, list[Any]]:
    """Return what each processor sends and listens to."""
    acts: defaultdict[int, list[Any]] = defaultdict(list)
    sends, listens = records(slot)
    order = np.argsort(slot.senders, kind="stable")
    contents = _exactly(slot.contents, len(order))
    for (sender, groups, kind, packet), i in zip(sends, order.tolist(), strict=True):
        named = None if packet is None else name(packet)
        acts[sender].append(("send", groups, kind, named, contents[i]))
    for processor, group in listens:
        acts[processor].append(("listen", group))
    for act, processors, tuned in (
        ("send on", slot.senders, slot.send_wavelengths),
        ("listen on", slot.listeners, slot.listen_wavelengths),
    ):
        if tuned is not None:
            for processor, wavelength in zip(processors.tolist(), tuned.tolist(), strict=True):
                acts[processor].append((act, wavelength))
    return acts


def _heard_in(inbox: Inbox, name: Callable[[int], Any]) -> dict[int, Any]:
    """Return what each processor hears."""
    contents = _exactly(inbox.contents, len(inbox.receivers))
    columns = (inbox.receivers, inbox.groups, inbox.kinds, inbox.destinations)
    packets = [name(packet) for packet in inbox.packets.tolist()]
    rows = zip(*(column.tolist() for column in columns), packets, contents, strict=True)
    return {row[0]: row[1:] for row in rows}


def _exactly(contents: Contents | None, messages: int) -> list[bytes]:
    """Return the contents of each message as bytes."""
    return [b""] * messages if contents is None else [row.tobytes() for row in contents]


Instance = TypeVar("Instance")
"""What a program runs on: destinations, a demand, or arrivals."""

Run: TypeAlias = Callable[[Instance, Sequence[int]], Iterator[Moment]]
"""Runs a program on an instance, with other coins of some processors, and yields the moments."""


def check_program(
    name: str,
    run: Run[Instance],
    usual: Instance,
    changes: Callable[[int, int], Iterable[tuple[str, Instance]]],
    pairs: Iterable[tuple[int, int]],
    whole: int | None = None,
) -> int:
    """Compare a run of a program with runs in which two processors differ, pair by pair.

    Parameters
    ----------
    name : str
        The name of the program.
    run : function of an instance and processors
        Runs the program, with other coins of these processors, and yields the moments.
    usual : Any
        The unchanged instance.
    changes : function of two processors
        Returns what differs, in words, and an instance in which it differs at these processors.
    pairs : iterable of pairs of int
        The processors that are changed together.
    whole : int, optional
        The number of processors, if both runs have the same slots: a comparison then ends when
        all of them are in the cone. By default slots are matched by their names.

    Returns
    -------
    int
        The number of comparisons.

    Raises
    ------
    LocalityError
        If a processor outside of the cone acts differently.
    """
    unchanged, compared = list(run(usual, ())), 0
    for x, y in pairs:
        runs = [(kind, run(instance, ())) for kind, instance in changes(x, y)]
        for kind, other in (*runs, ("coins", run(usual, (x, y)))):
            if whole is None:
                moments = side_by_side(unchanged, list(other))
            else:
                moments = zip(unchanged, other, strict=True)
            _require_same_acts(name, kind, {x, y}, moments, whole)
            compared += 1
    return compared


def _require_same_acts(
    name: str,
    kind: str,
    changed: set[int],
    moments: Iterable[tuple[Moment | None, Moment | None]],
    whole: int | None,
) -> None:
    cone = set(changed)
    for a, b in moments:
        moment = a or b
        assert moment is not None
        acts = a.acts if a else _silent(moment), b.acts if b else _silent(moment)
        for processor in sorted(_differing(*acts) - cone):
            x, y = sorted(changed)
            one_way, other_way = (in_words(run.get(processor, [])) for run in acts)
            raise LocalityError(
                f"{name}, slot {moment.slot}, processor {processor}: it acts differently when only "
                f"the {kind} of processors {x} and {y} differ, though it has heard nothing of "
                f"them: it {one_way}; otherwise it {other_way}. A processor may use only its own "
                f"{'packets' if kind == 'arrivals' else 'packet'} and coins, and what it has heard."
            )
        cone |= _differing(a.hears if a else {}, b.hears if b else {})
        if len(cone) == whole:
            return


def side_by_side(
    left: list[Moment], right: list[Moment]
) -> Iterator[tuple[Moment | None, Moment | None]]:
    """Yield the moments of two runs in order, with None for a slot that one run left out."""
    names_of_one, names_of_other = ({moment.name for moment in run} for run in (left, right))
    i = j = 0
    while i < len(left) and j < len(right):
        a, b = left[i], right[j]
        if a.name == b.name:
            yield a, b
            i, j = i + 1, j + 1
        elif a.name not in names_of_other:
            yield a, None
            i += 1
        elif b.name not in names_of_one:
            yield None, b
            j += 1
        else:
            raise LocalityError(
                f"Two runs have the phases {a.name[0]!r} and {b.name[0]!r} in different order. The "
                "order of phases may depend only on what processors know."
            )


def pairs_by_chance(n: int, seed: int, pairs: int | None) -> list[tuple[int, int]]:
    """Return pairs of processors, by default so many that nearly every processor is in two."""
    couples: list[tuple[int, int]] = []
    for matching in range(2):
        by_chance = np.argsort(Coins(seed).words("pairs", matching, np.arange(n))).tolist()
        couples += [(by_chance[k], by_chance[k + 1]) for k in range(0, n - 1, 2)]
    return couples[:pairs]


def in_words(acts: list[Any]) -> str:
    """Say what a processor does in a moment."""
    return ", ".join(_ACTS[act](*facts) for act, *facts in acts) or "does nothing"


def _sending(groups: Sequence[int], kind: str, packet: object, contents: bytes) -> str:
    what = {"packet": "", "ack": "an ack ", "control": "a control message "}[kind]
    if packet is not None:
        what += f"{'for ' if what else ''}packet {packet} "
    to = f"group{'s' if len(groups) > 1 else ''} {', '.join(map(str, groups))}"
    return f"sends {what}to {to}" + (f" (contents {contents.hex()})" if contents else "")


_ACTS: dict[str, Callable[..., str]] = {
    "send": _sending,
    "listen": "listens to group {}".format,
    "send on": "sends on wavelength {}".format,
    "listen on": "listens to wavelength {}".format,
    "store": "stores packet {}".format,
    "drop": "drops packet {}".format,
    "deliver": "delivers packet {}".format,
}


def _silent(moment: Moment) -> dict[int, list[Any]]:
    """Return what processors would have done in a slot that was left out, which is listening."""
    return {
        processor: listened
        for processor, acts in moment.acts.items()
        if (listened := [act for act in acts if act[0] in ("listen", "listen on")])
    }


def _differing(a: dict[int, Any], b: dict[int, Any]) -> set[int]:
    return {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
