"""relay: our own router, which follows a schedule of stages. Importing the package registers it.

Other names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names
from popsnet.programs.routers.relay import router as router

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
