"""relay: our own router, which follows a schedule of stages. Importing the package registers it.

Other names are imported when they are first used.
"""

import lazy_loader

from popsnet.programs.routers.relay import router as router

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
