"""Mathematics of routing times: formulas, bounds, limits, exact chains and comparator networks.

What is known without executing a run belongs here. No program runs here.

Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
