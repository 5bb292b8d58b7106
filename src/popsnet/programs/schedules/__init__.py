"""Off-line schedules: demands, and the slots in which they are sent without collisions.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
