"""``popsnet routers``."""

from __future__ import annotations

from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def routers() -> Report:
    """List the routers with their slots, memory, messages and coins."""
    from popsnet.advice.catalogue import catalogue

    return catalogue()
