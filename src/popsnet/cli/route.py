"""``popsnet route``."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.report import Report
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, reporting, with_seconds, with_trace

_SURVIVE = "survive"
"""The variant of --survive."""

_MOST_SEEN = 2**10
"""On larger networks a single packet can hardly be seen on the page."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmOptions(opt.RouterOptions):
    """A router, its variant, and other ways to choose that.

    Parameters
    ----------
    schedule
        A schedule for relay, for example "P2 P1 R2".
    survive
        Lose no packet, whatever faults there are, with --router relay.
    """

    schedule: str | None = None
    survive: bool = False


@dataclass(frozen=True, kw_only=True)
class RouteOptions(opt.RoutedOptions, AlgorithmOptions):
    """What decides the runs.

    Parameters
    ----------
    detect
        After every step, let all processors find out whether they are done.
    """

    detect: bool = False

    @property
    def chosen(self) -> str | None:
        """The variant, however it was chosen."""
        schedule = self.schedule if self.variant is None else self.variant
        return _SURVIVE if self.survive else schedule

    def experiment(self) -> popsnet.Experiment:
        """Return the experiment."""
        from popsnet.programs.routers.to_all import DETECTED
        from popsnet.runs.route import experiment_of

        if self.schedule is not None:
            _require_schedules(self.router, self.variant)
        if self.survive:
            _require_survival(self.router, replace(self, survive=False).chosen)
        if self.detect and self.has_demand:
            raise InputError(
                "--detect asks processors whether they have their packet, and no processor knows "
                "how many packets of a demand are for it; leave it out."
            )
        keywords = replace(self, variant=self.chosen, schedule=None).keywords()
        del keywords["survive"], keywords["detect"]  # they chose the variant
        experiment = experiment_of(keywords.pop("d"), **keywords)
        if not self.detect:
            return experiment
        return experiment.replaced(variant=experiment.variant + DETECTED)


@reporting
def route(
    *,
    options: RouteOptions,
    runs: int = 1,
    engine: opt.Engine = "auto",
    trace: Path | None = None,
    timing: opt.Timed,
) -> Report:
    """Route permutations, or a demand, on POPS(D, G), slot by slot.

    Example: popsnet route 8 8 --router relay --runs 20

    Exit code 1: a run is capped, or packets are not delivered.

    Parameters
    ----------
    runs
        Number of runs, each with its own permutation and coins.
    """
    experiment = options.experiment()
    try:
        done = popsnet.route(experiment, runs=runs, engine=engine, trace=trace)
    except KeyboardInterrupt as stop:
        if not isinstance(partial := getattr(stop, "runs", None), popsnet.Runs):
            raise
        message = f"Interrupted: {len(partial)} of {runs} runs were finished."
        report = _report(partial, options, timing) if len(partial) else None
        raise Interruption(message, report) from None
    return with_trace(_report(done, options, timing), trace)


def _report(done: popsnet.Runs, options: RouteOptions, timing: popsnet.Timing | None) -> Report:
    report = with_seconds(done.report(timing), float(done.seconds.sum()))
    return report.plus(*_pointer(done.experiment, options))


def _pointer(experiment: popsnet.Experiment, options: RouteOptions) -> list[str]:
    """Return the command that shows the first run, if the viewer can show it."""
    if experiment.network.n > _MOST_SEEN or experiment.idealized:
        return []
    router = options.router
    if options.chosen is not None or options.detect:
        name = re.match(r".+?\.py|[^:]+", router)  # it may have been given as NAME:VARIANT
        router = f"{name[0] if name else router}:{experiment.variant}"
    shown = ["--router", router] if router != opt.DEFAULT_ROUTER else []
    words = [str(options.d), str(options.g), *shown, *opt.ExperimentOptions.typed(options)]
    return [f"See it: popsnet view {shlex.join(words)}"]


def _require_schedules(router: str, variant: str | None) -> None:
    """Refuse a schedule beside a variant, and one for a router that takes none."""
    from popsnet.programs.router import find_variant

    if variant is not None:
        raise InputError("A schedule is a variant; give --schedule or --variant, not both.")
    if find_variant(router, None)[0].parse_variant is None:
        able = ", ".join(r.name for r in popsnet.all_routers() if r.parse_variant is not None)
        which = f"these do: {able}" if able else "no router here does"
        raise InputError(f"Router {router} takes no --schedule; {which}.")


def _require_survival(router: str, variant: str | None) -> None:
    """Refuse --survive beside a variant or a schedule, and with a router that has none for it."""
    from popsnet.programs.router import find_variant

    program, named = find_variant(router, None)
    if _SURVIVE not in program.variants:
        able = ", ".join(r.name for r in popsnet.all_routers() if _SURVIVE in r.variants)
        raise InputError(f"Router {router} has no variant for --survive; these have: {able}.")
    if variant is not None or named is not None:
        raise InputError(
            "--survive chooses the schedule; leave out --schedule and --variant, or give "
            "--schedule 'survive: …' with stages of your own."
        )
