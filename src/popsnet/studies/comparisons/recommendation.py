"""The slots that each router is expected to take on a network, and so which one to use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from popsnet.base.errors import InputError, require_several
from popsnet.base.report import Column, Fact, Report, Reported, Row, Table, facts_of
from popsnet.hardware import Timing
from popsnet.hardware.shown import shown_time, time_column, with_router_times
from popsnet.model.network import Network, about, shape_of
from popsnet.programs.router import Route, Router, all_routers, find_router


@dataclass(frozen=True, slots=True)
class Forecast:
    """The slots that a router is expected to take, and the basis of that estimate."""

    router: Router
    variant: str
    slots: float
    exact: bool
    """Whether every permutation takes exactly this many."""
    reason: str


def forecast(router: Router, network: Network) -> Forecast | None:
    """Return the forecast of a router, None if it does not apply or does not state one.

    Raises
    ------
    InputError
        If the expected slots cannot be computed, or are not a number of at least 0.
    """
    expected = router.claims.expected
    if expected is None or not router.applies_to(network):
        return None
    try:
        slots = float(expected.slots(network))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The expected slots of router {router.name} cannot be computed on {network}: "
            f"{error!r:.60}"
        ) from error
    if not slots >= 0:
        text = f"Router {router.name} expects {slots} slots on {network}; it must be at least 0."
        raise InputError(text)
    return Forecast(router, router.choose_variant(None, network), slots, *expected.basis(network))


def shipped_routers() -> list[Router]:
    """Return the routers that ship with popsnet, without those loaded from files."""
    return [router for router in all_routers() if not router.file]


def forecasts(network: Network, routers: Iterable[Router] | None = None) -> list[Forecast]:
    """Return the forecasts of these routers, or of all that ship, the fastest first."""
    several = shipped_routers() if routers is None else routers
    expected = filter(None, (forecast(router, network) for router in several))
    return sorted(expected, key=lambda row: (row.slots, not row.exact, row.router.name))


@dataclass(frozen=True, repr=False)
class Recommendation(Reported):
    """The router to use on a network, and the forecasts of all, as :func:`recommend` returns it.

    Parameters
    ----------
    network : Network
        The network.
    best : Forecast
        The forecast of the router to use.
    forecasts : tuple of Forecast
        Those of every router that applies, the fastest first.
    """

    __hash__ = None  # type: ignore[assignment]

    network: Network
    best: Forecast
    forecasts: tuple[Forecast, ...]

    @property
    def router(self) -> str:
        """The name of the router."""
        return self.best.router.name

    @property
    def variant(self) -> str:
        """The variant that it runs on the network."""
        return self.best.variant

    @property
    def slots(self) -> float:
        """The expected number of slots."""
        return self.best.slots

    @property
    def why(self) -> str:
        """The reason, with the next best router."""
        best, online = self.best, (row for row in self.forecasts if row.router.online)
        others = [row for row in online if row.router is not best.router]
        slots = f"{best.slots:,.0f}" if best.exact else f"about {best.slots:,.1f}"
        certain = "on every permutation" if best.exact else "on average"
        text = f"{slots} slots {certain}, the fewest of all on-line routers"
        if not others:
            return f"{text}."
        if others[0].slots == best.slots:
            return f"{text}; {others[0].router.name} takes the same number."
        return f"{text}; next is {others[0].router.name} with {others[0].slots:,.1f}."

    def time(self, one: Forecast, timing: Timing) -> float:
        """Return the time that a forecast expects, in nanoseconds, propagation included.

        Parameters
        ----------
        one : Forecast
            The forecast.
        timing : Timing
            The length of a slot, and the propagation.
        """
        rule = one.router.variant(one.variant).propagation
        slots = rule.slots(self.network, one.slots, tau=timing.propagation_slots)
        return timing.nanoseconds(slots) or 0.0

    def in_short(self) -> str:
        """Return the router and the expected slots in a line."""
        return f"{self.router} on {self.network}, {self.slots:,.1f} slots expected"

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        facts = (*facts_of(self, "network", "router", "variant"), Fact("reason", self.why))
        rows = [
            {
                "router": row.router.name,
                **{name: getattr(row, name) for name in ("variant", "slots", "exact", "reason")},
                "online": row.router.online,
            }
            for row in self.forecasts
        ]
        columns = (*_COLUMNS, Column("online", "on-line", "text", self._online))
        table = Table("routers", f"Expected slots on {self.network}", columns, rows)
        parts = table, f"Use {self.router}: {self.why}"
        report = Report("", facts, parts, about=about(self.network))
        return report if timing is None else self._timed(report, timing)

    def _timed(self, report: Report, timing: Timing) -> Report:
        """Return the report with a table of times, and the router that is fastest by time."""
        timed = sorted(self.forecasts, key=lambda row: self.time(row, timing))
        rows = [{"router": row.router.name, "expected_ns": self.time(row, timing)} for row in timed]
        rules = (row.router.variant(row.variant).propagation for row in timed)
        columns = _COLUMNS[0], time_column("expected_ns", "expected time")
        report = with_router_times(report, timing, columns, list(zip(rows, rules, strict=True)))
        best = next(row for row in timed if row.router.online)
        report = report.plus(Fact("fastest_by_time", best.router.name))
        if best.router is self.best.router:
            return report
        took = shown_time(self.time(best, timing))
        return report.plus(f"With this propagation {best.router.name} is faster: {took}.")

    def _online(self, row: Row) -> str:
        routers = {forecast.router.name: forecast.router for forecast in self.forecasts}
        return routers[row["router"]].locality


_COLUMNS = (
    Column("router", kind="text"),
    Column("slots", show=lambda row: f"{row['slots']:,.{0 if row['exact'] else 1}f}"),
    Column("exact", kind="flag"),
    Column("reason", "basis of the estimate", "text"),
)


def recommend(
    d: Network | int,
    g: int | None = None,
    *,
    routers: Sequence[str | Path | Router | Route] | None = None,
) -> Recommendation:
    """Recommend the on-line router with the fewest expected slots.

    Of two routers with the same number, one without coins is preferred.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.
    routers : sequence, optional
        Names, files, routers or generator functions to choose from. By default every router that
        ships. A router that does not state its expected slots is left out.

    Returns
    -------
    Recommendation
        The router, and the forecasts of all.

    Raises
    ------
    InputError
        If none of the routers is on-line, applies to the network and states its expected slots.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.recommend(64, 64).router
    'relay'
    >>> popsnet.recommend(popsnet.Network(4, 4)).why
    '4 slots on every permutation, the fewest of all on-line routers; relay takes the same number.'
    """
    network = Network(*shape_of(d, g))
    if routers is not None:
        require_several("routers", routers)
    expected = forecasts(network, None if routers is None else map(find_router, routers))
    best = next((row for row in expected if row.router.online), None)
    if best is None:
        raise InputError(
            f"routers: none of them is on-line, applies to {network} and states its expected "
            "slots; register them with claims=Claims(expected=…)."
        )
    return Recommendation(network, best, tuple(expected))
