"""Congestion of random permutations, beside log g / log log g.

The paper states, with a proof left to Borodin, Raghavan, Schieber and Upfal, that every oblivious
algorithm has an expected Ω(log g / log log g) on a uniform permutation, d = Θ(g). With direct
paths it is plain: a coupler carries about a Poisson number of packets, mean d/g, and the most of
g² such numbers is Θ(log g / log log g). Here it is measured, not proved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from statistics import fmean, stdev

from popsnet.adversaries.execution import sizes_to, uniform_permutations
from popsnet.adversaries.oblivious.attack import attack_paths
from popsnet.adversaries.oblivious.crossing import congestion
from popsnet.adversaries.oblivious.paths import PATH_SYSTEMS, PathSystem
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import Progress, patient_progress
from popsnet.report import Column, Report, Reported, Table
from popsnet.theory.lower_bounds import guaranteed_congestion


@dataclass(frozen=True, slots=True)
class Average:
    """The congestion of some uniform permutations."""

    g: int
    paths: str
    runs: int
    mean: float
    standard_error: float
    """Of the mean; 0 for one permutation."""
    curve: float
    """The curve log g / log log g."""
    worst: int | None
    """The congestion of the permutation that was built against the paths, if one was."""
    guaranteed: int
    """The congestion of the worst permutation that is proved for every path system."""


@dataclass(frozen=True, repr=False)
class CongestionStudy(Reported):
    """The congestion of random permutations for several networks and path systems."""

    points: tuple[Average, ...]

    def report(self) -> Report:
        """Return the congestion of random permutations by g and path system, and of the worst."""
        names = list(dict.fromkeys(one.paths for one in self.points))
        means: dict[int, dict[str, float]] = {}
        worst: dict[int, dict[str, int]] = {}
        for one in self.points:
            g = one.g
            means.setdefault(g, {"g": g, "curve": one.curve})[one.paths] = one.mean
            if one.worst is not None:
                worst.setdefault(g, {"g": g, "any": one.guaranteed})[one.paths] = one.worst
        size = Column("g", "g = d", "integer")
        title = "Congestion of random permutations, mean; the curve is log g / log log g."
        columns = size, *map(Column, (*names, "curve"))
        report = Report().plus(
            Table("points", "", (), self.points),
            Table("means", title, columns, list(means.values())),
        )
        if not worst:
            return report
        title = "Congestion of the worst permutation, and what is proved for any path system."
        columns = size, *(Column(name, kind="integer") for name in (*names, "any"))
        return report.plus("", Table("worst", title, columns, list(worst.values())))


def average_congestion(paths: PathSystem, network: Network, runs: int, seed: int = 0) -> Average:
    """Count the congestion of this many uniform permutations, O(n) time each."""
    if runs < 1:
        raise InputError(f"runs = {runs}: a mean is of 1 permutation or more; give runs >= 1.")
    drawn = uniform_permutations(network, runs, seed)
    counted = [congestion(paths, network, one) for one in drawn]
    error = stdev(counted) / runs**0.5 if runs > 1 else 0.0
    g, guaranteed = network.g, guaranteed_congestion(network)
    return Average(g, paths.name, runs, fmean(counted), error, curve(g), None, guaranteed)


def measure_congestion(
    largest: int, runs: int, seed: int = 0, worst: int = 0, progress: Progress = None
) -> CongestionStudy:
    """Count random permutations on POPS(g, g), g = 8, 16, … ``largest``, for all path systems.

    Up to g = ``worst`` the worst permutation is built as well.
    """
    cases = [(g, paths) for g in sizes_to(largest) for paths in PATH_SYSTEMS.values()]
    averages = []
    with patient_progress("congestion", len(cases), progress) as report:
        for g, paths in cases:
            report(detail=f"{paths.name}, g = {g}")
            average = average_congestion(paths, Network(g, g), runs, seed)
            if g <= worst:
                attack = attack_paths(paths, Network(g, g), 1, progress=False)
                average = replace(average, worst=attack.matching.congestion)
            averages.append(average)
            report(len(averages))
    return CongestionStudy(tuple(averages))


def curve(g: int) -> float:
    """Log g / log log g, natural logarithms, for g ≥ 3."""
    return log(g) / log(log(g))
