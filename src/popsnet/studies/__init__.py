"""Questions that take several experiments, or none of a usual kind.

Comparisons, recommendations, survival, adversaries, computing on values, and curves of traffic
belong here. What a single experiment gives does not: it is in ``runs``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
