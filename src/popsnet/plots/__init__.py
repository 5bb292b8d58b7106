"""Figures, with matplotlib (the ``plots`` extra).

One function per figure belongs here, which draws a result. Results are not computed here.

Names are imported when they are first used.
"""

from importlib.util import find_spec

from popsnet.base.errors import how_to_install, lazy_names

if find_spec("matplotlib") is None:
    raise ImportError(f"popsnet.plots needs matplotlib. {how_to_install('plots')}")

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
