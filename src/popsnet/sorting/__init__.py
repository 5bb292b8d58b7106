"""Sorting networks: comparators as data, three constructions, and a zero-one check."""

from popsnet.sorting.bag_tree import BagTree, bag_tree
from popsnet.sorting.batcher import (
    Certified,
    bitonic,
    merge_exchange,
    merge_exchange_depth,
    sort_certified,
)
from popsnet.sorting.catalogue import NETWORKS, make_network
from popsnet.sorting.comparators import ComparatorNetwork, ComparatorStage
from popsnet.sorting.examination import DepthGrowth, Examined, examine, measure_growth
from popsnet.sorting.zero_one import SortingVerdict, check_network

__all__ = [
    "NETWORKS",
    "BagTree",
    "Certified",
    "ComparatorNetwork",
    "ComparatorStage",
    "DepthGrowth",
    "Examined",
    "SortingVerdict",
    "bag_tree",
    "bitonic",
    "check_network",
    "examine",
    "make_network",
    "measure_growth",
    "merge_exchange",
    "merge_exchange_depth",
    "sort_certified",
]
