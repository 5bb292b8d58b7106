"""Run one point: warm up, measure a window, and let its packets be delivered.

What is decided depends on slots that are multiples of numbers fixed by the network and the
scheduler's period, never on time or on the sizes of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from popsnet.base.progress import Progress, Update, patient_progress
from popsnet.engines.log import Log
from popsnet.experiment.experiment import whole_number
from popsnet.experiment.stop import StopRule
from popsnet.model.network import Network
from popsnet.runs.batch_means import BATCH, Sums, find_cut
from popsnet.runs.measures import Window, backlog_after
from popsnet.runs.traffic_result import Setting, TrafficResult
from popsnet.runs.verdict import RunConditions, judge, strong_growth
from popsnet.workloads.arrivals import Arrivals
from popsnet.workloads.block import Block
from popsnet.workloads.packet_list import PacketList

_STRIDE = 2**20
"""Processor-slots after which the number of packets inside is looked at."""
_MOST_BATCHES = 2**15
"""Batches of the series in which the end of the warm-up is looked for."""
_CORRELATED_PART = 0.5
"""The part of the precision that is asked for while batches are correlated, to be safe."""

_LONGEST_BACKOFF = 1024
"""Slots per processor that a list is drained for longer if all that has a path must arrive.

``relay`` repeats a packet after 64 n to 128 n slots on average if it has met others or has no live
relay there. In 8 to 16 times as many, it does not try once with a probability of at most 3·10^-4.
"""
_DELIVERED_PART = 0.9
"""The part of an open window whose packets count as delivered when its precision is looked at."""


class TrafficSession(Protocol):
    """An engine at work: it takes the arrivals of consecutive slots and returns what happened."""

    def advance(self, block: Block, /) -> Log:
        """Execute the slots of a block."""

    def close(self) -> None:
        """End the work."""


def run_point(
    arrivals: Arrivals,
    session: TrafficSession,
    network: Network,
    *,
    setting: Setting | None = None,
    progress: Progress = None,
    block_slots: int | None = None,
    **parameters: Any,
) -> TrafficResult:
    """Run one point: warm-up, window, drain.

    Parameters
    ----------
    arrivals : Arrivals
        The packets.
    session : TrafficSession
        The engine, at slot 0. It is not closed.
    network : Network
        The network.
    setting : Setting, optional
        Scheduler, seeds and engine, for the result.
    period : int
        The period of the scheduler in slots, such as the length of its frame.
    slots : int, optional
        The length of the window. By default it grows until the precision is reached.
    precision : float
        The half-width of the 95 % interval of the mean delay that is enough, as a share of the
        mean, unless ``slots`` is given.
    max_slots : int, optional
        The longest window, by default 2^27 processor-slots, and at least 100 periods and 20,000
        slots.
    warm_up : int, optional
        Slots to leave out. By default MSER-5 decides on the backlog: at least five periods and
        1,000 slots, doubled until the cut lies in the first half, at most half of the longest
        window.
    max_inside : int
        A run with more packets inside ends.
    is_list : bool
        Whether the packets are a list, which ends: it is drained until all are delivered.
    until_delivered : bool
        Whether the window goes on after ``slots`` slots, in which all packets arrive, and ends
        with the last delivery.
    progress : function, bool or None
        As for :func:`~popsnet.route`, in slots.
    block_slots : int, optional
        Slots per block, which do not change the result. By default 2^20 processor-slots.

    Returns
    -------
    TrafficResult
        The measures and the verdict.

    Raises
    ------
    InputError
        If a parameter is wrong.
    KeyboardInterrupt
        If interrupted. Its attribute ``result`` has what was measured up to then, as an undecided
        result, or None if the window had not begun.

    Notes
    -----
    A window that grows is at least as long as the warm-up and 20 periods. It is looked at whenever
    it is half as long again, and ends when the interval was narrow enough twice in a row. As it
    ends when the interval looks narrow, such an interval covers less often than one of a window
    of given length: 187 of 200 covered the exact mean of ``tdm``, at loads of 15 % to 70 % on three
    networks.

    The drain is at most as long as the window, or as five periods and 1,000 slots. Arrivals go on
    in it, and are not measured. If packets are lost, which are not known by name, it also ends when
    no packet of the window was delivered for five periods and 1,000 slots. A run whose backlog
    grows strongly ends early, with a window of a third of its slots and no drain.
    """
    plan = StopRule(network, **parameters)
    if block_slots is not None:
        whole_number("block_slots", block_slots, 1)
    setting = Setting() if setting is None else setting
    what = f"{setting.scheduler or 'traffic'} on {network}, load {arrivals.load:g}"
    with patient_progress(what, plan.longest, progress) as report:
        point = _Point(arrivals, session, plan, setting, report, block_slots)
        try:
            point.run()
        except KeyboardInterrupt as stop:
            stop.result = point.interrupted()  # type: ignore[attr-defined]
            text = f"{point.slot:,} slots were done; the attribute result has what was measured."
            stop.add_note(text)
            raise
    return point.result()


@dataclass
class _Point:
    """A point while it runs."""

    arrivals: Arrivals
    session: TrafficSession
    plan: StopRule
    setting: Setting
    report: Update
    block_slots: int | None

    def __post_init__(self) -> None:
        self.network = self.plan.network
        self.stride = max(1, _STRIDE // self.network.n)
        self.most = min(self.block_slots or self.stride, self.stride)
        self.slot = self.inside = 0
        self.is_full = False
        self.seen = RunConditions(self.plan.first_warm_up, has_drained=False)
        self.seen.may_lose = bool(self.setting.faults) and not self.setting.buffer
        if isinstance(self.arrivals, PacketList):
            self.seen.listed = self.arrivals.packets
        self.window: Window | None = None
        self.backlog, self.arrived = Sums(), Sums()
        self.cold = Sums(BATCH, _MOST_BATCHES)  # the backlog in the warm-up

    def run(self) -> None:
        """Run warm-up, window and drain."""
        self._warm_up()
        self.window = window = Window(self.network, self.slot)
        if self.seen.growth or self.is_full:
            # Memory is finite, so a run that has failed is measured in a few slots.
            slots = min(self.slot // (8 if self.is_full else 2), self.plan.longest)
            self._advance_to(self.slot + max(1, slots), anyway=True)
        else:
            self._measure(window)
        window.end_arrivals()
        if not self.plan.until_delivered:
            window.close()
        if self.is_full and not self.seen.growth:
            self.seen.growth = strong_growth(self.backlog, self.arrived)
            if not self.seen.growth:
                self.seen.limit = f"More than {self.plan.max_inside:,} packets were inside."
        if not (self.seen.growth or self.is_full):
            self._drain(window)
            self.seen.has_drained = True
        if window.is_open:
            window.close_with_last_delivery()

    def _advance_to(self, end: int, *, anyway: bool = False) -> None:
        """Execute slots up to an end, or until too many packets are inside."""
        while self.slot < end and (anyway or not self.is_full):
            stop = min(end, (self.slot // self.stride + 1) * self.stride)
            while self.slot < stop:
                self._execute(min(self.most, stop - self.slot))
            self.is_full = self.is_full or self.inside > self.plan.max_inside

    def _execute(self, slots: int) -> None:
        """Execute the next slots, and measure them."""
        block = self.arrivals.block(self.slot, slots)
        log = self.session.advance(block)
        if log.faults is not None:
            block = block.without(log.faults.unreachable_rows)
        backlog = backlog_after(self.inside, block, log)
        if self.window is None:
            self.cold.add(backlog)
        if self.window is None or self.window.is_open:
            self.backlog.add(backlog)
            self.arrived.add(np.diff(block.starts))
        if self.window is not None:
            self.window.add(block, log, backlog)
        self.inside, self.slot = int(backlog[-1]), self.slot + slots
        begin = 0 if self.window is None else self.window.begin
        done = min(self.slot - begin, self.plan.longest)
        self.report(done, f"slot {self.slot:,}, {self.inside:,} packets inside")

    def _warm_up(self) -> None:
        if self.plan.warm_up is not None:
            self._advance_to(self.plan.warm_up)
            return
        end = self.plan.first_warm_up
        while True:
            self._advance_to(end)
            if self.is_full or self._is_hopeless() or not find_cut(self.cold.means).is_late:
                return
            if end >= self.plan.most_warm_up:
                self.seen.is_warm = False
                return
            end = min(2 * end, self.plan.most_warm_up)

    def _is_hopeless(self) -> bool:
        if self.slot >= self.plan.hopeless_after and not self.plan.is_list:
            self.seen.growth = strong_growth(self.backlog, self.arrived)
        return bool(self.seen.growth)

    def _measure(self, window: Window) -> None:
        """Measure until the window is long enough, or the run has failed."""
        length, ends = self.plan.hopeless_after, list[int]()
        if self.plan.slots is None:
            length = max(length, window.begin)  # a long warm-up is a long memory
        while length < self.plan.longest:  # each look is at a window longer by half
            ends.append(window.begin + length)
            length += length // 2 + 1
        ends.append(window.begin + self.plan.longest)
        self._advance_to((window.begin + ends[0]) // 2)
        was_enough = False
        for end in ends:
            window.mark()
            self._advance_to(end)
            if self.is_full or self._is_hopeless():
                return
            # Twice in a row: an interval that is narrow by chance would stop the window.
            was_enough, before = self._is_enough(window), was_enough
            if was_enough and before:
                return
        if self.plan.slots is None:
            self.seen.precision = self.plan.precision

    def _is_enough(self, window: Window) -> bool:
        if self.plan.slots is not None or window.inside > (1 - _DELIVERED_PART) * window.tagged:
            return False
        delay = window.delays(_DELIVERED_PART)
        if delay is None:
            return False
        share = 1.0 if delay.independent else _CORRELATED_PART
        return delay.half_width <= share * self.plan.precision * delay.mean

    def _drain(self, window: Window) -> None:
        """Let packets of the window be delivered. How long is found out in short steps."""
        quiet, step = self.plan.first_warm_up, max(1, self.plan.frame // 4)
        end = self.slot + max(window.slots, self.plan.first_warm_up)
        if self.plan.is_list:
            end += self.plan.frame * window.inside
            if self.setting.survives:
                end += _LONGEST_BACKOFF * self.network.n
        while window.inside and self.slot < end and not self.is_full:
            if window.lost + window.lost_later and self.slot - window.counts.last > quiet:
                return
            self._advance_to(min(self.slot + step, end))

    def result(self) -> TrafficResult:
        """Return the result."""
        window = self.window
        assert window is not None
        drain = 0 if self.plan.until_delivered else max(0, self.slot - window.end)
        return TrafficResult.of(
            window, judge(window, self.seen), arrivals=self.arrivals.name, load=self.arrivals.load,
            setting=self.setting, drain=drain, held=self.inside,
        )  # fmt: skip

    def interrupted(self) -> TrafficResult | None:
        """Return what was measured so far, or None."""
        if self.window is None or self.window.next == self.window.begin:
            return None
        if self.window.is_open:
            self.window.close()
        self.seen.limit = f"The run was interrupted after {self.slot:,} slots."
        return self.result()
