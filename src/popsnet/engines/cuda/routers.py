"""The routers that have kernels for the device."""

from __future__ import annotations

from typing import Any

from popsnet.engines.cuda.driver import LargeDriver
from popsnet.engines.cuda.large import LargeMeiRizzi
from popsnet.engines.cuda.launching import shared_limit
from popsnet.engines.cuda.many import ManyKernel, threads_for
from popsnet.engines.cuda.many_mei_rizzi import ManyMeiRizzi, shared_bytes
from popsnet.engines.fused.kernel import Kernel
from popsnet.engines.fused.mei_rizzi import MeiRizziKernel
from popsnet.engines.fused.team import Team


def fits_many(kernel: Kernel[Any]) -> bool:
    """Return whether a block of threads can execute a run in its shared memory."""
    if threads_for(kernel.network.n) is None:
        return False
    return shared_bytes(kernel.network) <= shared_limit()


def many_of(kernel: Kernel[Any]) -> ManyKernel:
    """Return the kernel for many runs."""
    assert isinstance(kernel, MeiRizziKernel)
    return ManyMeiRizzi(kernel)


def large_of(kernel: Kernel[Any], team: Team) -> LargeDriver:
    """Return the driver of single runs."""
    assert isinstance(kernel, MeiRizziKernel)
    return LargeMeiRizzi(kernel, team)
