"""The paper's router, compiled.

``layout`` is what is worked on, and ``passes`` are the loops. ``resident`` does whole runs on one
thread, ``deferred`` those of the variant in which copies wait, and ``partitioned`` the pieces of
one run on all threads, which ``large`` drives.
"""

from popsnet.engines.fused.mei_rizzi.kernel import DeferredKernel, MeiRizziKernel

__all__ = ["DeferredKernel", "MeiRizziKernel"]
