"""A coupler, and the messages that travel through it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet knows where it comes from and where it goes."""

    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Message:
    """A packet itself, an ack that names it, or a control message with a number in it."""

    kind: str
    packet: Packet | None
    number: int = 1
    bits: int = 1
    """Of the number; an ack carries nothing, but that it is there says something."""


class Coupler:
    """Coupler c(b, a): broadcasts to group b the message a processor of group a sends.

    Two or more messages in a slot destroy each other. What comes out then is what comes out
    of a silent coupler: nothing.
    """

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)

    def propagate(self) -> Message | None:
        """What the listeners hear in this slot."""
        return self.messages[0] if len(self.messages) == 1 else None
