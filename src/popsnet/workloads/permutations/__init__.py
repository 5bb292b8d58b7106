"""Permutations to route: ``permutation[i]`` is the destination of packet i.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
