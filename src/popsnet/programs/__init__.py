"""Programs that run on the machine: routers, schedulers of traffic, and off-line schedules.

The register of all kinds, what programs state about themselves, and how users' files are loaded
belong here, and one file per idea in ``routers`` and ``schedulers``. Running a program does not.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
