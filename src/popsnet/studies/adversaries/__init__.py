"""Lower bounds as programs: for any algorithm of a class, build a permutation that delays it.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
