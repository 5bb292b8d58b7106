"""Congestion of random permutations, beside log g / log log g.

The paper states, and refers to Borodin, Raghavan, Schieber and Upfal for a proof, that every
oblivious algorithm has an expected congestion of Ω(log g / log log g) on a uniform permutation for
d = Θ(g). For direct paths this is easy to see: the number of packets on a coupler is about Poisson
with mean d/g, and the maximum of g² such numbers is Θ(log g / log log g). Here it is measured, not
proved.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import log
from statistics import fmean, stdev

from popsnet.base.errors import wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Plotted, Report, Reported, Table
from popsnet.experiment.experiment import whole_number
from popsnet.model.network import Network, on_network
from popsnet.studies.adversaries.execution import sizes_to, uniform_permutations
from popsnet.studies.adversaries.oblivious.attack import attack_paths
from popsnet.studies.adversaries.oblivious.crossing import loads
from popsnet.studies.adversaries.oblivious.paths import PATH_SYSTEMS, PathSystem
from popsnet.theory.bounds import guaranteed_congestion


@dataclass(frozen=True, slots=True)
class Average:
    """The mean congestion of uniform permutations for one path system on POPS(g, g).

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import PATH_SYSTEMS, average_congestion
    >>> average = average_congestion(PATH_SYSTEMS["grid"], Network(8, 8), runs=2)
    >>> average.guaranteed, average.worst
    (2, None)
    """

    g: int
    paths: str
    runs: int
    mean: float
    standard_error: float
    """The standard error of the mean; 0 for one permutation."""
    curve: float
    """The value of log g / log log g."""
    worst: int | None
    """The congestion of the permutation built against the paths; None if none was built."""
    guaranteed: int
    """The worst-case congestion that is proved for every path system."""


@dataclass(frozen=True, repr=False)
class CongestionStudy(Reported, Plotted):
    """The congestion of random permutations for several networks and path systems.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_congestion
    >>> len(measure_congestion(8, runs=1).points)
    6
    """

    _draw = "draw_congestion"

    points: tuple[Average, ...]

    def report(self) -> Report:
        """Return the mean and the worst congestion by g and path system."""
        names = list(dict.fromkeys(point.paths for point in self.points))
        means: dict[int, dict[str, float]] = {}
        worst: dict[int, dict[str, int]] = {}
        for point in self.points:
            g = point.g
            means.setdefault(g, {"g": g, "curve": point.curve})[point.paths] = point.mean
            if point.worst is not None:
                worst.setdefault(g, {"g": g, "any": point.guaranteed})[point.paths] = point.worst
        size = Column("g", "g = d", "integer")
        rows = [{**Network(point.g, point.g).columns(), **asdict(point)} for point in self.points]
        title = "Congestion of random permutations, mean; the curve is log g / log log g."
        columns = size, *map(Column, (*names, "curve"))
        random = Table("means", title, columns, list(means.values()))
        report = Report(parts=(Table("points", "", (), rows), random))
        if not worst:
            return report
        title = "Congestion of the worst permutation, and what is proved for any path system."
        columns = size, *(Column(name, kind="integer") for name in (*names, "any"))
        return report.plus("", Table("worst", title, columns, list(worst.values())))


@on_network
def average_congestion(paths: PathSystem, network: Network, runs: int, seed: int = 0) -> Average:
    """Measure the mean congestion of uniform permutations.

    Parameters
    ----------
    paths : PathSystem
        The paths that packets take.
    network : Network, or int and int
        The network, or its d and g.
    runs : int
        The number of permutations, at least 1; each takes O(n) time.
    seed : int
        The seed of the permutations.

    Returns
    -------
    Average
        The mean congestion and its standard error; ``worst`` is None.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import PATH_SYSTEMS, average_congestion
    >>> average_congestion(PATH_SYSTEMS["direct"], Network(8, 8), runs=20).mean
    3.55
    """
    if runs < 1:
        raise wrong("runs", runs)("a mean needs at least 1 permutation; give 1 or more.")
    drawn = uniform_permutations(network, runs, seed)
    counted = [int(loads(paths, network, permutation).max()) for permutation in drawn]
    error = stdev(counted) / runs**0.5 if runs > 1 else 0.0
    g, guaranteed = network.g, guaranteed_congestion(network)
    return Average(g, paths.name, runs, fmean(counted), error, curve(g), None, guaranteed)


def measure_congestion(
    largest: int, runs: int, seed: int = 0, worst: int = 0, progress: Progress = None
) -> CongestionStudy:
    """Measure the congestion of random permutations for all path systems.

    Parameters
    ----------
    largest : int
        The networks are POPS(g, g) for g = 8, 16, … up to this size.
    runs : int
        The number of permutations per network and path system.
    seed : int
        The seed of the permutations.
    worst : int
        Build the worst permutation as well for g up to this size, 0 for none; slow beyond 32.
    progress : function, bool or None
        As for :func:`attack_oblivious`.

    Returns
    -------
    CongestionStudy
        A point for every network and path system.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_congestion
    >>> study = measure_congestion(8, runs=20)
    >>> [(one.paths, one.mean) for one in study.points][:2]
    [('direct', 3.55), ('grid', 6.15)]
    """
    worst = whole_number("worst", worst, 0)
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
    """Return log g / log log g with natural logarithms, for g ≥ 3."""
    return log(g) / log(log(g))
