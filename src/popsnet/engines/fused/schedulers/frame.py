"""The conflict-free frame for compiled code: when senders meet classes, and which."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key, word

_32 = np.uint64(32)


@compiled(inline=True)
def draw(key: np.uint64, bound: int, number: int) -> int:
    """Return what ``Coins.draw`` returns, for the key of a purpose and a step."""
    return int(np.int64((word(key, np.uint64(number)) >> _32) * np.uint64(bound) >> _32))


@compiled
def draw_at(seed: np.uint64, purpose: np.uint64, step: int, bound: int, number: int) -> int:
    """Return ``Coins(seed).draw(bound, purpose, step, number)``."""
    return draw(step_key(seed, purpose, step), bound, number)


@compiled(inline=True)
def reduced(x: int, modulus: int) -> int:
    """Return x mod modulus for -modulus ≤ x < 2·modulus."""
    x = x + modulus if x < 0 else x
    return x - modulus if x >= modulus else x


@compiled(inline=True)
def wrapped(x: int, modulus: int) -> int:
    """Return x mod modulus, fast for -modulus ≤ x < 2·modulus."""
    x = reduced(x, modulus)
    return x if 0 <= x < modulus else x % modulus


@compiled(inline=True)
def frame_slot(a: int, i: int, b: int, r: int, d: int, g: int, channels: int) -> int:
    """Return the slot of the frame in which processor (a, i) meets residue r of group b."""
    if d <= channels:
        return reduced(r - i, d) * g + wrapped(reduced(a - b, g) + i, g)
    j = reduced(b - a, g)
    ahead = reduced(r - j, channels)  # of the channel j, by t2 and g for each wavelength
    t2 = wrapped(ahead, g)
    return t2 * d + reduced(i - j - (ahead - t2), d)


@compiled(inline=True)
def turn_of(u: int, d: int, g: int, channels: int) -> tuple[int, int]:
    """Return t0 and t2 of a slot of the frame."""
    width = d if d > channels else g
    return u % width, u // width


@compiled(inline=True)
def met(a: int, i: int, t0: int, t2: int, d: int, g: int, channels: int) -> tuple[int, int, int]:
    """Return the channel on which (a, i) sends in slot (t0, t2), and the class (b, r) it meets.

    It does not send if there is no such channel.
    """
    j = reduced(i - t0, max(d, channels))
    r = reduced(i + t2, d) if d <= channels else reduced(j + t2, channels)
    return j, wrapped(a + j, g), r


@compiled(inline=True)
def keeper_of(key: np.uint64, a: int, b: int, r: int, j: int, d: int, g: int, channels: int) -> int:
    """Return who keeps a packet that group a sends on channel j to residue r of group b.

    The key is that of the purpose and the slot.
    """
    if d <= channels:
        return b * d + r
    coupler = b * g + a
    if channels > g:
        coupler = coupler * (channels // g) + j // g
    return b * d + r + channels * draw(key, (d - 1 - r) // channels + 1, coupler)
