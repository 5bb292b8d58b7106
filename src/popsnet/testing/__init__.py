"""The test kit for authors of programs: locality checks.

Checks of other people's routers and schedulers belong here. Tests of popsnet itself do not.
"""

from popsnet.testing.cone import LocalityError
from popsnet.testing.locality import check_locality, check_scheduler_locality

__all__ = ["LocalityError", "check_locality", "check_scheduler_locality"]
