"""Traces: what happened in a run, slot by slot, as JSON Lines; written, read and checked.

The first line is a header, then comes one line a slot, then the outcome:

    {"format": "popsnet-trace", "version": 1, "d", "g", "router", "variant", "seed",
     "destination": [pi(0), pi(1), …]}
    {"slot": t, "phase": "name", "sends": [[processor, [groups], kind, packet], …],
     "listens": [[processor, group], …]}
    {"outcome": {"slots", "delivered", "lost"}}

Slots are numbered from 1. A kind is ``packet``, ``ack`` or ``control``; a packet is the number
of its source, or null. Sends and listens are ordered by processor.
"""

from popsnet.trace.event import Event, Listen, Observer, Send
from popsnet.trace.writer import TraceWriter, records

__all__ = ["Event", "Listen", "Observer", "Send", "TraceWriter", "records"]
