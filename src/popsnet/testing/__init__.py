"""The test kit for authors: locality checks."""

from popsnet.testing.cone import LocalityError
from popsnet.testing.locality import check_locality, check_scheduler_locality

__all__ = ["LocalityError", "check_locality", "check_scheduler_locality"]
