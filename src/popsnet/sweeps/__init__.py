"""Many experiments: which runs, in shards, kept in a store, exported and verified."""

from popsnet.sweeps.cluster import open_cluster
from popsnet.sweeps.rescue import rescue
from popsnet.sweeps.runner import collect, collect_traffic
from popsnet.sweeps.selection import Selection
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.verify import verify

__all__ = [
    "Selection", "Store", "Sweep", "collect", "collect_traffic", "open_cluster", "rescue", "verify",
]  # fmt: skip
