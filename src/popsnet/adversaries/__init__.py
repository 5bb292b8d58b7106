"""Lower bounds as programs: for any algorithm of a class, build a permutation that delays it."""

from popsnet.adversaries.oblivious.attack import ObliviousAttack, attack_oblivious, attack_paths
from popsnet.adversaries.oblivious.congestion import (
    Average,
    CongestionStudy,
    average_congestion,
    measure_congestion,
)
from popsnet.adversaries.oblivious.observed_paths import observe
from popsnet.adversaries.oblivious.paths import PATH_SYSTEMS, PathSystem, find_paths
from popsnet.adversaries.rigid import RigidAttack, attack_rigid
from popsnet.adversaries.two_hop.algorithm import FAMILIES, TwoHop, find_two_hop, randomized
from popsnet.adversaries.two_hop.attack import TwoHopAttack, attack_two_hop
from popsnet.adversaries.two_hop.separation import (
    Separation,
    SeparationStudy,
    measure_separation,
    separation,
)

__all__ = [
    "FAMILIES",
    "PATH_SYSTEMS",
    "Average",
    "CongestionStudy",
    "ObliviousAttack",
    "PathSystem",
    "RigidAttack",
    "Separation",
    "SeparationStudy",
    "TwoHop",
    "TwoHopAttack",
    "attack_oblivious",
    "attack_paths",
    "attack_rigid",
    "attack_two_hop",
    "average_congestion",
    "find_paths",
    "find_two_hop",
    "measure_congestion",
    "measure_separation",
    "observe",
    "randomized",
    "separation",
]
