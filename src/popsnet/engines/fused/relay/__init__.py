"""relay, compiled: most stages are local to a few source groups, a block.

``program`` is a schedule as numbers, and ``layout`` has the data. ``park``, ``shower`` and ``grid``
are stages, for some blocks; ``marked`` (Q, X) and ``elect`` (T) are for all pending packets at
once. ``stages`` combines them to whole runs on one thread, and to one run on all threads.
"""

from popsnet.engines.fused.relay.kernel import RelayKernel

__all__ = ["RelayKernel"]
