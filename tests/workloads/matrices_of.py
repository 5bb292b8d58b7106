"""The n × n matrix of rates of every pattern, from its definition and without its code."""

import numpy as np
import numpy.typing as npt

from popsnet import Coins, Network, make_permutation

F64 = npt.NDArray[np.float64]


def matrix_of(text: str, network: Network, seed: int = 0) -> F64:
    """Return the rates at a mean load of 1."""
    d, g, n = network.d, network.g, network.n
    name, _, values = text.partition(":")
    rates = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if name == "uniform":
                rates[i, j] = (i != j) / (n - 1)
            elif name == "uniform-with-self":
                rates[i, j] = 1 / n
            elif name == "group-shift":
                rates[i, j] = (j // d == (i // d + 1) % g) / d
            elif name == "hotspot":
                rates[i, j] = _hotspot(n, i, j, int(values.split(":")[0]), values.split(":")[1])
            elif name == "incast":
                m = int(values)
                rates[i, j] = (j == 0 and i in {1 + k * (n - 1) // m for k in range(m)}) * n / m
    if name == "gravity":
        weights = np.array([_weight(int(values or seed), i) for i in range(n)])
        rates = weights[:, None] * weights[None, :] * (1 - np.eye(n))
        rates *= n / rates.sum()
    if not rates.any():
        rates[np.arange(n), make_permutation(text, network, Coins(seed))] = 1
    return rates


def _hotspot(n: int, i: int, j: int, hot: int, fraction: str) -> float:
    spots = {k * n // hot for k in range(hot)}
    part, to = float(fraction), spots - {i}
    if not to:
        part = 0.0
    return (j in to) * part / max(len(to), 1) + (j != i) * (1 - part) / (n - 1)


def _weight(seed: int, i: int) -> int:
    word = Coins(seed).word("weight", 0, i)
    fraction, upper, halvings = word & 0xFFFF, word >> 16, 0
    while not upper & 1 and halvings < 47:
        upper, halvings = upper >> 1, halvings + 1
    return (halvings << 16) + fraction + 1


def groups_of(rates: F64, network: Network) -> F64:
    """Add up the rates of each pair of groups."""
    d, g = network.d, network.g
    sums: F64 = rates.reshape(g, d, g, d).sum(axis=(1, 3))
    return sums
