"""The paper's router, compiled.

``layout`` has the data, and ``passes`` the loops. ``resident`` executes whole runs on one thread,
``deferred`` those of the variant in which copies wait, and ``partitioned`` the pieces of one run on
all threads, which ``large`` drives.
"""

from popsnet.engines.fused.mei_rizzi.kernel import DeferredKernel, MeiRizziKernel

__all__ = ["DeferredKernel", "MeiRizziKernel"]
