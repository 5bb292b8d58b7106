"""relay compiled: all stages but one are local to a few source groups, a block.

``program`` is a schedule as numbers, ``ground`` what is worked on. ``park``, ``shower`` and
``grid`` are the stages, for some blocks; ``alarm`` is the global OR. ``stages`` puts them together
to whole runs on one thread, and ``large`` to one run on all threads.
"""

from popsnet.engines.fused.relay.kernel import RelayKernel, relay_bytes, relay_obstacle

__all__ = ["RelayKernel", "relay_bytes", "relay_obstacle"]
