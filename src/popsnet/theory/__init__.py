"""Mathematics of routing times: formulas, bounds, limits, exact chains and comparator networks.

What is known of a network without executing a run belongs here. No program runs here, and what is
known of given packets is in ``programs.schedules`` and ``workloads``.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
