"""relay, compiled: all stages but one are local to a few source groups, a block.

``program`` is a schedule as numbers, and ``layout`` has the data. ``park``, ``shower`` and ``grid``
are the stages, for some blocks, and ``global_or`` follows a shower. ``stages`` combines them to
whole runs on one thread, and ``large`` to one run on all threads.
"""

from popsnet.engines.fused.relay.kernel import RelayKernel

__all__ = ["RelayKernel"]
