"""``popsnet plan``."""

from __future__ import annotations

from popsnet.cli.options import D, G
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def plan(d: D, g: G) -> Report:
    """Say which router to use on POPS(D, G), and how many slots each should take."""
    from popsnet.advice import recommend

    return recommend(d, g).report()
