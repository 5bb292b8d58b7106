"""The locality check: does every processor act on what it knows, and on nothing else?

A router is one program for all processors, and nothing stops it from looking at another
processor's destination or coins. The check runs it on two instances that differ only at a few
processors X: their packets' destinations, or their coins. Whoever is in X, or has heard
something different because of X, is in the causal cone and may act differently. Everybody else
has seen exactly the same in both, and must do exactly the same: send, listen, store, drop and
deliver alike. If it does not, it used what nobody told it.

The cone is the smallest possible: a processor enters when what it hears differs, silence
included, and not merely when somebody of the cone could have reached it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import PopsnetError
from popsnet.machine import Machine
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing import Route, Router
from popsnet.slot import Inbox, Ints, Slot
from popsnet.trace import records

__all__ = ["LocalityError", "check_locality"]


class LocalityError(PopsnetError):
    """A processor acted on something it could not know."""


class _OtherCoins(Coins):
    """The coins of ``Coins``, but for some processors those of another seed."""

    def __init__(self, seed: int, changed: Sequence[int]) -> None:
        super().__init__(seed)
        object.__setattr__(self, "_changed", np.asarray(changed))
        object.__setattr__(self, "_others", Coins(seed ^ 0x5DEECE66D))

    _changed: Ints
    _others: Coins

    def words(self, purpose: str, step: int, processors: Ints) -> Any:
        mine = super().words(purpose, step, processors)
        theirs = self._others.words(purpose, step, processors)
        return np.where(np.isin(processors, self._changed), theirs, mine)

    def draw(self, bound: int, purpose: str, step: int, processor: int) -> int:
        return int(self.draws(bound, purpose, step, np.array([processor]))[0])


class _Journal(Memory):
    """The machine's memory, noting who did what with it."""

    def __init__(self, network: Network, destination: Ints, buffers: int) -> None:
        super().__init__(network, destination, buffers)
        self.entries: dict[int, list[Any]] = {}

    def store(self, processors: Ints, packets: Ints) -> None:
        super().store(processors, packets)
        self._note("store", processors, packets)

    def drop(self, processors: Ints, packets: Ints) -> None:
        super().drop(processors, packets)
        self._note("drop", processors, packets)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        super().deliver(processors, packets)
        self._note("deliver", processors, packets)

    def _note(self, act: str, processors: Ints, packets: Ints) -> None:
        for processor, packet in zip(processors.tolist(), packets.tolist(), strict=True):
            self.entries.setdefault(processor, []).append((act, packet))


class _Moment(NamedTuple):
    """One slot as seen from every processor."""

    acts: dict[int, list[Any]]
    hears: dict[int, Any]


def check_locality(
    router: Router | Route,
    network: Network,
    *,
    seed: int = 0,
    pairs: int = 20,
    buffers: int | None = None,
    max_slots: int = 1000,
) -> None:
    """Raise :class:`LocalityError` if a processor uses knowledge it has not received.

    The router runs on a random permutation and, ``pairs`` times each, on one where two
    processors' destinations are exchanged and with the coins of two processors changed. A
    bare generator function needs ``buffers``, the packets a processor may hold.
    """
    routes, capacity = _routes(router, buffers)
    chooser = Coins(seed)
    destination = np.argsort(chooser.words("permutation", 0, np.arange(network.n))).astype(np.int32)
    for name, route in routes.items():
        for k in range(pairs):
            x = chooser.draw(network.n, "first changed", k, 0)
            y = (x + 1 + chooser.draw(network.n - 1, "second changed", k, 0)) % network.n
            exchanged = destination.copy()
            exchanged[[x, y]] = exchanged[[y, x]]
            run = _Runner(network, route, capacity, max_slots)
            for kind, other in (
                ("destinations", run(exchanged, Coins(seed))),
                ("coins", run(destination, _OtherCoins(seed, [x, y]))),
            ):
                _compare(name, kind, {x, y}, run(destination, Coins(seed)), other)


def _routes(router: Router | Route, buffers: int | None) -> tuple[dict[str, Route], int]:
    if isinstance(router, Router):
        return {f"{router.name} {name}": f for name, f in router.variants.items()}, router.buffers
    if buffers is None:
        raise TypeError("buffers is needed for a generator function that is not registered.")
    return {getattr(router, "__name__", "the router"): router}, buffers


class _Runner(NamedTuple):
    network: Network
    route: Route
    buffers: int
    max_slots: int

    def __call__(self, destination: Ints, coins: Coins) -> Iterator[_Moment]:
        """Run the router on an instance and show what everybody did and heard, slot by slot."""
        machine = Machine(self.network, destination, self.buffers)
        machine.memory = journal = _Journal(self.network, destination, self.buffers)
        running = self.route(self.network, destination, coins, journal)
        slot = next(running, None)
        while slot is not None and machine.counters.slots < self.max_slots:
            acts, journal.entries = journal.entries, {}
            inbox = machine.execute(slot)
            _note_slot(acts, slot)
            yield _Moment(acts, _heard(inbox))
            try:
                slot = running.send(inbox)
            except StopIteration:
                slot = None


def _note_slot(acts: dict[int, list[Any]], slot: Slot) -> None:
    sends, listens = records(slot)
    order = np.argsort(slot.senders, kind="stable")
    contents = [None] * len(order) if slot.contents is None else slot.contents[order].tolist()
    for send, content in zip(sends, contents, strict=True):
        acts.setdefault(send[0], []).append(("send", *send[1:], content))
    for processor, group in listens:
        acts.setdefault(processor, []).append(("listen", group))


def _heard(inbox: Inbox) -> dict[int, Any]:
    contents = [None] * len(inbox.receivers)
    if inbox.contents is not None:
        contents = inbox.contents.tolist()
    rows = zip(
        inbox.receivers.tolist(),
        inbox.groups.tolist(),
        inbox.kinds.tolist(),
        inbox.packets.tolist(),
        inbox.destinations.tolist(),
        contents,
        strict=True,
    )
    return {row[0]: row[1:] for row in rows}


def _compare(
    name: str, kind: str, changed: set[int], one: Iterator[_Moment], other: Iterator[_Moment]
) -> None:
    cone = set(changed)
    for t, (a, b) in enumerate(zip(one, other, strict=False), start=1):
        for processor in sorted(_differing(a.acts, b.acts) - cone):
            raise LocalityError(
                f"{name}, slot {t}, processor {processor}: it acts differently when only the "
                f"{kind} of processors {sorted(changed)} differ, of which it has heard nothing: "
                f"{a.acts.get(processor)} or {b.acts.get(processor)}."
            )
        cone |= _differing(a.hears, b.hears)


def _differing(a: dict[int, Any], b: dict[int, Any]) -> set[int]:
    return {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
