"""Hardware: units, slots in nanoseconds, and power budgets.

Pure functions of a network and of components belong here. They change no run.

Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
