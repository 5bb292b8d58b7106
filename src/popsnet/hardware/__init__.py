"""Hardware: units, slots in nanoseconds, and power budgets.

Pure functions of a network and of components belong here. They change no run.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
