"""From the log of runs to a row of counts per run, without the interpreter.

The columns are those of ``popsnet.engines.outcome.COLUMNS``.
"""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64

_UNKNOWN = -1
"""As ``popsnet.engines.outcome.UNKNOWN``; a test compares them."""

_SLOTS_PER_STEP = 5


@compiled
def summarize_mei_rizzi(
    n: int, executed: bool, log: I64, steps: I64, table: I64, survivors: I64
) -> None:
    """Sum up the steps of every run: pending after it, sent, survivors of slot 1, collided.

    If ``executed``, a packet is delivered in slot 5 and acknowledged by two messages more; if
    not, what survives slot 2 counts as delivered there.
    """
    start = 0
    for run in range(len(steps)):
        sent, heard, collided, last, before = 0, 0, 0, 0, n
        for step in range(steps[run]):
            row = log[start + step]
            if row[0] < before:
                last = _SLOTS_PER_STEP * step + (5 if executed else 2)
            before = row[0]
            survivors[start + step] = before
            sent += row[1]
            heard += row[2]
            collided += row[3]
        delivered = n - before
        more = 3 * delivered if executed else 0  # acks and last hops
        _write(
            table[run], _SLOTS_PER_STEP * steps[run], last, steps[run], delivered, collided,
            sent - delivered, sent + heard + more, int(more > 0), int(before > 0),
        )  # fmt: skip
        start += steps[run]


@compiled
def summarize_deferred(n: int, more: I64, log: I64, steps: I64, table: I64, survivors: I64) -> None:
    """Sum up the steps of every run; ``more`` has the slots of kind 5 after the last step.

    If there are any, the last of them delivers the last copy.
    """
    start = 0
    for run in range(len(steps)):
        total = np.zeros(6, dtype=np.int64)
        last, before = 0, n
        for step in range(steps[run]):
            row = log[start + step]
            if row[0] < before:
                last = _SLOTS_PER_STEP * (step + 1)
            before = row[0]
            survivors[start + step] = before
            for k in range(6):
                total[k] += row[k + 1]
        sent, alone_1, heard_1 = int(total[0]), int(total[1]), int(total[2])
        alone_2, heard_2, collided = int(total[3]), int(total[4]), int(total[5])
        delivered, slots = n - before, _SLOTS_PER_STEP * steps[run] + more[run]
        _write(
            table[run], slots, slots if more[run] > 0 else last, steps[run], delivered, collided,
            sent - alone_1 + heard_1 - alone_2, sent + heard_1 + 2 * heard_2 + delivered,
            int(heard_2 > 0), int(heard_2 < n),
        )  # fmt: skip
        start += steps[run]


@compiled
def summarize_relay(n: int, log: I64, steps: I64, table: I64, survivors: I64) -> None:
    """Take the last step of every run, whose row has the sums already."""
    start = 0
    for run in range(len(steps)):
        for step in range(steps[run]):
            survivors[start + step] = log[start + step, 0]
        start += steps[run]
        row = log[start - 1]
        _write(
            table[run], row[2], row[3], steps[run], n - row[0], row[5], row[6], row[4], row[7],
            int(row[1] > 0),
        )  # fmt: skip


@compiled
def _write(
    row: I64, slots: int, last: int, steps: int, delivered: int, collided: int, destroyed: int,
    messages: int, bits: int, capped: int,
) -> None:  # fmt: skip
    row[0], row[1], row[2], row[3], row[4] = slots, last, steps, delivered, 0
    row[5], row[6], row[7], row[8], row[9] = collided, destroyed, messages, _UNKNOWN, bits
    row[10] = capped
