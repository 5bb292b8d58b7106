"""Many experiments: which runs, in shards, kept in a store, exported and verified."""

from popsnet.sweeps.rescue import rescue
from popsnet.sweeps.runner import collect, collect_traffic
from popsnet.sweeps.selection import Selection
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.verify import verify

__all__ = ["Selection", "Store", "Sweep", "collect", "collect_traffic", "rescue", "verify"]
