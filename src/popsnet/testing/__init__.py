"""The test kit for authors of routers: the locality check, and stages with every public draw."""

from popsnet.testing.every_draw import Case, CasesChecked, EveryDraw, check_every_draw
from popsnet.testing.locality import LocalityError, check_locality

__all__ = [
    "Case",
    "CasesChecked",
    "EveryDraw",
    "LocalityError",
    "check_every_draw",
    "check_locality",
]
