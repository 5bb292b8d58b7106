"""The compiled schedulers: what each supports, and how its kernel is opened.

A module of this package that is named as a scheduler registers its kernel. It is imported when its
scheduler is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins, number_of
from popsnet.errors import wrong
from popsnet.network import Network
from popsnet.traffic.block import Block
from popsnet.traffic.log import Log


@dataclass(frozen=True)
class Opening:
    """What a kernel may need to begin."""

    network: Network
    variant: str
    seed: int
    buffer: int

    @property
    def public(self) -> np.uint64:
        """The seed of the public coins."""
        return np.uint64(Coins(self.seed).key("public", 0))

    @property
    def private(self) -> np.uint64:
        """The seed of the private coins."""
        return np.uint64(Coins(self.seed).key("private", 0))

    def purpose(self, name: str) -> np.uint64:
        """Return the number of a purpose of coins."""
        return np.uint64(number_of(name))

    def retries(self, window: int) -> npt.NDArray[np.uint64]:
        """Return the numbers of the purposes of coins for the places in a window."""
        return np.array([number_of(f"retry {place}") for place in range(window)], dtype=np.uint64)


class BlockSession(Protocol):
    """A compiled scheduler that runs block by block."""

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened."""

    def close(self) -> None:
        """Free the memory of the session."""


Open: TypeAlias = Callable[[Opening], BlockSession]

Opens = TypeVar("Opens", bound=Open)


@dataclass(frozen=True)
class CompiledScheduler:
    """A scheduler that has a kernel.

    Parameters
    ----------
    open : function of an Opening
        Returns the kernel, or a session of its own.
    has_variant : function of a text
        Returns whether the kernel runs a variant.
    most_wavelengths : float
        The most wavelengths per coupler of a network that the kernel runs.
    """

    open: Open
    has_variant: Callable[[str], bool] = lambda variant: variant == "standard"
    most_wavelengths: float = 1


_REGISTER: dict[str, CompiledScheduler] = {}


def register_kernel(name: str, **facts: Any) -> Callable[[Opens], Opens]:
    """Register the decorated function as the one that opens the kernel of a scheduler."""

    def add(function: Opens) -> Opens:
        _REGISTER[name] = CompiledScheduler(function, **facts)
        return function

    return add


def find_kernel(scheduler: str) -> CompiledScheduler | None:
    """Return the entry of a scheduler, None if it is not compiled."""
    name = f"{__package__}.{scheduler}"
    if scheduler not in _REGISTER and scheduler.isidentifier() and find_spec(name) is not None:
        import_module(name)
    return _REGISTER.get(scheduler)


def supports(scheduler: str, variant: str = "standard", wavelengths: int = 1) -> bool:
    """Return whether there is a kernel for a variant of a scheduler.

    Examples
    --------
    >>> from popsnet.traffic.fused import supports
    >>> supports("tdm"), supports("tdm", "mine"), supports("ideal", "voq", wavelengths=2)
    (True, False, False)
    """
    kernel = find_kernel(scheduler)
    if kernel is None or not kernel.has_variant(variant):
        return False
    return wavelengths <= kernel.most_wavelengths


def open_session(
    network: Network, scheduler: str, variant: str = "standard", seed: int = 0, buffer: int = 0
) -> BlockSession:
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

    Returns
    -------
    BlockSession
        Advances block by block.

    Raises
    ------
    InputError
        If there is no kernel for it.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import make_arrivals
    >>> from popsnet.traffic.fused import open_session
    >>> session = open_session(Network(4, 4), "tdm")
    >>> log = session.advance(make_arrivals(Network(4, 4), load=0.5).block(0, 1000))
    >>> len(log.messages), log.collisions.sum()
    (1000, np.int64(0))
    """
    kernel = find_kernel(scheduler)
    if kernel is None or not supports(scheduler, variant, network.wavelengths):
        raise wrong("scheduler", f"{scheduler!r}, variant = {variant!r}", "variant")(
            f"it is not compiled for W = {network.wavelengths}. Use the message-level engine."
        )
    return kernel.open(Opening(network, variant, seed, buffer))
