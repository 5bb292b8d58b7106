"""The result of one point of continuous traffic: what was measured at one load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import popsnet
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, facts_of
from popsnet.base.report.table import NOTHING, nest, plural
from popsnet.hardware import Timing
from popsnet.model.network import Network, about
from popsnet.programs.scheduler import scheduler_label
from popsnet.runs import delays
from popsnet.runs.measures import Window, Worst
from popsnet.runs.verdict import Kind, Verdict

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""The percentiles of the delay that are kept."""

_BATCHES = ("batches", "lag1", "independent")
"""What is told of the batches of the interval."""

ONE_HOP = "pairs"
"""The bound that holds for one hop only."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a point is a result of, apart from its network and its arrivals.

    Parameters
    ----------
    scheduler, variant : str
        The scheduler and its variant.
    seed, arrival_seed : int
        The seeds of the scheduler's coins and of the arrivals.
    engine : str
        The engine that executed the slots.
    buffer : int
        The packets of its own, and of others, that a processor has room for; 0 is no limit.
    bounds : mapping
        Bounds on the load for any scheduler, by name.
    faults : str
        The faults as a text, empty if there are none.
    fault_seed : int
        The seed of random faults and lost messages.
    known_faults : bool
        Whether every processor knows the dead parts.
    drawn_faults : str
        The faults with the random ones listed.
    survives : bool
        Whether the scheduler states that it survives these faults.

    Examples
    --------
    >>> from popsnet.runs.traffic_result import Setting
    >>> Setting("tdm", seed=1).arrival_seed
    0
    """

    scheduler: str = ""
    variant: str = ""
    seed: int = 0
    arrival_seed: int = 0
    engine: str = ""
    buffer: int = 0
    bounds: Mapping[str, float] = field(default_factory=dict)
    faults: str = ""
    fault_seed: int = 0
    known_faults: bool = False
    drawn_faults: str = ""
    survives: bool = True


@dataclass(frozen=True, slots=True)
class Delay:
    """The delays, in slots, of the packets that arrived in the window.

    A packet delivered in the slot in which it arrived has delay 1. The mean is that of delivered
    packets. A percentile is that of all packets, and None if it falls among those that were not
    delivered; it is exact below 2,048 slots, and above too large by at most one part in 1,024.

    Parameters
    ----------
    mean : float or None
        The mean, None if no packet was delivered.
    interval : tuple of float or None
        Its 95 % interval by batch means, None for windows of fewer than 20 slots.
    p50, p90, p95, p99, p999 : int or None
        Percentiles.
    max : int or None
        The largest delay of a delivered packet, exactly.
    batches : int
        The batches of the interval.
    lag1 : float or None
        The lag-1 correlation of the batch means.
    independent : bool
        Whether the test found no correlation. If it did, the interval is wider for it.

    Examples
    --------
    >>> from popsnet.runs.traffic_result import Delay
    >>> Delay(10.0, (9.5, 10.5)).half_width
    0.5
    """

    mean: float | None = None
    interval: tuple[float, float] | None = None
    p50: int | None = None
    p90: int | None = None
    p95: int | None = None
    p99: int | None = None
    p999: int | None = None
    max: int | None = None
    batches: int = 0
    lag1: float | None = None
    independent: bool = False

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2

    @classmethod
    def of(cls, window: Window) -> Delay:
        """Return the delays of a window."""
        counts, means = window.counts, window.delays()
        if not counts.delivered:
            return cls()
        mean = counts.delay / counts.delivered
        known: dict[str, Any] = {name: window.percentile(SHARES[name]) for name in SHARES}
        if means is not None:
            known["interval"] = mean - means.half_width, mean + means.half_width
            known |= {name: getattr(means, name) for name in _BATCHES}
        return cls(mean=mean, max=counts.longest, **known)


@dataclass(frozen=True, slots=True)
class Buffers:
    """The packets that processors held in the window.

    Parameters
    ----------
    own_mean, relayed_mean : float
        Packets of its own, and of others, that a processor held after a slot, on average.
    own_most, relayed_most : int
        The most that one processor held.

    Examples
    --------
    >>> from popsnet.runs.traffic_result import Buffers
    >>> Buffers(0.5, 3, 0.0, 0).own_most
    3
    """

    own_mean: float
    own_most: int
    relayed_mean: float
    relayed_most: int


@dataclass(frozen=True, repr=False)
class TrafficResult(Reported, Plotted):
    """One point: the load, what was delivered, and how long it took.

    Parameters
    ----------
    network : Network
        The network.
    arrivals : str
        What arrived, and where it went.
    load : float
        The load that was asked for, in packets per processor and slot.
    setting : Setting
        Scheduler, variant, seeds, engine, and bounds on the load. Its fields are attributes of
        the result, too.
    offered, accepted : float
        Packets per processor and slot that arrived, and that were delivered, in the window.
    delay : Delay
        Delays of the packets that arrived in the window.
    hops, messages, collisions : float or None
        Hops, messages and couplers with collisions per delivered packet.
    buffers : Buffers
        Packets held by processors.
    out_of_order : float or None
        The share of packets that were delivered after a packet of their flow that came later.
    followed : int
        Flows of every source with a number divisible by this are followed: 1 means all.
    fairness : float or None
        Jain's index of the shares delivered over sources with arrivals: 1 if all are equal.
    worst : Worst or None
        The worst flow, source or destination of those with at least 1,000 arrivals.
    little : float or None
        The mean delay by Little's law, which must agree with the mean but for both ends.
    arrived, delivered, refused, lost, destroyed : int
        Packets that arrived, were delivered, refused and lost, and messages destroyed, in the
        window.
    undelivered : int
        Packets that arrived in the window and were not delivered, nor refused, up to the end.
    warm_up, slots, drain : int
        Slots before, in and after the window.
    verdict : {"stable", "unstable", "undecided"}
        The verdict.
    reason : str
        Its reason.
    unreachable : int
        Packets that arrived in the window without a live path that the scheduler can use, given
        what was dead then, or all dead parts if they are known. They count neither as lost nor as
        delivered, and no flow is judged by them.
    held : int
        Packets with a path that processors held at the end of the run.
    duplicated, skipped, unheard : int
        In the window: deliveries of packets that had been delivered before, actions that a
        processor could not do because it missed a message, and messages that faults kept from a
        listener, counted once per listener.

    Examples
    --------
    >>> import popsnet
    >>> result = popsnet.simulate(4, 4, scheduler="tdm", load=0.5)
    >>> result.verdict, result.hops
    ('stable', 1.0)
    >>> f"{result.delay.mean:.1f} slots, {result.accepted:.2f} packets per processor and slot"
    '17.3 slots, 0.50 packets per processor and slot'
    """

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_load_curves"

    network: Network
    arrivals: str
    load: float
    setting: Setting
    offered: float
    accepted: float
    delay: Delay
    hops: float | None
    messages: float | None
    collisions: float | None
    buffers: Buffers
    out_of_order: float | None
    followed: int
    fairness: float | None
    worst: Worst | None
    little: float | None
    arrived: int
    delivered: int
    refused: int
    lost: int
    destroyed: int
    undelivered: int
    warm_up: int
    slots: int
    drain: int
    verdict: Kind
    reason: str
    unreachable: int = 0
    held: int = 0
    duplicated: int = 0
    skipped: int = 0
    unheard: int = 0

    @property
    def _drawn(self) -> Any:
        return [self]

    def __getattr__(self, name: str) -> Any:
        if name in Setting.__dataclass_fields__:
            return getattr(self.setting, name)
        text = f"'TrafficResult' object has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *Setting.__dataclass_fields__]

    @classmethod
    def of(
        cls,
        window: Window,
        verdict: Verdict,
        *,
        arrivals: str,
        load: float,
        setting: Setting,
        drain: int,
        held: int = 0,
    ) -> TrafficResult:
        """Return the result of a window.

        Parameters
        ----------
        window : Window
            The measures.
        verdict : Verdict
            The verdict.
        arrivals : str
            The name of the arrivals.
        load : float
            Their load.
        setting : Setting
            Scheduler, seeds and engine.
        drain : int
            Slots after the window.
        held : int
            Packets with a path that are inside at the end.

        Returns
        -------
        TrafficResult
            The result.
        """
        counts, sent = window.counts, window.deliveries
        cells = max(1, window.slots * window.network.n)
        own = window.own / cells
        return cls(
            network=window.network, arrivals=arrivals, load=load, setting=setting,
            offered=window.arrived / cells, accepted=sent / cells, delay=Delay.of(window),
            hops=counts.hops / counts.delivered if counts.delivered else None,
            messages=window.messages / sent if sent else None,
            collisions=window.collisions / sent if sent else None,
            buffers=Buffers(own, window.most_own, window.relayed / cells, window.most_relayed),
            out_of_order=window.out_of_order, followed=window.every, fairness=window.fairness,
            worst=window.worst, little=window.little, arrived=window.arrived, delivered=sent,
            refused=window.refused, lost=window.lost, destroyed=window.destroyed,
            undelivered=window.inside, warm_up=window.begin, slots=window.slots, drain=drain,
            verdict=verdict.kind, reason=verdict.reason,
            unreachable=window.unreachable, held=held if setting.faults else 0,
            duplicated=window.duplicated, skipped=window.skipped, unheard=window.unheard,
        )  # fmt: skip

    @property
    def bound(self) -> float | None:
        """The largest load of the pattern for any scheduler, None if it is not known."""
        loads = [load for name, load in self.setting.bounds.items() if name != ONE_HOP]
        return min(loads, default=None)

    @property
    def label(self) -> str:
        """The scheduler, with the variant if it is not the first."""
        return scheduler_label(self.setting.scheduler, self.setting.variant)

    @property
    def stable(self) -> bool | None:
        """Whether the point is stable, None if undecided."""
        return None if self.verdict == "undecided" else self.verdict == "stable"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values that JSON represents exactly.

        Returns
        -------
        dict
            See :meth:`from_dict`.
        """
        values = {**asdict(self), "network": self.network.to_dict()}
        if self.delay.interval is not None:
            values["delay"]["interval"] = list(self.delay.interval)
        if self.worst is not None:
            values["worst"] = {**self.worst._asdict(), "share": self.worst.share}
        if not self.setting.faults:
            for part, names in ((values, OF_FAULTS), (values["setting"], _FAULTS)):
                for name in names:
                    del part[name]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrafficResult:
        """Return the result that :meth:`to_dict` has made plain values of.

        Parameters
        ----------
        values : mapping
            The values, also after a passage through JSON.

        Returns
        -------
        TrafficResult
            An equal result.
        """
        network, delay, worst = values["network"], values["delay"], values["worst"]
        interval = None if delay["interval"] is None else tuple(delay["interval"])
        parts = {
            "network": Network(network["d"], network["g"], network.get("wavelengths", 1)),
            "setting": Setting(**values["setting"]),
            "delay": Delay(**{**delay, "interval": interval}),
            "buffers": Buffers(**values["buffers"]),
            "worst": None if worst is None else Worst(*(worst[name] for name in Worst._fields)),
        }
        return cls(**{**values, **parts})

    def columns(self) -> dict[str, Any]:
        """Return the network, the seeds and the version, which rows of exported tables have."""
        return {**self.network.columns(), **self._seeds, "popsnet_version": popsnet.__version__}

    @property
    def _seeds(self) -> dict[str, int]:
        return {"seed": self.setting.seed, "arrival_seed": self.setting.arrival_seed}

    def in_short(self) -> str:
        """Return scheduler, network, arrivals, load, delay and verdict in a line."""
        mean = "" if self.delay.mean is None else f", mean delay {self.delay.mean:,.2f} slots"
        where = f"{self.label} on {self.network}, {self.arrivals}, load {self.load:g}"
        return f"{where}: {self.verdict}{mean}"

    def row(self, timing: Timing | None = None) -> dict[str, Any]:
        """Return what a table of points shows of this one, with a key per value.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, for times and bit rates as well.

        Returns
        -------
        dict
            Plain values. ``COLUMNS`` says how people see them.
        """
        rest: tuple[str, ...] = (
            "hops", "messages", "collisions", "out_of_order", "fairness", "refused", "lost",
            "undelivered", "warm_up", "slots", "drain", "verdict", "reason",
        )  # fmt: skip
        if self.setting.faults:
            rest += "faults", "fault_seed", *OF_FAULTS
        return {
            "scheduler": self.setting.scheduler,
            "variant": self.setting.variant,
            "scheduler_label": self.label,
            "arrivals": self.arrivals,
            **self.columns(),
            **{name: getattr(self, name) for name in ("load", "offered", "accepted")},
            **self._delays(timing),
            **{_EXPORTED.get(name, name): getattr(self, name) for name in rest},
            **({} if timing is None else delays.point_rates(self, timing)),
        }

    def _delays(self, timing: Timing | None) -> dict[str, float | None]:
        """Return the delays, and with a timing their times, with a key per value."""
        low, high = self.delay.interval or (None, None)
        return {
            **{f"delay_{name}": getattr(self.delay, name) for name in ("mean", *SHARES, "max")},
            "delay_low": low,
            "delay_high": high,
            **({} if timing is None else delays.point_times(self, timing)),
        }

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.

        Examples
        --------
        >>> import popsnet
        >>> result = popsnet.simulate(4, 4, scheduler="tdm", load=0.5)
        >>> report = result.report(popsnet.Timing("20ns", fibre="10m"))
        >>> report.to_dict()["propagation"]["tdm"]["rule"]
        'one hop, nothing waits: + τ'
        """
        setting, network = self.setting, self.network
        variant = f" ({setting.variant})" if setting.variant else ""
        title = (
            f"{network}: {network.n:,} processors in {plural(network.g, 'group')} of "
            f"{network.d:,}\n"
            f"{setting.scheduler}{variant}, engine {setting.engine}, seed {setting.seed}\n"
            f"arrivals {self.arrivals}, load {self.load:g}, arrival seed {setting.arrival_seed}"
            f"{faults_in_words(setting)}"
        )
        lost = f"{plural(self.lost, 'lost packet')} ({self.lost / max(1, self.arrived):.1%})"
        but = f", but with {lost}" * bool(self.stable and self.lost)
        verdict = f"{self.verdict.capitalize()}{but}: {self.reason}"
        same = about(self.network, **self._seeds)
        left = f"{self.undelivered:,} packets not delivered count as longer than all others."
        columns, rows = delays.delay_columns(*SHARES, "max"), [self.row(timing)]
        caption = left * bool(self.undelivered)
        table = Table("points", "Delay in slots", columns, rows, caption, nested=NESTED)
        report = Report(title, self._facts(timing), (table,), verdict, about=same)
        times = delays.time_table(delays.POINT_COLUMNS, rows)
        return delays.with_times(report, timing, [self], times)

    def _facts(self, timing: Timing | None) -> tuple[Fact, ...]:
        setting = self.setting
        batches = {name: getattr(self.delay, name) for name in _BATCHES}
        held, worst, parts = self.buffers, self.worst, self.to_dict()
        return (
            *facts_of(setting, "scheduler", "variant", "engine", "seed", "arrival_seed", "buffer"),
            *facts_of(self, "network", "arrivals", "load", "accepted", "arrived", "delivered"),
            *facts_of(self, "destroyed", "verdict", "reason"),
            Fact("delay", nest(self._delays(timing), NESTED)["delay"] | batches),
            Fact("followed", self.followed),
            bounds_fact(setting.bounds),
            Fact("offered", self.offered, "load offered, accepted",
                 text=f"{self.offered:.4f}, {self.accepted:.4f}"),
            Fact("little", self.little, "mean delay by Little's law", "number"),
            Fact("hops_per_packet", self.hops, "hops per packet", "number"),
            Fact("messages_per_packet", self.messages, "messages per packet", "number"),
            Fact("collisions_per_packet", self.collisions, "collisions per packet", "number"),
            Fact("buffers", parts["buffers"], "own packets held",
                 text=f"{held.own_mean:,.2f} on average, at most {held.own_most:,}"),
            Fact("buffers", parts["buffers"], "packets held as a relay",
                 text=f"{held.relayed_mean:,.2f} on average, at most {held.relayed_most:,}"),
            Fact("out_of_order", self.out_of_order, "delivered out of order", "share"),
            Fact("fairness", self.fairness, "Jain's index over sources",
                 text=NOTHING if self.fairness is None else f"{self.fairness:.4f}"),
            Fact("worst", parts["worst"], "smallest share delivered",
                 text=NOTHING if worst is None else f"{worst.share:.1%} of {worst}"),
            Fact("undelivered", self.undelivered, "packets not delivered"),
            Fact("refused", self.refused, "packets refused" * bool(setting.buffer)),
            Fact("lost", self.lost, "packets lost" * bool(setting.buffer or setting.faults)),
            *(self._facts_of_faults() if setting.faults else ()),
            Fact("warm_up", self.warm_up, "slots of warm-up"),
            Fact("window_slots", self.slots, "slots measured"),
            Fact("drain", self.drain, "slots of drain"),
        )  # fmt: skip

    def _facts_of_faults(self) -> tuple[Fact, ...]:
        setting = self.setting
        share = self.unreachable / self.arrived if self.arrived else 0.0
        return (
            *facts_of(setting, "faults", "fault_seed", "known_faults", "drawn_faults", "survives"),
            Fact("unreachable", self.unreachable, "packets unreachable",
                 text=f"{self.unreachable:,} ({share:.2%})"),
            Fact("held", self.held, "packets held at the end"),
            Fact("duplicated", self.duplicated, "deliveries repeated"),
            Fact("skipped", self.skipped, "actions skipped" * bool(self.skipped)),
            Fact("unheard", self.unheard, "messages unheard because of faults"),
        )  # fmt: skip


NESTED = ("delay",)
"""The beginnings of columns that are one object in JSON."""

_EXPORTED = {
    "hops": "hops_per_packet",
    "messages": "messages_per_packet",
    "collisions": "collisions_per_packet",
    "slots": "window_slots",
}
"""The columns of attributes that have other names in exported tables."""


def keys_of_bounds(bounds: Mapping[str, float]) -> dict[str, float]:
    """Return bounds on the load by names that are keys.

    >>> keys_of_bounds({"rows": 1.0, "groups out": 0.5})
    {'rows': 1.0, 'groups_out': 0.5}
    """
    return {name.replace(" ", "_"): load for name, load in bounds.items()}


OF_FAULTS = ("unreachable", "held", "duplicated", "skipped", "unheard")
"""The counts that only a result with faults has."""
_FAULTS = ("faults", "fault_seed", "known_faults", "drawn_faults", "survives")


def faults_in_words(setting: Setting) -> str:
    """Return the faults and what is known of them, in lines of their own; nothing without faults.

    >>> print(faults_in_words(Setting("tdm", faults="loss:0.1", survives=False)).strip())
    faults loss:0.1, fault seed 0; tdm does not survive these faults
    """
    if not setting.faults:
        return ""
    text = f"\nfaults {setting.faults}, fault seed {setting.fault_seed}"
    text += ", known to every processor" if setting.known_faults else ""
    text += "" if setting.survives else f"; {setting.scheduler} does not survive these faults"
    if setting.drawn_faults not in ("", setting.faults):
        text += f"\nfaults drawn: {setting.drawn_faults}"
    return text


def bounds_in_words(bounds: Mapping[str, float]) -> str:
    """Return the largest load for any scheduler and for one hop, and which rules give them.

    >>> bounds_in_words({"rows": 1.0, "hops": 0.5625, "pairs": 0.125})
    '0.5625 (hops); one hop 0.125 (pairs)'
    """
    if not bounds:
        return NOTHING
    every = min((name for name in bounds if name != ONE_HOP), key=lambda name: bounds[name])
    direct = min(bounds, key=lambda name: bounds[name])
    one_hop = f"; one hop {bounds[direct]:.4g} ({direct})" if direct != every else ""
    return f"{bounds[every]:.4g} ({every}){one_hop}"


def bounds_fact(bounds: Mapping[str, float]) -> Fact:
    """Return bounds on the load as a fact, which people see unless there are none."""
    label, text = "largest load" * bool(bounds), bounds_in_words(bounds)
    return Fact("bounds", keys_of_bounds(bounds), label, text=text)


COLUMNS: tuple[Column, ...] = (
    *delays.CURVE_COLUMNS[:2],
    Column("accepted", show=lambda row: f"{row['accepted']:.4f}"),
    *delays.delay_columns("p50", "p99", "p999", "max"),
    Column("verdict", kind="text"),
)
"""The columns of a table of points, which fit in a terminal of 80 columns."""
