"""``popsnet theory``, ``exact``, ``distribution`` and ``adversary``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import popsnet
from popsnet.base.errors import wrong
from popsnet.base.report import Fact, Report
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, reporting, with_figure, with_file, with_seconds

if TYPE_CHECKING:
    from popsnet.model.slot import Ints


@reporting
def theory(
    d: int,
    g: int,
    runs: int = 0,
    bounds: bool = False,
    tails: bool = False,
    growth: bool = False,
    figure: opt.Figure = None,
) -> Report:
    """Show fluid limits, bounds and tail probabilities for POPS(D, G).

    Without --bounds, --tails and --growth it prints a summary of each; --json has all of them.
    --figure draws a run beside the phases of the proof.

    Example: popsnet theory 64 64

    Exit code 1: a run is capped.

    Parameters
    ----------
    runs
        Runs of each randomized router to compare with.
    bounds
        Print all bounds, with formulas, conditions and references.
    tails
        Print how likely slow runs of mei-rizzi are, and the paper's bounds of that. For D >= G.
    growth
        Print how the stages of relay grow with G. For D = G.
    """
    if (tails and d < g) or (growth and d != g):
        name, rule = ("tails", "D at least G") if tails and d < g else ("growth", "D = G")
        raise wrong(name, True)(f"it is for {rule}; leave it out, or choose such a network.")
    times = popsnet.predict(d, g, runs=runs, phases=figure is not None)
    asked = {"bounds": bounds, "tails": tails, "growth": growth}
    sections = [name for name, is_asked in asked.items() if is_asked]
    report = times.report(*sections).plus(*["More: --bounds, --tails, --growth."][len(sections) :])
    return with_figure(report, figure, lambda: popsnet.plots.draw_phases(times.phases))


@dataclass(frozen=True, kw_only=True)
class ExactOptions(opt.Keywords, opt.RouterOptions):
    """A tiny network, and what is solved.

    Parameters
    ----------
    router
        mei-rizzi or relay.
    variant
        For relay: its stages, S and Tr.
    permutation
        random for the average over all permutations, or a name or file.
    all_packets
        For D > G: let every packet take part in every step.
    upto
        List at most this many steps.
    """

    router: str = "mei-rizzi"
    permutation: opt.Permutation = "random"
    all_packets: bool = False
    upto: int | None = None


@reporting
def exact(options: ExactOptions, figure: opt.Figure = None) -> Report:
    """Compute the exact distribution of the steps on a tiny POPS(D, G).

    Example: popsnet exact 2 2
    """
    solved = popsnet.theory.exact.exact_steps(**options.keywords())
    return with_figure(solved.report(), figure, solved.plot)


@dataclass(frozen=True, kw_only=True)
class DistributionOptions(opt.RoutedOptions):
    """The runs that are counted, and how.

    Parameters
    ----------
    runs
        Number of runs; memory does not grow with it.
    first
        The number of the first run.
    confidence
        The confidence of each interval.
    exact
        Solve the exact chain first, if the network is small enough (up to two minutes).
    keep
        Keep the finished runs in this file; those that it has are not repeated.
    """

    runs: int = 1_000_000
    first: int = 0
    confidence: float = 0.95
    exact: Annotated[bool, typer.Option("--exact/--no-exact")] = True
    engine: opt.Engine = "auto"
    keep: Annotated[Path | None, typer.Option(metavar="FILE.json")] = None


@reporting
def distribution(
    *, experiment: DistributionOptions, figure: opt.Figure = None, timing: opt.Timed
) -> Report:
    """Count the slots and steps of very many runs, and say how likely slow runs are.

    Example: popsnet distribution 2 2 --runs 20000

    Exit code 1: a run is capped, or packets are not delivered.
    """
    try:
        result = popsnet.distribution(**experiment.keywords())
    except KeyboardInterrupt as stop:
        if not isinstance(partial := getattr(stop, "distribution", None), popsnet.RunsDistribution):
            raise
        message = "With --keep FILE.json they would be kept."
        if experiment.keep is not None:
            message = f"They are in {experiment.keep}, and the same command does the rest."
        message = f"Interrupted: {partial.runs:,} runs are finished. {message}"
        raise Interruption(message, with_seconds(partial.report(timing), partial.seconds)) from None
    report = with_seconds(result.report(timing), result.seconds)
    return with_figure(report, figure, lambda: popsnet.plots.draw_tails(result))


adversary = typer.Typer(
    name="adversary",
    help="Build permutations that an algorithm of a given class cannot route fast.",
)


def _require_out(out: Path | None) -> Path | None:
    from popsnet.workloads.permutations import require_permutation_file

    if out is not None:
        require_permutation_file(out)
    return out


Out = Annotated[Path | None, typer.Option("--out", "-o", callback=_require_out)]


@adversary.command()
@reporting
def oblivious(
    d: int,
    g: int,
    paths: str | None = None,
    router: Annotated[str | None, opt.of_routers] = None,
    variant: str | None = None,
    runs: int = 10,
    permutation_seed: int = 0,
    out: Out = None,
) -> Report:
    """Build a permutation that crowds one node, for oblivious algorithms.

    Example: popsnet adversary oblivious 8 8 --paths residue

    Exit code 1: the machine does not confirm the congestion.

    Parameters
    ----------
    paths
        direct, grid, hashed, random, residue (the default) or spread; or a file.py that defines
        path(d, g, source, destination).
    router
        Take the paths of this router, or of a file.py that registers one.
    runs
        Random permutations to compare with.
    permutation_seed
        Random seed of the permutations.
    out
        Write the permutation to this file: .npy, .csv or .json.
    """
    attack = popsnet.adversaries.attack_oblivious(
        popsnet.Network(d, g), paths, router=router, variant=variant, runs=runs,
        permutation_seed=permutation_seed,
    )  # fmt: skip
    return _with_permutation(attack.report(), attack.matching.destination, out)


@adversary.command()
@reporting
def congestion(
    largest: int = 128,
    runs: int = 20,
    permutation_seed: int = 0,
    worst: int = 16,
    figure: opt.Figure = None,
) -> Report:
    """Measure the congestion of random permutations on every system of paths.

    Example: popsnet adversary congestion --largest 16

    Parameters
    ----------
    largest
        Largest G = D; sizes double from 8.
    runs
        Random permutations per size.
    permutation_seed
        Random seed of the permutations.
    worst
        Build the worst permutation as well up to this G; slow above 32.
    """
    study = popsnet.adversaries.measure_congestion(largest, runs, permutation_seed, worst)
    return with_figure(study.report(), figure, lambda: popsnet.plots.draw_congestion(study))


@adversary.command()
@reporting
def rigid(
    d: int,
    g: int,
    router: opt.Router = "datta",
    variant: str | None = None,
    slots: int | None = None,
    figure: opt.Figure = None,
    out: Out = None,
) -> Report:
    """Build a transposition on which a rigid router, stopped early, must fail.

    Example: popsnet adversary rigid 8 8 --router batcher

    Exit code 1: there is no such transposition, or the machine does not confirm it.

    Parameters
    ----------
    slots
        Truncate the router after this many slots (default: the last slot at which it must fail).
    out
        Write the permutation to this file: .npy, .csv or .json.
    """
    attack = popsnet.adversaries.attack_rigid(router, variant, popsnet.Network(d, g), slots)
    report = _with_permutation(attack.report(), attack.destination, out)
    return with_figure(report, figure, lambda: popsnet.plots.draw_growth(attack))


@dataclass(frozen=True, kw_only=True)
class ConflictFreeOptions(opt.Keywords, opt.RouterOptions):
    """A router, and the permutations on which it runs.

    Parameters
    ----------
    slots
        Truncate the router after this many slots (default: where its shortest run ends).
    allow
        Most messages that may meet on a coupler and destroy each other; the bounds grow with it.
    runs
        Random permutations for n > 6 (default: 10).
    permutation_seed
        Random seed of the permutations for n > 6.
    """

    router: opt.Router = "direct"
    slots: int | None = None
    allow: int = 1
    runs: int | None = None
    permutation_seed: int | None = None


@adversary.command()
@reporting
def conflict_free(options: ConflictFreeOptions, figure: opt.Figure = None) -> Report:
    """Check the lower bound for conflict-free algorithms on a router.

    Up to n = 6 the router runs on all permutations.

    Example: popsnet adversary conflict-free 2 3 --router batcher

    Exit code 1: messages meet, a processor uses what it has not heard, or a bound does not hold.
    """
    words = options.keywords()
    router, variant, d, g = (words.pop(name, None) for name in ("router", "variant", "d", "g"))
    check = popsnet.adversaries.check_conflict_free(router, variant, d, g, **words)
    if figure and figure.figure and check.refusal:
        return check.report().plus(Fact("figure", None), f"{figure.figure} was not written.")
    return with_figure(check.report(), figure, lambda: popsnet.plots.draw_arrivals(check))


@adversary.command()
@reporting
def two_hop(
    d: int, g: int, algorithm: str = "hashed", most_slots: int = 64, out: Out = None
) -> Report:
    """Build a permutation that delays a packet, for two-hop algorithms.

    Example: popsnet adversary two-hop 16 16 --algorithm hashed

    Exit code 1: the machine does not confirm the delay.

    Parameters
    ----------
    algorithm
        affine, bits, hashed, rotation or shear; or a file.py that defines c_out(d, g, processor,
        slot) and, optionally, c_in.
    most_slots
        Longest delay to look for, an even number of slots.
    out
        Write the permutation to this file: .npy, .csv or .json.
    """
    attack = popsnet.adversaries.attack_two_hop(
        algorithm, popsnet.Network(d, g), _rounds(most_slots)
    )
    return _with_permutation(attack.report(), attack.destination, out)


@adversary.command()
@reporting
def separation(
    largest: int = 256, runs: int = 20, most_slots: int = 64, figure: opt.Figure = None
) -> Report:
    """Compare the delays of deterministic and randomized two-hop algorithms.

    Example: popsnet adversary separation --largest 16

    Exit code 1: the machine does not confirm a delay.

    Parameters
    ----------
    largest
        Largest G = D; sizes double from 8.
    runs
        Runs of the randomized algorithm per size.
    most_slots
        Longest delay to look for, an even number of slots.
    """
    study = popsnet.adversaries.measure_separation(largest, runs, _rounds(most_slots))
    return with_figure(study.report(), figure, lambda: popsnet.plots.draw_separation_study(study))


def _rounds(most_slots: int) -> int:
    if most_slots < 2 or most_slots % 2:
        raise wrong("most_slots", most_slots)(
            "rounds have two slots; give an even number from 2 on."
        )
    return most_slots // 2


def _with_permutation(report: Report, permutation: Ints | None, out: Path | None) -> Report:
    """Write the permutation that was built, if there is one, and say so in the report."""
    from popsnet.workloads.permutations import write_permutation

    if out is None:
        return report
    if permutation is None:
        return report.plus(Fact("out", None), f"{out} was not written.")
    write_permutation(out, permutation)
    return with_file(report, "Permutation", out)
