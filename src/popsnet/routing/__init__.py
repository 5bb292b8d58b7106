"""Routers, one idea per file.

Names are imported when they are first used, and the routers that ship when one is asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
