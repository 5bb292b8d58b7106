"""Which compiled router runs what."""

from __future__ import annotations

from collections.abc import Sequence

from popsnet.engines.fused.engine import Session, bytes_needed, obstacle
from popsnet.engines.fused.relay import RelaySession, relay_bytes, relay_obstacle
from popsnet.engines.instance import Instance, Load, Outcome
from popsnet.network import Network
from popsnet.trace import Observer

__all__ = ["execute", "memory_for", "obstacle_to", "open_session"]


def open_session(
    router: str, variant: str, network: Network, max_steps: int, threads: int | None = None
) -> Session | RelaySession:
    """A session for runs of this router."""
    if router == "relay":
        return RelaySession(network, variant, max_steps, threads)
    return Session(network, max_steps, threads)


def execute(instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
    """Route one permutation; observers hear of every step instead of every slot."""
    what = instance.router.name, instance.variant, instance.network, instance.max_steps
    with open_session(*what) as session:
        return session.execute(instance, observers)


def memory_for(load: Load) -> int:
    """Bytes for runs on all threads."""
    if load.router == "relay":
        return relay_bytes(load.network, load.variant, load.keyed)
    return bytes_needed(load.network, load.keyed)


def obstacle_to(load: Load) -> str | None:
    """Why the engine cannot run on a network, however much memory there is."""
    if load.router == "relay":
        return relay_obstacle(load.network)
    return obstacle(load.network, load.keyed)
