"""Continuous traffic: the public names. Packets keep arriving, and schedulers deliver them.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
