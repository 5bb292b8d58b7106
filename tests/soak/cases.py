"""Draws cases: each is a function of the root seed and its number.

Routers, variants and permutations are those that are registered, so new ones are drawn without a
change here. A router that reads schedules also needs a function in ``SCHEDULES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from popsnet import Coins, Experiment, Network
from popsnet.base.errors import InputError
from popsnet.engines import ENGINES
from popsnet.model.slot import Ints
from popsnet.programs.router import Router, all_routers
from popsnet.programs.routers.to_all import DETECTED
from popsnet.workloads.permutations import (
    NAMES,
    find_permutation,
    make_permutation,
    write_permutation,
)
from popsnet.workloads.permutations.files import SUFFIXES
from tests.programs.routers.relay.staged import (
    any_network,
    any_schedule,
    residue_aligned,
    two_targets,
)

Draw = np.random.Generator


def _stages(rng: Draw, network: Network) -> str:
    """Stages of relay; on large networks without R, T and X, whose multicasts take long."""
    text = any_schedule(rng, network)
    while network.n > 2**15 and re.search(r"[RT]|X\d", text):
        text = any_schedule(rng, network)
    return text


SCHEDULES: dict[str, Callable[[Draw, Network], str]] = {"relay": _stages}
"""Draws a schedule for a router that reads them."""

LOSES: dict[tuple[str, str], Callable[[Network], bool]] = {
    ("mei-rizzi", "published"): lambda network: network.d > network.g
}
"""The variants that lose packets by design, and where they do."""

ENDLESS: dict[str, Callable[[Network], bool]] = {"mei-rizzi": lambda network: network.g == 1}
"""The routers that may not end, and where: with one group packets may collide for ever."""

TINY, SMALL, MEDIUM, LARGE = range(4)
SHARES = (0.5, 0.25, 0.1, 0.15)
"""The shares of cases of each size. The large ones have nearly all packets."""

SECONDS = (0.1, 0.1, 0.3, 1.5)
"""A router is drawn for a case of each size only if it is expected to take less per run."""

_PATIENCE = 0.03
_PATIENT = 5
"""This share of cases may take this many times longer."""

_SECONDS_PER_SLOT = 1e-4
_SECONDS_PER_SLOT_AND_PROCESSOR = 4e-8
_MOST_UNESTIMATED = 1024
"""The largest n for a variant of which neither the slots nor a compiled kernel is known."""

MOST_STEPS = 1000
"""A run that takes more is a failure, except for those that are stopped earlier on purpose."""


@dataclass(frozen=True)
class RouteCase:
    """Runs of a router on permutations, and what is compared."""

    network: Network
    router: str
    variant: str | None
    permutation: str
    form: str
    """How the permutation is given: by name, as an array, or as a file with this ending."""
    seed: int
    permutation_seed: int
    first: int
    runs: int
    max_steps: int
    traced: bool
    local: bool
    """Whether the locality check is made."""
    threads: int
    divided: bool
    """Whether the compiled engine divides a run among its threads, as it does large ones."""

    def experiment(self, folder: Path) -> Experiment:
        """The experiment, with the file of its permutation in the folder, if it has one."""
        return Experiment(
            self.network.d, self.network.g, router=self.router, variant=self.variant,
            permutation=self._given(folder), seed=self.seed,
            permutation_seed=self.permutation_seed, max_steps=self.max_steps,
        )  # fmt: skip

    def _given(self, folder: Path) -> str | Path | Ints:
        if self.form == "name":
            return self.permutation
        destination = _destination(self.permutation, self.network, self.permutation_seed)
        if self.form == "array":
            return destination
        path = folder / f"permutation{self.form}"
        write_permutation(path, destination)
        return path


@dataclass(frozen=True)
class DemandCase:
    """A demand that is scheduled off-line, and what is compared."""

    network: Network
    kind: str
    form: str
    """How the demand is given: as a demand, as a table, or as a file with this ending."""
    seed: int
    traced: bool

    def packets(self) -> tuple[Ints, Ints]:
        """Sources and destinations, unless it is a matrix."""
        return _ends(np.random.default_rng(self.seed), self.kind, self.network.n)

    def matrix(self) -> Ints:
        """The packets from each group to each group."""
        rng, g = np.random.default_rng(self.seed), self.network.g
        counts = rng.integers(0, rng.integers(1, 4) + self.network.n // g**2, (g, g))
        if self.kind == "sparse matrix":
            counts *= rng.random((g, g)) < 2 / g
        return counts


Case = RouteCase | DemandCase


def draw_case(root: int, number: int, stages: str = "") -> Case:
    """The case of a number under a root seed; of relay alone with one of these stages, if any."""
    rng = np.random.default_rng([root, number])
    size = int(rng.choice(len(SHARES), p=SHARES))
    network = _network(rng, size)
    if stages:
        return replace(_route(rng, network, size), **_with_stages(rng, size, stages))
    return _demand_case(rng, network, size) if rng.random() < 0.15 else _route(rng, network, size)


def _with_stages(rng: Draw, size: int, stages: str) -> dict[str, Any]:
    """A network with d ≥ g and a schedule that has one of these stages, without many copies."""
    network = _network(rng, size)
    while network.d < network.g or network.d > 8 * network.g:
        network = _network(rng, size)
    text, wanted = "", re.compile(rf"(?<![A-Z])[{stages}](?!Y)")
    while not wanted.search(text) or (network.n > 2**15 and re.search(r"R|[TX][3-9]", text)):
        text = any_schedule(rng, network)
    name, form = _permutation(rng, network)
    return {
        "network": network, "router": "relay", "variant": text, "permutation": name, "form": form
    }  # fmt: skip


def _network(rng: Draw, size: int) -> Network:
    if size == TINY:
        return Network(*rng.integers(1, 9, 2).tolist())
    if size == SMALL:
        return any_network(rng, 4000)
    low, high = ((12, 15), (16, 20))[size == LARGE]
    ratio = 0.0 if rng.random() < 0.4 else rng.uniform(-3, 5)
    exponent = rng.uniform(low, high)
    if rng.random() < 0.5:
        exponent, ratio = round(exponent), round(ratio)
        g = 2 ** ((exponent - ratio) // 2)
        return Network(2**exponent // g, g)
    g = round(2 ** ((exponent - ratio) / 2))
    return Network(min(round(g * 2**ratio), 2**high // g), g)


def _route(rng: Draw, network: Network, size: int) -> RouteCase:
    seconds = SECONDS[size] * (_PATIENT if rng.random() < _PATIENCE else 1)
    router, variant, slots = _router(rng, network, seconds)
    permutation, form = _permutation(rng, network)
    work = slots * network.n
    seed, permutation_seed, first = rng.integers(0, 2**62, 3).tolist()
    return RouteCase(
        network, router.name, variant, permutation, form, seed, permutation_seed,
        first=first if rng.random() < 0.5 else 0,
        runs=int(rng.integers(1, (9, 4, 2, 2)[size])),
        max_steps=int(rng.integers(1, 6)) if rng.random() < 0.05 else MOST_STEPS,
        traced=bool(rng.random() < (0.5 if work <= 2**13 else 0.02 if work <= 2**18 else 0)),
        local=bool(router.online and network.n <= 24 and rng.random() < 0.05),
        threads=int(rng.integers(1, 3)),
        divided=bool(rng.random() < 0.3),
    )  # fmt: skip


def _router(rng: Draw, network: Network, seconds: float) -> tuple[Router, str | None, float]:
    """A router and a variant that are expected to take no longer, and about how many slots."""
    routers = [router for router in all_routers() if not router.file]
    for i in rng.permutation(len(routers)).tolist():
        slots = _slots(routers[i], network, seconds)
        if slots is None:
            continue
        names = variants_on(rng, routers[i], network)
        if names:
            return routers[i], names[rng.integers(len(names))], slots
    return _router(rng, network, 2 * seconds)  # on the largest networks with large groups


def _slots(router: Router, network: Network, seconds: float) -> float | None:
    """About how many slots the router takes, or None if that takes too long."""
    if not _applies(router, None, network):
        return None
    if network.n <= 64:
        return network.n  # anything is short
    expected = router.claims.expected
    if expected is None:
        return network.n if network.n <= _MOST_UNESTIMATED else None
    slots = expected.slots(network)
    per_slot = _SECONDS_PER_SLOT + _SECONDS_PER_SLOT_AND_PROCESSOR * network.n
    return slots if slots * per_slot <= seconds else None


def variants_on(rng: Draw, router: Router, network: Network) -> list[str | None]:
    """Variants of a router to choose from on a network: the default, those with names, schedules.

    A large one must be the default or have a compiled kernel: the slots of others are not known.
    """
    names = [name for name in router.variants if _applies(router, name, network)]
    if router.parse_variant is not None:
        drawn = [SCHEDULES[router.name](rng, network) for _ in range(3)]
        names += [text for text in drawn if _applies(router, text, network)]
    if network.n > _MOST_UNESTIMATED:
        names = [name for name in names if _is_compiled(router, name, network)]
    if rng.random() < 0.1 and network.n <= 2**15 and network.g <= max(8 * network.d, 8):
        names = [name for name in names if not router.variant(name).idealized]
        return [name + DETECTED for name in (router.choose_variant(None, network), *names)]
    return [None, *names]


def _is_compiled(router: Router, variant: str, network: Network) -> bool:
    experiment = Experiment(network.d, network.g, router=router, variant=variant)
    return ENGINES["fused"].supports(experiment) is None


def _applies(router: Router, variant: str | None, network: Network) -> bool:
    try:
        router.resolve(variant, network)
    except InputError:
        return False
    return True


FAMILIES: dict[str, Callable[[Network, int], Ints]] = {
    "residue-aligned": residue_aligned,
    "two-targets": two_targets,
    "numpy": lambda network, seed: np.random.default_rng(seed).permutation(network.n),
    "few-moved": lambda network, seed: _few_moved(network, seed),
}
"""Permutations that have no name in popsnet."""


def _few_moved(network: Network, seed: int) -> Ints:
    rng, destination = np.random.default_rng(seed), network.processors.copy()
    moved = rng.choice(network.n, min(network.n, 1 + seed % 5), replace=False)
    destination[moved] = np.roll(destination[moved], 1)
    return destination


def _destination(name: str, network: Network, seed: int) -> Ints:
    if name in FAMILIES:
        return FAMILIES[name](network, seed).astype(np.int32)
    return make_permutation(name, network, Coins(seed))


def _permutation(rng: Draw, network: Network) -> tuple[str, str]:
    """A permutation, and how it is given."""
    if rng.random() < 0.25:
        return "random", "name"  # compiled runs of these are done many at a time
    named = [*NAMES, "shift:d", f"shift:{rng.integers(-network.n, 2 * network.n)}"]
    named = [name for name in named if _exists(name, network)]
    name = str(rng.choice([*named, *FAMILIES]))
    forms = ["array", *(SUFFIXES if network.n <= 10_000 else SUFFIXES[:1])]
    if name not in FAMILIES and rng.random() < 0.8:
        return name, "name"
    return name, str(rng.choice(forms))


def _exists(name: str, network: Network) -> bool:
    try:
        find_permutation(name, network)
    except InputError:
        return False
    return True


KINDS = ("pairs", "relation", "partial", "hot", "matrix", "sparse matrix")


def _demand_case(rng: Draw, network: Network, size: int) -> DemandCase:
    while network.n > 2**18:
        network = Network(max(network.d // 2, 1), network.g)
    kind = str(rng.choice(KINDS[: None if network.g <= 512 else -2]))
    forms = ["table", ".npy", *([".csv"] if size <= SMALL else [])]
    form = str(rng.choice(forms if kind in KINDS[-2:] else [*forms, "demand"]))
    seed, traced = int(rng.integers(2**62)), bool(network.n <= 1000 and rng.random() < 0.3)
    return DemandCase(network, kind, form, seed, traced)


def _ends(rng: Draw, kind: str, n: int) -> tuple[Ints, Ints]:
    """Sources and destinations of packets."""
    if kind == "partial":
        packets = int(rng.integers(0, n + 1))
        return rng.permutation(n)[:packets], rng.permutation(n)[:packets]
    if kind == "relation":
        each = np.tile(np.arange(n), rng.integers(1, 4))
        return rng.permutation(each), rng.permutation(each)
    packets = int(rng.integers(0, 2 * n + 1) if kind == "pairs" else rng.integers(1, 200))
    source, destination = rng.integers(0, n, (2, packets))
    if kind == "hot":
        one = source if rng.random() < 0.5 else destination
        one[:] = one[0]  # all packets from one processor, or for one
    return source, destination
