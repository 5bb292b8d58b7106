"""The ``fused`` engine: the paper's router compiled, only what decides who survives.

Same coins, same trajectory as the engines that execute every message, for statistics and for
networks that those cannot hold. Small networks run whole in the cache, one thread a run
(``resident``); large ones are partitioned, all threads on one run (``partitioned``).
"""

from popsnet.engines.fused.engine import (
    RESIDENT,
    Session,
    bytes_needed,
    execute,
    obstacle,
    runs_deferred,
    threads_here,
)

__all__ = [
    "RESIDENT",
    "Session",
    "bytes_needed",
    "execute",
    "obstacle",
    "runs_deferred",
    "threads_here",
]
