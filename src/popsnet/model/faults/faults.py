"""Faults as a value: which parts are dead from which slot on, and how many messages are lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from math import prod
from typing import Any, TypeAlias

import numpy as np

from popsnet.base.errors import InputError, did_you_mean, unknown, wrong
from popsnet.model.coins import Coins
from popsnet.model.network import Network

KINDS = ("couplers", "transmitters", "receivers", "processors", "loss")
"""The kinds of faults, as routers and schedulers name those that they survive."""

PARTS = KINDS[:-1]
"""The kinds of parts that can be dead."""

LOSS_PER = ("coupler", "listener")
"""Whether a lost message is lost for every listener of its coupler, or for one of them."""

_LEAST_LOSS = 2.0**-32
_LAST_SLOT = 2**62
_RANDOM = "random fault: {}"
_AT_ONCE = 1024
"""The purpose of the coins that choose the dead parts of a kind."""


def kinds_of(kinds: Iterable[str]) -> frozenset[str]:
    """Return the kinds of faults of these names, or refuse a name that is none.

    >>> sorted(kinds_of(["loss", "couplers"]))
    ['couplers', 'loss']
    """
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    for name in names:
        if name not in KINDS:
            raise unknown("kind of fault", name, KINDS)
    return frozenset(names)


Parts: TypeAlias = Sequence[Any]
"""Dead parts as they are given. A :class:`Faults` has a tuple of tuples of them."""


@dataclass(frozen=True)
class Faults:
    """Dead parts of a network, and the probability that a message is lost.

    A listener cannot tell a fault from silence or from a collision. A dead coupler delivers no
    message. A message of a dead transmitter reaches no coupler, and a dead receiver hears nothing.
    A dead processor does neither. Without a slot a part is dead from the first slot on.

    Parameters
    ----------
    couplers : sequence of str
        ``"A-B"`` or ``"A-B@SLOT"``: the coupler from group A to group B is dead from a slot on.
    transmitters, receivers, processors : sequence of tuple or int
        A processor, or (processor, slot).
    loss : float
        The probability that a message on a coupler is lost, 0 or from 2^-32 to 1.
    loss_per : {"coupler", "listener"}
        Whether a message is lost for all listeners of a coupler at once, or for each by itself.
    random : mapping
        The number of dead parts of a kind that are drawn at random in every run, for example
        ``{"couplers": 4}``, or a pair of the number and the slot from which on they are dead.

    Raises
    ------
    InputError
        If a value is wrong.

    Examples
    --------
    >>> from popsnet import Faults
    >>> faults = Faults(couplers=["0-1"], loss=0.001)
    >>> str(faults)
    'coupler:0-1 loss:0.001'
    >>> Faults.parse("coupler:0-1 loss:0.001") == faults
    True
    """

    couplers: Parts = ()
    transmitters: Parts = ()
    receivers: Parts = ()
    processors: Parts = ()
    loss: float = 0.0
    loss_per: str = "coupler"
    random: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dead = {kind: _parts(kind, getattr(self, kind)) for kind in PARTS}
        vars(self).update(dead, couplers=tuple(map(_name, dead["couplers"])), _dead=dead)
        if not isinstance(self.random, Mapping):
            raise wrong("random", f"{self.random!r:.40}")(
                "give a mapping from kinds of parts to numbers, such as {'couplers': 4}."
            )
        drawn = {kind: _number(kind, self.random[kind]) for kind in PARTS if kind in self.random}
        for kind in self.random:
            if kind not in PARTS:
                raise wrong("random", dict(self.random))(
                    f"there are no parts {kind!r}; give numbers of {', '.join(PARTS)}."
                )
        if self.loss_per not in LOSS_PER:
            raise wrong("loss_per", repr(self.loss_per))(
                "give 'coupler', if a message is lost for all listeners at once, or 'listener'."
            )
        loss = _loss(self.loss)
        drawn = {kind: draw for kind, draw in drawn.items() if draw[0]}
        vars(self).update(random=drawn, loss=loss, loss_per=self.loss_per if loss else "coupler")

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> bool:
        return bool(self.kinds)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of faults that there are, out of ``popsnet.model.faults.KINDS``."""
        return frozenset(kind for kind in KINDS if getattr(self, kind) or kind in self.random)

    def dead(self, kind: str) -> tuple[tuple[int, ...], ...]:
        """Return the listed parts of a kind in order, each with the slot in which it dies.

        Parameters
        ----------
        kind : {"couplers", "transmitters", "receivers", "processors"}
            The kind.

        Returns
        -------
        tuple of tuple
            (processor, slot), or (b, a, slot) for coupler c(b, a), from group a to group b.

        Raises
        ------
        InputError
            If there is no such kind.

        Examples
        --------
        >>> from popsnet import Faults
        >>> Faults(couplers=["0-1", "2-1@5"]).dead("couplers")
        ((1, 0, 1), (1, 2, 5))
        """
        if kind not in PARTS:
            raise unknown("kind of parts", kind, PARTS)
        parts: tuple[tuple[int, ...], ...] = vars(self)["_dead"][kind]
        return parts

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots in which listed parts die, in order and each once."""
        return tuple(sorted({part[-1] for kind in PARTS for part in self.dead(kind)}))

    def begun(self, slot: int) -> Faults:
        """Return these faults without the listed parts that die after a slot.

        Parameters
        ----------
        slot : int
            The slot, counted from 1.

        Returns
        -------
        Faults
            The faults.

        Examples
        --------
        >>> from popsnet import Faults
        >>> print(Faults.parse("coupler:0-1@3 coupler:0-2@7 processor:4").begun(3))
        coupler:0-1@3 processor:4
        """
        return self._listing(
            {kind: [part for part in self.dead(kind) if part[-1] <= slot] for kind in PARTS}
        )

    def _listing(self, dead: Mapping[str, Any], **changes: Any) -> Faults:
        """Return these faults with other listed parts, given as :meth:`dead` returns them."""
        named = {"couplers": tuple(map(_name, dead["couplers"]))} if "couplers" in dead else {}
        return replace(self, **{**dead, **named, **changes})

    def __str__(self) -> str:
        """Return the faults as a text, which :meth:`parse` reads."""
        items = [f"{kind[:-1]}:{_name(part)}" for kind in PARTS for part in self.dead(kind)]
        items += [f"random:{kind}={_name(draw)}" for kind, draw in self.random.items()]
        if self.loss:
            per = "" if self.loss_per == "coupler" else "/listener"
            items.append(f"loss:{self.loss:.12g}{per}")
        return " ".join(items)

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Return the faults that a text describes.

        Parameters
        ----------
        text : str
            Items with spaces between them: ``coupler:A-B``, ``transmitter:P``, ``receiver:P``,
            ``processor:P``, ``random:couplers=4`` (or other parts) and ``loss:0.001``, or
            ``loss:0.001/listener``. ``@SLOT`` after a part is the slot from which on it is dead.

        Returns
        -------
        Faults
            The faults.

        Raises
        ------
        InputError
            If the text cannot be read.

        Examples
        --------
        >>> from popsnet import Faults
        >>> Faults.parse("processor:3@10 random:couplers=2").processors
        ((3, 10),)
        """
        fields: dict[str, Any] = {"random": {}, **{kind: [] for kind in PARTS}}
        for item in text.split():
            _read(item, fields)
        return cls(**fields)

    def with_loss(self, loss: float, per: str = "coupler") -> Faults:
        """Return the same dead parts with another probability of loss."""
        return replace(self, loss=loss, loss_per=per)

    def require_on(self, network: Network) -> None:
        """Refuse parts that a network does not have, and more random ones than there are."""
        for kind in PARTS:
            shape, what = _shape(kind, network), "groups" if kind == "couplers" else "processors"
            for *part, _ in self.dead(kind):
                if not all(0 <= end < shape[0] for end in part):
                    name = f"{kind[:-1]}:{_name((*part, 1))}"
                    raise InputError(
                        f"faults: there is no {name} on {network}; {what} are numbered 0 to "
                        f"{shape[0] - 1}."
                    )
            number, total = self.random.get(kind, (0, 1))[0], prod(shape)
            if number > total - len(self.dead(kind)):
                raise InputError(
                    f"faults: random:{kind}={number} is more than {network} has left; it has "
                    f"{total:,} {kind}."
                )

    def drawn(self, network: Network, coins: Coins) -> Faults:
        """Return these faults with the random ones drawn by coins, and listed.

        Parameters
        ----------
        network : Network
            The network.
        coins : Coins
            The coins of the faults of one run.

        Returns
        -------
        Faults
            Faults without random parts.

        Notes
        -----
        Parts that are listed are not drawn again. Draws for more parts of a kind contain those for
        fewer, so that results for more and more faults can be compared in pairs.

        Examples
        --------
        >>> from popsnet import Coins, Faults, Network
        >>> print(Faults(random={"couplers": 2}).drawn(Network(4, 4), Coins(1)))
        coupler:2-0 coupler:3-1
        """
        if not self.random:
            return self
        listed: dict[str, Any] = {}
        for kind, (number, slot) in self.random.items():
            known, drawn = self.dead(kind), _draw(kind, _shape(kind, network), coins)
            taken = {tuple(where) for *where, _ in known}
            new = (part for part in drawn if part not in taken)
            listed[kind] = (*known, *((*part, slot) for part in islice(new, number)))
        return self._listing(listed, random={})

    def to_dict(self) -> dict[str, Any]:
        """Return the listed parts and the loss as plain values, as a trace has them.

        A coupler is a list of the group that it leads to, the group that it comes from, and the
        slot.

        Examples
        --------
        >>> from popsnet import Faults
        >>> Faults.parse("coupler:0-1 loss:0.5").to_dict()
        {'couplers': [[1, 0, 1]], 'loss': 0.5, 'loss_per': 'coupler'}
        """
        values: dict[str, Any] = {
            kind: [list(part) for part in dead] for kind in PARTS if (dead := self.dead(kind))
        }
        if self.loss:
            values |= {"loss": self.loss, "loss_per": self.loss_per}
        return values


def faults_of(faults: Faults | str | None) -> Faults:
    """Return faults that may have been given as a text, or not at all."""
    if faults is None:
        return Faults()
    if isinstance(faults, str):
        return Faults.parse(faults)
    if not isinstance(faults, Faults):
        raise wrong("faults", f"{faults!r:.40}")("give Faults, or a text such as 'coupler:0-1'.")
    return faults


def as_recorded(text: str) -> str:
    """Return a text of faults as identities have it: couplers with the group that they lead to.

    >>> as_recorded("coupler:0-1@5 loss:0.1")
    'coupler:1,0@5 loss:0.1'
    """
    return re.sub(r"\bcoupler:(\d+)-(\d+)", r"coupler:\2,\1", text)


def from_record(text: str) -> str:
    """Return the faults of an identity as users read and write them.

    >>> from_record("coupler:1,0@5 loss:0.1")
    'coupler:0-1@5 loss:0.1'
    """
    return re.sub(_OLD_COUPLER, r"coupler:\2-\1", text)


_COUPLER = re.compile(r"([0-9]{1,30})-([0-9]{1,30})(?:@(.*))?")
_OLD_COUPLER = re.compile(r"\bcoupler:(\d+),(\d+)")
_PART = re.compile(r"(coupler|transmitter|receiver|processor):([^@]*)(?:@(.*))?")
_SOME = re.compile(r"random:(\w+)=([^@]*)(?:@(.*))?")
_LOST = re.compile(r"loss:([^/]+)(?:/(\w+))?")
_WORDS = ("coupler:", "transmitter:", "receiver:", "processor:", "random:", "loss:")


def _read(item: str, fields: dict[str, Any]) -> None:
    """Add what one item of a text says."""
    if (now := from_record(item)) != item:
        raise InputError(f"fault {item!r}: a coupler is written from-to; it is now {now}.")
    if match := _PART.fullmatch(item):
        kind, part, slot = match.groups()
        ends = part.split("-") if kind == "coupler" else [part]
        if len(ends) != (2 if kind == "coupler" else 1):
            raise InputError(f"fault {item!r}: write {_form(kind)}.")
        rule = "a group number, 0 to g - 1" if kind == "coupler" else "a processor, 0 to n - 1"
        numbers = [_integer(item, end, f"{rule}; write {_form(kind)}") for end in ends]
        place = (*reversed(numbers), _since(item, slot))
        fields[f"{kind}s"].append(_name(place) if kind == "coupler" else place)
    elif match := _SOME.fullmatch(item):
        kind, number, slot = match.groups()
        if kind in fields["random"]:
            raise InputError(f"fault {item!r}: random {kind} are given twice.")
        fields["random"][kind] = _integer(item, number, "a number of parts"), _since(item, slot)
    elif match := _LOST.fullmatch(item):
        if "loss" in fields:
            raise InputError(f"fault {item!r}: the loss is given twice.")
        try:
            fields["loss"] = float(match[1])
        except ValueError:
            raise InputError(f"fault {item!r}: {match[1]!r} is not a number.") from None
        fields["loss_per"] = match[2] or "coupler"
    else:
        word = item.partition(":")[0] + ":"
        meant = "" if word in _WORDS else did_you_mean(word, _WORDS)
        raise InputError(
            f"fault {item!r}: it cannot be read.{meant} Write {_form('coupler')}, transmitter:P, "
            "receiver:P, processor:P, random:couplers=N or loss:E; @SLOT after a part says from "
            "when on it is dead."
        )


def _integer(item: str, text: str, rule: str) -> int:
    if not re.fullmatch(r"[0-9]{1,30}", text):
        raise InputError(f"fault {item!r}: {text!r} is not {rule}.")
    return int(text)


def _since(item: str, slot: str | None) -> int:
    """Return the slot from which on a part is dead."""
    since = 1 if slot is None else _integer(item, slot, "a slot, 1 to 2^62")
    _require_slot(since, f"fault {item!r}")
    return since


def _require_slot(slot: int, label: str) -> None:
    if not 1 <= slot <= _LAST_SLOT:
        raise InputError(f"{label}: slot {slot} must be at least 1, and at most 2^62.")


def _form(kind: str) -> str:
    coupler = "coupler:A-B for the coupler from group A to group B"
    return coupler if kind == "coupler" else f"{kind}:P"


def _name(part: Sequence[int]) -> str:
    """Return a part, or a number of them, as a text, with the slot from which on it is dead."""
    *ends, slot = part
    return "-".join(map(str, reversed(ends))) + ("" if slot == 1 else f"@{slot}")


def _coupler(value: Any) -> tuple[int, ...]:
    """Return (b, a, slot) of a coupler, which is given as a text."""
    if isinstance(value, str) and (match := _COUPLER.fullmatch(value)):
        return int(match[2]), int(match[1]), _since(f"coupler:{value}", match[3])
    now = ""
    if isinstance(value, tuple | list) and len(value) in (2, 3):
        since = f"@{value[2]}" if len(value) == 3 else ""
        now = f" If this is c(b, a), it is now {f'{value[1]}-{value[0]}{since}'!r}."
    raise InputError(
        f"couplers: {value!r:.40} must be a text, from-to, such as '0-1' or '0-1@SLOT'.{now}"
    )


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _processor(kind: str, value: Any) -> tuple[int, ...]:
    """Return (processor, slot)."""
    part = tuple(value) if isinstance(value, Iterable) else (value,)
    if len(part) not in (1, 2) or not all(map(_is_whole, part)):
        raise InputError(f"{kind}: {value!r:.40} must be a processor or (processor, slot).")
    return tuple(map(int, (*part, 1)[:2]))


def _parts(kind: str, parts: Iterable[Any]) -> tuple[tuple[int, ...], ...]:
    """Return dead parts in order, each with the slot from which on it is dead."""
    begins: dict[tuple[int, ...], int] = {}
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise wrong(kind, f"{parts!r:.40}")("give a list.")
    for entry in parts:
        *where, slot = _coupler(entry) if kind == "couplers" else _processor(kind, entry)
        _require_slot(slot, f"{kind}: {entry!r:.40}")
        begins[tuple(where)] = min(slot, begins.get(tuple(where), slot))
    return tuple((*where, slot) for where, slot in sorted(begins.items()))


def _number(kind: str, value: Any) -> tuple[int, int]:
    """Return a number of random parts, and the slot from which on they are dead."""
    pair = value if isinstance(value, tuple) else (value, 1)
    whole = len(pair) == 2 and all(map(_is_whole, pair))
    if not whole or pair[0] < 0 or not 1 <= pair[1] <= _LAST_SLOT:
        raise InputError(
            f"random {kind} = {value!r:.40}: it must be an integer of at least 0, and a slot from "
            "1 to 2^62."
        )
    return int(pair[0]), int(pair[1])


def _loss(value: Any) -> float:
    try:
        loss = float(value)
    except (TypeError, ValueError):
        raise wrong("loss", f"{value!r:.40}")("it must be a number from 0 to 1.") from None
    if not (loss == 0 or _LEAST_LOSS <= loss <= 1):
        raise wrong("loss", f"{loss:g}")(
            "the probability that a message is lost must be 0, or from 2^-32 (2.3e-10) to 1."
        )
    return loss


def _shape(kind: str, network: Network) -> tuple[int, ...]:
    """Return the numbers of which a part of a kind has one each."""
    return (network.g, network.g) if kind == "couplers" else (network.n,)


def _draw(kind: str, shape: tuple[int, ...], coins: Coins) -> Iterator[tuple[int, ...]]:
    """Draw parts, each once, for ever; a longer beginning contains a shorter one."""
    parts: set[tuple[int, ...]] = set()
    for first in count(step=_AT_ONCE):
        tries, purpose = np.arange(first, first + _AT_ONCE), _RANDOM.format(kind)
        ends = (coins.draws(bound, purpose, end, tries) for end, bound in enumerate(shape))
        for part in zip(*(column.tolist() for column in ends), strict=True):
            if part not in parts:
                parts.add(part)
                yield part
