"""The compiled schedulers: what each supports, and how its kernel is opened.

A compiled scheduler has a module of its name in this package, with a session class of its name. It
is imported when the scheduler is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from popsnet.base.errors import wrong
from popsnet.model.coins import Coins, number_of
from popsnet.model.network import Network
from popsnet.programs.scheduler_faults import TrafficFaults

if TYPE_CHECKING:
    from popsnet.engines.fused.schedulers.session import SchedulerSession


@dataclass(frozen=True)
class Opening:
    """Everything that a kernel may need to begin."""

    network: Network
    variant: str
    seed: int
    buffer: int
    dead: TrafficFaults | None = None
    """The dead parts, None if there are none."""

    def coins(self, owner: str, *purposes: str) -> tuple[Any, ...]:
        """Return the seed of the public or the private coins, and the numbers of purposes."""
        return tuple(map(np.uint64, [Coins(self.seed).key(owner, 0), *map(number_of, purposes)]))


NOTHING: frozenset[str] = frozenset()
COUPLERS = frozenset({"couplers"})
"""Kinds of faults."""

_COMPILED = ("aloha", "epochs", "hop3", "ideal", "relay", "rotor", "tdm", "vlb")


def _find_kernel(scheduler: str) -> type[SchedulerSession] | None:
    """Return the session class of a scheduler, None if it is not compiled."""
    if scheduler not in _COMPILED:
        return None
    module = import_module(f"{__package__}.{scheduler}")
    kernel: type[SchedulerSession] = getattr(module, scheduler.title())
    return kernel


def supports(
    scheduler: str,
    variant: str = "standard",
    wavelengths: int = 1,
    kinds: frozenset[str] = NOTHING,
    known: bool = False,
) -> bool:
    """Return whether there is a kernel for a variant of a scheduler, on such a network.

    ``kinds`` are the kinds of its faults, and ``known`` says whether dead parts are known.

    Examples
    --------
    >>> from popsnet.engines.fused.schedulers import supports
    >>> supports("tdm"), supports("tdm", "mine"), supports("ideal", "voq", wavelengths=2)
    (True, False, False)
    >>> [supports("tdm", kinds=frozenset({kind})) for kind in ("couplers", "loss")]
    [True, False]
    """
    kernel = _find_kernel(scheduler)
    if kernel is None or not kernel.has_variant(variant):
        return False
    survived = kernel.survives_known if known else kernel.survives
    return kinds <= survived and (wavelengths == 1 or kernel.wavelengths)


def open_session(
    network: Network,
    scheduler: str,
    variant: str = "standard",
    seed: int = 0,
    buffer: int = 0,
    dead: TrafficFaults | None = None,
) -> SchedulerSession:
    """Open a session of a compiled scheduler.

    Parameters
    ----------
    network : Network
        The network.
    scheduler, variant : str
        The name of the scheduler and the canonical name of its variant.
    seed : int
        The seed of the scheduler's coins.
    buffer : int
        Packets of its own that a processor may hold, and as many of others; 0 for any number.
    dead : TrafficFaults, optional
        The dead parts.

    Returns
    -------
    SchedulerSession
        Advances block by block.

    Raises
    ------
    InputError
        If there is no kernel for it.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import make_arrivals
    >>> from popsnet.engines.fused.schedulers import open_session
    >>> session = open_session(Network(4, 4), "tdm")
    >>> log = session.advance(make_arrivals(Network(4, 4), load=0.5).block(0, 1000))
    >>> len(log.messages), log.collisions.sum()
    (1000, np.int64(0))
    """
    kernel, kinds = _find_kernel(scheduler), NOTHING if dead is None else dead.kinds
    is_known = dead is not None and dead.known
    if kernel is None or not supports(scheduler, variant, network.wavelengths, kinds, is_known):
        raise wrong("scheduler", f"{scheduler!r}, variant = {variant!r}", "variant")(
            f"it is not compiled for W = {network.wavelengths}"
            f"{' and these faults' * bool(kinds)}. Use the message-level engine."
        )
    return kernel(Opening(network, variant, seed, buffer, dead if kinds else None))
