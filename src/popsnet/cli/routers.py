"""``popsnet routers``."""

from __future__ import annotations

from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def routers() -> Report:
    """List the routers: where each applies, its slots, memory, messages and coins."""
    from popsnet.advice.catalogue import catalogue

    return catalogue()
