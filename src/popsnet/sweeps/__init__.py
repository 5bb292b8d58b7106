"""Many experiments: which runs, in shards, kept in a store, exported and verified.

Stores, clusters, and what is read from a store belong here. Executing a run does not.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
