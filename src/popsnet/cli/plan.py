"""``popsnet plan``."""

from __future__ import annotations

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def plan(d: opt.D, g: opt.G) -> Report:
    """Recommend a router for POPS(D, G), with the expected slots of each."""
    return popsnet.recommend(d, g).report()
