"""Questions that take several experiments, or none of a usual kind.

Comparisons, recommendations, survival, adversaries, computing on values, and curves of traffic
belong here. What a single experiment gives does not: it is in ``runs``.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
