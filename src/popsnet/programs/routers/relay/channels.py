"""Channels: relay groups with wavelengths, which take the place of relay groups if W > 1.

Let V = min(W, ⌊d/g⌋) be the wavelengths in use, and c = gV ≤ d. The place of a destination in
[0, d) gives the channel place mod c and the class place div c. Channel q is relay group T = q mod g
on wavelength w = q div g. So a destination group has at most one destination for each T, w and
class, and there are k' = ⌈d/c⌉ classes, instead of k = ⌈d/g⌉. The processors (T, l) with
l ≡ wg + a mod c are the set (T, w, a): all of them listen to group a on wavelength w.

Every proof for one wavelength holds with (T, w) in the place of T. A packet to T on wavelength w
meets others on coupler c(T, a) and wavelength w only, and is heard by the set (T, w, a). What T
sends to group b, packets and acks, it sends on the wavelength of the packet, so that the messages
about (T, w) and (T, w') use different wavelengths of c(b, T). For W = d/g there is one class, and a
stage takes as many slots as for d = g.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from popsnet.model.network import Network
from popsnet.model.slot import Ints


class Tuning(TypedDict, total=False):
    """The wavelengths of a slot, none if there is one wavelength."""

    send_wavelengths: Ints
    listen_wavelengths: Ints


class Channels(NamedTuple):
    """How places are divided into relay groups, wavelengths and classes.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay.channels import channels_of
    >>> channels_of(Network(8, 4)), channels_of(Network(8, 4, wavelengths=2))
    (Channels(g=4, number=4), Channels(g=4, number=8))
    """

    g: int
    number: int
    """The channels of a group that are in use, gV."""

    def relays(self, places: Ints) -> Ints:
        """Return the relay group of each place."""
        return places % self.number % self.g

    def wavelengths(self, places: Ints) -> Ints:
        """Return the wavelength of each place."""
        return places % self.number // self.g

    def classes(self, places: Ints) -> Ints:
        """Return the class of each place."""
        return places // self.number

    def tuned(self, sending: Ints, listening: Ints) -> Tuning:
        """Return the wavelengths of a slot, given places that senders and listeners tune to.

        With one wavelength there are none to state.
        """
        if self.number == self.g:
            return {}
        return {
            "send_wavelengths": self.wavelengths(sending),
            "listen_wavelengths": self.wavelengths(listening),
        }


def channels_of(network: Network) -> Channels:
    """Return the channels that relay uses on a network; for d < g these are the groups."""
    used = min(network.wavelengths, max(network.d // network.g, 1))
    return Channels(network.g, network.g * used)


def spread(network: Network) -> Network:
    """Return the network of one wavelength with as many relay groups as there are channels.

    Its classes, and the probabilities that packets meet, are those of the channels.

    >>> spread(Network(8, 4, wavelengths=2))
    Network(d=8, g=8)
    """
    return Network(network.d, channels_of(network).number)


def obstacle(network: Network) -> str | None:
    """Return why several wavelengths are of no use to relay on a shape, or None if they are."""
    if network.d >= 2 * network.g:
        return None
    return (
        "relay uses min(W, ⌊d/g⌋) wavelengths, and this is one for d < 2g. Choose a larger d, or "
        "one wavelength."
    )
