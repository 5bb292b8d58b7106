"""The ``fused`` engine: two routers, compiled to what decides which packets survive.

It has the same coins and the same runs as the engines that execute every message, for statistics
and for networks that those cannot hold. A kernel is a router on one network: ``mei_rizzi`` has
those of the paper's router, and ``relay`` that of relay. A session has a kernel, threads and a
workspace for each of them. Small networks run in the cache, one thread per run. All threads share
a large run.
"""

from popsnet.engines.fused.engine import ENGINE, kernel_of
from popsnet.engines.fused.kernel import RESIDENT, Kernel
from popsnet.engines.fused.session import FusedSession

__all__ = ["ENGINE", "RESIDENT", "FusedSession", "Kernel", "kernel_of"]
