"""The routers that have kernels for the device."""

from __future__ import annotations

from typing import Any

from popsnet.engines.fused.kernel import Kernel
from popsnet.engines.fused.mei_rizzi import MeiRizziKernel
from popsnet.engines.fused.relay import RelayKernel
from popsnet.engines.fused.team import Team

from popsnet_cuda.driver import LargeDriver
from popsnet_cuda.launching import shared_limit
from popsnet_cuda.many import ManyKernel, threads_for
from popsnet_cuda.mei_rizzi import many as many_mei_rizzi
from popsnet_cuda.mei_rizzi.large import LargeMeiRizzi
from popsnet_cuda.relay import many as many_relay
from popsnet_cuda.relay.large import LargeRelay


def fits_many(kernel: Kernel[Any]) -> bool:
    """Return whether a block of threads can execute a run in its shared memory."""
    network = kernel.network
    if threads_for(network.n) is None:
        return False
    if isinstance(kernel, RelayKernel):
        needed = many_relay.shared_bytes(network, kernel.program.copies)
    else:
        needed = many_mei_rizzi.shared_bytes(network)
    return needed <= shared_limit()


def many_of(kernel: Kernel[Any]) -> ManyKernel:
    """Return the kernel for many runs."""
    if isinstance(kernel, RelayKernel):
        return many_relay.ManyRelay(kernel)
    assert isinstance(kernel, MeiRizziKernel)
    return many_mei_rizzi.ManyMeiRizzi(kernel)


def large_of(kernel: Kernel[Any], team: Team) -> LargeDriver:
    """Return the driver of single runs."""
    if isinstance(kernel, RelayKernel):
        return LargeRelay(kernel, team)
    assert isinstance(kernel, MeiRizziKernel)
    return LargeMeiRizzi(kernel, team)
