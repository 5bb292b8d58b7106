"""The ``fused`` engine: two routers compiled, only what decides who survives.

Same coins, same trajectory as the engines that execute every message, for statistics and for
networks that those cannot hold. Small networks run whole in the cache, one thread a run
(``resident``); large ones are partitioned, all threads on one run (``partitioned``). That is the
paper's router; ``relay`` has a folder of its own.
"""

from popsnet.engines.fused.engine import Session, runs_deferred
from popsnet.engines.fused.relay import RelaySession
from popsnet.engines.fused.sessions import execute, memory_for, obstacle_to, open_session
from popsnet.engines.fused.threads import RESIDENT, threads_here

__all__ = [
    "RESIDENT",
    "RelaySession",
    "Session",
    "execute",
    "memory_for",
    "obstacle_to",
    "open_session",
    "runs_deferred",
    "threads_here",
]
