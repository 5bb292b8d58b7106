"""The compiled engine of continuous traffic: the same logs as the message-level engine, faster.

A kernel computes what a scheduler does without executing messages. ``packets`` has what all
kernels share, ``lists``, ``heads`` and ``stripes`` are ways to keep many queues, ``frame`` is the
conflict-free frame, ``session`` calls a kernel with one block of arrivals after another, and in
``register`` every kernel enters itself.
"""

from popsnet.engines.fused.schedulers.register import open_session, supports

__all__ = ["open_session", "supports"]
