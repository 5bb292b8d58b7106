"""Traces: records of runs, slot by slot, as JSON Lines, written, read and checked.

The first line is a header. Then there is one line per slot, and then the outcome:

    {"format": "popsnet-trace", "version": 1, "d", "g", "router", "variant", "seed",
     "destination": [pi(0), pi(1), …], "buffers"}
    {"slot": t, "phase": "name", "step": s, "sends": [[processor, [groups], kind, packet], …],
     "listens": [[processor, group], …], "keeps": [[processor, packet], …], "drops": […]}
    {"outcome": {"slots", "delivered", "lost", "lost_packets"}}

Slots are numbered from 1 and steps from 0. A line may leave out its step. A kind is ``packet``,
``ack`` or ``control``. A packet is the number of its source (or its index in ``start``), or null.
Lists are ordered by processor. ``buffers``, ``keeps``, ``drops`` and ``lost_packets`` say which
packets each processor holds; a trace without ``buffers`` has none of them. ``start`` in a header
says where each packet starts, for any number of packets. ``explanation``, ``phases`` and
``conflict_graph`` in a header explain the run to readers.

A trace of continuous traffic has ``"traffic": true`` in its header, and no packets there. A slot
then has ``"arrives": [[processor, packet, destination], …]``, the packets that arrive at its
beginning, and ``"delivers": [[processor, packet], …]``, those that leave after it. The outcome has
two more counts, ``held`` and ``refused``.

A network with several wavelengths per coupler has ``"wavelengths": W`` in its header, and a slot
then has ``send_wavelengths`` and ``listen_wavelengths``, a number for each of its ``sends`` and
``listens``.

Formats, the checker and the viewer of traces belong here. Nothing here executes a slot by the
machine: the checker shares no code with it.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
