"""Congestion of random permutations, beside log g / log log g.

The paper states, with a proof left to Borodin, Raghavan, Schieber and Upfal, that every oblivious
algorithm has an expected Ω(log g / log log g) on a uniform permutation, d = Θ(g). With direct
paths it is plain: a coupler carries about a Poisson number of packets, mean d/g, and the most of
g² such numbers is Θ(log g / log log g). Here it is measured, not proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import fmean, stdev

from popsnet.adversaries.oblivious.crossing import congestion
from popsnet.adversaries.oblivious.paths import PathSystem
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations.uniform import UniformPermutation

__all__ = ["Average", "average_congestion", "curve"]


@dataclass(frozen=True, slots=True)
class Average:
    """The congestion of some uniform permutations."""

    network: Network
    paths: str
    counted: tuple[int, ...]
    """One number for every permutation."""

    @property
    def mean(self) -> float:
        """The mean."""
        return fmean(self.counted)

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 for one permutation."""
        runs = len(self.counted)
        return stdev(self.counted) / runs**0.5 if runs > 1 else 0.0


def average_congestion(paths: PathSystem, network: Network, runs: int, seed: int = 0) -> Average:
    """Count the congestion of so many uniform permutations, O(n) time each."""
    if runs < 1:
        raise InputError(f"runs = {runs}: a mean is of 1 permutation or more; give runs >= 1.")
    coins = Coins(seed)
    made = (UniformPermutation(network.n, coins.for_run(run)).array() for run in range(runs))
    return Average(network, paths.name, tuple(congestion(paths, network, one) for one in made))


def curve(g: int) -> float:
    """Log g / log log g, natural logarithms, for g ≥ 3."""
    return log(g) / log(log(g))
