"""The test kit for authors: locality checks, and stages with every public draw."""

from popsnet.testing.cone import LocalityError
from popsnet.testing.every_draw import Case, CasesChecked, EveryDraw, check_every_draw
from popsnet.testing.locality import check_locality
from popsnet.testing.scheduler_locality import check_scheduler_locality

__all__ = [
    "Case",
    "CasesChecked",
    "EveryDraw",
    "LocalityError",
    "check_every_draw",
    "check_locality",
    "check_scheduler_locality",
]
