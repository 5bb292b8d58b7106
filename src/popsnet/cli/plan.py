"""``popsnet plan``."""

from __future__ import annotations

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def plan(d: opt.D, g: opt.G) -> Report:
    """Say which router to use on POPS(D, G), and how many slots each should take."""
    return popsnet.recommend(d, g).report()
