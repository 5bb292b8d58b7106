"""relay compiled: all stages but one are local to a few source groups, a block.

``program`` is a schedule as numbers, ``layout`` what is worked on. ``park``, ``shower`` and
``grid`` are the stages, for some blocks; ``global_or`` follows a shower. ``stages`` puts them
together to whole runs on one thread, and ``large`` to one run on all threads.
"""

from popsnet.engines.fused.relay.kernel import RelayKernel

__all__ = ["RelayKernel"]
