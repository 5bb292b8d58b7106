"""Computing with values on the machine: no packet moves, and messages carry the values."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.arrays import named_errors, read_npy
from popsnet.base.errors import InputError, require_text, unknown, wrong
from popsnet.base.files import write_whole
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Fact, Report, Reported, facts_of, plural
from popsnet.experiment.experiment import seed_number
from popsnet.hardware import EVERY_SLOT_WAITS, Timing
from popsnet.hardware.shown import with_elapsed
from popsnet.model.coins import Coins
from popsnet.model.machine import Machine
from popsnet.model.network import I64, Network, about, on_network, require_one_wavelength
from popsnet.model.slot import Inbox, Slot
from popsnet.programs.routers.deterministic.exchange import swap_values
from popsnet.programs.routers.deterministic.pairs import pair_up
from popsnet.programs.schedules.slots_needed import permutation_slots
from popsnet.theory.sorting import NETWORKS, ComparatorNetwork, make_network

Values: TypeAlias = npt.NDArray[Any]
Steps: TypeAlias = Generator[Slot, Inbox, Values]
"""Yields slots, is sent inboxes, and returns the value of every processor."""


def dimensions(network: Network) -> int:
    """Return the dimension m of a hypercube of n = 2^m processors, and refuse other n."""
    if network.n & (network.n - 1):
        text = f"{network}: n = {network.n} must be a power of two: a hypercube has 2^m processors."
        raise InputError(text)
    return network.n.bit_length() - 1


def move(network: Network, values: Values, dimension: int) -> Steps:
    """Exchange values between processors whose numbers differ in one bit."""
    count = dimensions(network)
    if not count:
        raise InputError(
            f"{network} has one processor and no dimension to move along; choose a larger network."
        )
    if not 0 <= dimension < count:
        raise wrong("dimension", dimension)(f"{network} has dimensions 0 to {count - 1}.")
    bit = np.int32(1 << dimension)
    low = np.flatnonzero(network.processors & bit == 0).astype(np.int32)
    pairs = pair_up(network, low, low | bit)
    return (yield from swap_values(pairs, values, f"dimension {dimension}: "))


def add_all(network: Network, values: Values) -> Steps:
    """Compute the sum of all values at every processor, in log2 n moves."""
    for dimension in range(dimensions(network)):
        values = values + (yield from move(network, values, dimension))
    return values


def add_prefixes(network: Network, values: Values) -> Steps:
    """Compute prefix sums, the sum of values 0 … j at processor j, in log2 n moves.

    Each keeps the sum over its subcube so far, which it exchanges, and its own prefix within it:
    the upper half adds the sum of the lower.
    """
    prefix, total = values, values
    for dimension in range(dimensions(network)):
        heard = yield from move(network, total, dimension)
        upper = network.processors >> dimension & 1 == 1
        prefix = np.where(upper, prefix + heard, prefix)
        total = total + heard
    return prefix


def sort_values(network: Network, comparators: ComparatorNetwork, values: Values) -> Steps:
    """Send values through a comparator network whose wires are the processors.

    In each stage partners learn each other's value. The lower keeps the smaller value, the other
    the larger. For d > g a stage in which few take part may need fewer than 2⌈d/g⌉ slots.
    """
    values = values.copy()
    for number, stage in enumerate(comparators, start=1):
        pairs = pair_up(network, stage.low, stage.high)
        heard = yield from swap_values(pairs, values, f"stage {number}: ")
        low, high = pairs.low, pairs.high
        values[low] = np.minimum(values[low], heard[low])
        values[high] = np.maximum(values[high], heard[high])
    return values


MOST_VALUES = 2**20
"""The largest number of values that are sorted or added."""

COMPUTATIONS = ("move", "sum", "prefix-sums")
"""The names of the computations."""

_LARGEST = 1000
_MOST_LISTED = 1024
"""The largest number of values that a report lists in full."""
_FEW = 3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepsResult:
    """The final value of every processor, and the slots and messages that it took."""

    network: Network
    values: Values
    slots: int
    messages: int
    collisions: int


def execute_steps(
    network: Network, steps: Steps, watch: Callable[[int], None]
) -> tuple[Network, Values, int, int, int]:
    """Execute every slot, call ``watch`` with the number done, and return what is executed."""
    machine = Machine(network, network.processors, 1)
    inbox: Inbox | None = None
    while True:
        try:
            slot = next(steps) if inbox is None else steps.send(inbox)
        except StopIteration as end:
            counts = machine.counters
            return network, end.value, counts.slots, counts.messages, counts.collisions
        inbox = machine.execute(slot)
        watch(machine.counters.slots)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComputationResult(StepsResult, Reported):
    """The result of a computation on a hypercube, compared with NumPy's.

    :func:`compute` returns it. The attributes are ``network``, ``values`` (one per processor),
    ``slots``, ``messages``, ``collisions``, and those below.

    Examples
    --------
    >>> import popsnet
    >>> done = popsnet.compute(popsnet.Network(2, 2), "prefix-sums", seed=1)
    >>> done.slots, done.correct
    (4, True)
    """

    what: str
    """The name of the computation."""
    moves: int
    """The number of moves along a dimension of the hypercube."""
    slots_per_move: int
    """The largest number of slots of a move, as in the literature."""
    correct: bool
    """Whether NumPy computes the same values."""

    def report(self, timing: Timing | None = None) -> Report:
        """Return the cost of the computation, and whether the values are correct.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        facts = facts_of(
            self, "network", "what", "moves", "slots", "slots_per_move", "messages", "collisions",
            "correct",
        )  # fmt: skip
        title = (
            f"{self.what} on {self.network}: {plural(self.moves, 'move')} of at most "
            f"{self.slots_per_move} slots (Sahni), slots {self.slots}"
        )
        verdict = (
            f"{'OK: correct' if self.correct else 'WRONG'}; messages {self.messages:,}, collisions "
            f"{self.collisions}"
        )
        report = Report(title, facts, verdict=verdict, ok=self.correct, about=about(self.network))
        return with_elapsed(report, timing, self.network, self.slots, EVERY_SLOT_WAITS)


@on_network
def compute(
    network: Network,
    what: str,
    *,
    dimension: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> ComputationResult:
    """Compute with random values, one per processor, on n = 2^m processors.

    Parameters
    ----------
    network : Network, or int and int
        The network. n must be a power of two, at most 2^20, or its d and g.
    what : {"move", "sum", "prefix-sums"}
        ``move``: neighbours along ``dimension`` of a hypercube exchange their values. ``sum``:
        every processor learns the sum. ``prefix-sums``: processor j learns the sum of values
        0 … j.
    dimension : int, optional
        The dimension of a move, from 0 to m - 1, by default 0.
    seed : int
        The seed of the values.
    progress : function, bool or None
        A function that is called with the slots done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Returns
    -------
    ComputationResult
        The values, the slots and whether NumPy computes the same.

    Raises
    ------
    InputError
        If a parameter is wrong.

    Notes
    -----
    A move takes 2⌈d/g⌉ slots, or one if d = 1 (Sahni, "The partitioned optical passive stars
    network: simulations and fundamental operations", 2000). Sums take log2 n moves.

    Examples
    --------
    >>> import popsnet
    >>> done = popsnet.compute(popsnet.Network(4, 4), "sum")
    >>> done.moves, done.slots, done.correct
    (4, 8, True)
    """
    require_one_wavelength(network)
    seed_number("seed", seed)
    require_text("what", what)
    if what not in COMPUTATIONS:
        raise unknown("computation", what, COMPUTATIONS)
    if network.n > MOST_VALUES:
        raise wrong("n", f"{network.n:,}")(f"it must be at most {MOST_VALUES:,} processors.")
    if what != "move" and dimension is not None:
        rule = f"it is the dimension of a move, and {what} uses all of them; leave it out."
        raise wrong("dimension", dimension)(rule)
    along, slots, processors = dimension or 0, permutation_slots(network), network.processors
    count = 1 if what == "move" else dimensions(network)
    values = Coins(seed).draws(_LARGEST, "values to add", 0, processors).astype(np.int64)
    ways: dict[str, tuple[Steps, Callable[[], Values]]] = {
        "move": (move(network, values, along), lambda: values[processors ^ 1 << along]),
        "sum": (add_all(network, values), lambda: np.full_like(values, values.sum())),
        "prefix-sums": (add_prefixes(network, values), lambda: np.cumsum(values)),
    }
    steps, expected = ways[what]
    with patient_progress(f"computing on {network}", count * slots, progress, "slots") as report:
        done = execute_steps(network, steps, report)
    correct = np.array_equal(done[1], expected())
    return ComputationResult(*done, what, count, slots, correct)


def random_values(network: Network, seed: int) -> I64:
    """Return a random integer per processor."""
    words = Coins(seed).words("keys to sort", 0, network.processors)
    return (words >> np.uint64(1)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SortResult(StepsResult, Reported):
    """Sorted values, and the slots and messages that it took to sort them.

    :func:`sort` returns it. The attributes are ``network``, ``values`` in order, ``slots``,
    ``messages``, ``collisions``, and those below.

    Examples
    --------
    >>> import popsnet
    >>> done = popsnet.sort(popsnet.Network(2, 2), [3, 1, 2, 0])
    >>> done.depth, done.in_order
    (3, True)
    """

    comparators: str
    """The name of the sorting network."""
    proved: bool
    """Whether it is proved that the sorting network sorts."""
    depth: int
    """The number of its stages."""
    most_slots: int
    """The largest number of slots that sorting can take."""
    in_order: bool
    """Whether the values are those given, in order, by comparison with another sort."""
    seconds: float
    """The time that sorting took."""

    def report(self, timing: Timing | None = None) -> Report:
        """Return the cost of sorting, some values, and whether they are in order.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        count = len(self.values)
        first, last = _listed(self.values[:_FEW]), _listed(self.values[-_FEW:])
        facts = (
            *facts_of(
                self, "network", "comparators", "proved", "depth", "slots", "most_slots",
                "messages", "collisions", "in_order", "seconds",
            ),
            Fact("first", first),
            Fact("last", last),
            Fact("values", _listed(self.values) if count <= _MOST_LISTED else None),
        )  # fmt: skip
        some = _listed(self.values) if count <= 2 * _FEW else [*first, "…", *last]
        title = (
            f"{count:,} values on {self.network} by {self.comparators}, {self.depth:,} "
            f"stages\nslots {self.slots:,}, at most {self.most_slots:,}; messages "
            f"{self.messages:,}; collisions {self.collisions}\n{' '.join(map(str, some))}"
        )
        verdict = (
            f"{'OK: in order' if self.in_order else 'NOT in order'}, compared with another sort; "
            f"{self.seconds:.2f} s"
        )
        report = Report(title, facts, verdict=verdict, ok=self.in_order, about=about(self.network))
        return with_elapsed(report, timing, self.network, self.slots, EVERY_SLOT_WAITS)


def _listed(values: Values) -> list[object]:
    """Return values for JSON, which has no infinite numbers: those are texts."""
    return [value if np.isfinite(value) else str(value) for value in values.tolist()]


@on_network
def sort(
    network: Network,
    values: npt.ArrayLike | Path | None = None,
    *,
    comparators: str = "merge-exchange",
    seed: int | None = None,
    progress: Progress = None,
) -> SortResult:
    """Sort n values on the machine by a sorting network, one value per processor.

    Parameters
    ----------
    network : Network, or int and int
        The network. n must be at most 2^20, or its d and g.
    values : array or Path, optional
        One number per processor, or a file of them. By default random integers.
    comparators : {"merge-exchange", "bitonic", "bag-tree"}
        The sorting network.
    seed : int, optional
        The seed of random values, and of a bag tree, by default 0.
    progress : function, bool or None
        A function that is called with the slots done and the largest number possible. None
        shows a bar on a terminal after two seconds, False shows nothing.

    Returns
    -------
    SortResult
        The values in order, and the slots that it took.

    Raises
    ------
    InputError
        If a parameter is wrong.

    Notes
    -----
    Each stage of the sorting network takes at most 2⌈d/g⌉ slots, or one if d = 1.

    Examples
    --------
    >>> import popsnet
    >>> done = popsnet.sort(popsnet.Network(2, 4), [5, 3, 8, 1, 9, 2, 7, 0])
    >>> done.values, done.slots
    (array([0, 1, 2, 3, 5, 7, 8, 9]), 12)
    """
    require_one_wavelength(network)
    seed_number("seed", 0 if seed is None else seed)
    if network.n > MOST_VALUES:
        raise wrong("n", f"{network.n:,}")(f"it must be at most {MOST_VALUES:,} values.")
    if seed is not None and values is not None and comparators != "bag-tree":
        raise wrong("seed", seed)(
            f"it is for random values and for bag-tree; with values of your own and {comparators} "
            "nothing is drawn. Leave it out."
        )
    seed, origin = seed or 0, "values"
    if isinstance(values, Path):
        origin, values = str(values), read_keys(values, network.n)
    keys = random_values(network, seed) if values is None else np.asarray(values)
    if keys.shape != (network.n,) or keys.dtype.kind not in "iuf":
        raise InputError(
            f"values has shape {keys.shape} and type {keys.dtype}; {network} sorts "
            f"n = {network.n:,} numbers, one per processor."
        )
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        raise InputError(f"{origin} contains nan, which cannot be ordered; give numbers.")
    made = make_network(comparators, network.n, seed)
    bound = made.depth * permutation_slots(network)
    begin = time.perf_counter()
    with patient_progress(f"sorting on {network}", bound, progress, "slots") as report:
        done = execute_steps(network, sort_values(network, made, keys), report)
    in_order = np.array_equal(done[1], np.sort(keys))
    proved, seconds = NETWORKS[comparators].proved, time.perf_counter() - begin
    return SortResult(*done, comparators, proved, made.depth, bound, in_order, seconds)


def read_keys(path: Path, n: int) -> Values:
    """Read n numbers from a file.

    Parameters
    ----------
    path : Path
        A ``.npy`` file, or a text with spaces, commas or line ends between the numbers.
    n : int
        How many numbers the file must contain.

    Returns
    -------
    array
        Integers, or floating-point numbers if some are.

    Raises
    ------
    InputError
        If the file cannot be read, or does not contain n numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.studies.computing import read_keys
    >>> _ = Path("keys.txt").write_text("3, 1, 2")
    >>> read_keys(Path("keys.txt"), 3)
    array([3, 1, 2])
    """
    values: npt.NDArray[Any]
    with named_errors(path):
        if path.suffix.lower() == ".npy":
            values = read_npy(path)
        else:
            try:
                values = _numbers(path.read_text(encoding="utf-8-sig").replace(",", " ").split())
            except ValueError as error:
                raise InputError(f"{path} is not a file of numbers: {error!s:.100}.") from error
    is_number = values.dtype.kind in "iuf" and values.dtype.itemsize <= 8
    if values.ndim != 1 or not is_number or len(values) != n:
        raise InputError(
            f"{path} has type {values.dtype} and shape {values.shape}; it must contain {n} numbers "
            "of at most 64 bits."
        )
    return values


def _numbers(words: list[str]) -> Values:
    for kind in (np.int64, np.uint64):
        with suppress(ValueError, OverflowError):
            return np.array([int(word) for word in words], dtype=kind)
    numbers = np.array([float(word) for word in words], dtype=np.float64)
    for word, number in zip(words, numbers, strict=True):
        if np.isinf(number) and any(map(str.isdigit, word)):
            raise ValueError(f"{word:.40} is too large")
    return numbers


def write_keys(path: Path, values: Values) -> None:
    """Write numbers to a file.

    Parameters
    ----------
    path : Path
        A ``.npy`` file, or any other for a text with one number per line.
    values : array
        The numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.studies.computing import write_keys
    >>> write_keys(Path("keys.txt"), np.array([3, 1, 2]))
    >>> Path("keys.txt").read_text().split()
    ['3', '1', '2']
    """
    with write_whole(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file.buffer, values)
        else:
            file.writelines(f"{value}\n" for value in values.tolist())
