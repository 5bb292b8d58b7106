"""The conflict-free frame for compiled code: when senders meet classes, and which."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.splitmix import step_key, word

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
def frame_slot(a: int, i: int, b: int, r: int, d: int, g: int) -> int:
    """Return the slot of the frame in which processor (a, i) meets residue r of group b."""
    if d <= g:
        return reduced(r - i, d) * g + reduced(reduced(a - b, g) + i, g)
    j = reduced(b - a, g)
    return reduced(r - j, g) * d + reduced(i - j, d)


@compiled(inline=True)
def keeper_of(key: np.uint64, a: int, b: int, r: int, d: int, g: int) -> int:
    """Return who keeps a packet that group a sends to residue r of group b.

    The key is that of the purpose and the slot.
    """
    if d <= g:
        return b * d + r
    return b * d + r + g * draw(key, (d - 1 - r) // g + 1, b * g + a)
