"""The compiled engine of continuous traffic: the same logs as the message-level engine, faster.

A kernel computes what a scheduler does without executing messages. ``parts`` has what all kernels
share, ``lists`` and ``shelf`` are two ways to keep many queues, ``frame`` is the conflict-free
frame, and ``session`` calls a kernel with one block of arrivals after another.
"""

from popsnet.traffic.fused.open import open_session, supports

__all__ = ["open_session", "supports"]
