"""The ``fused`` engine: two routers compiled, only what decides who survives.

Same coins, same trajectory as the engines that execute every message, for statistics and for
networks that those cannot hold. Small networks run whole in the cache, one thread per run
(``resident``); large ones are partitioned, all threads on one run (``partitioned``). That is the
paper's router; ``relay`` has a folder of its own. A kernel is one of them on one network, with its
threads and memory.
"""

from popsnet.engines.fused.engine import ENGINE, open_kernel
from popsnet.engines.fused.kernel import Kernel
from popsnet.engines.fused.threads import RESIDENT

__all__ = ["ENGINE", "RESIDENT", "Kernel", "open_kernel"]
