"""What engines and their sessions are, and engines that execute every message."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import NamedTuple, Protocol, Self

from popsnet.engines.outcome import Outcome, Outcomes, TalliedRuns, Tally
from popsnet.experiment.experiment import Experiment
from popsnet.experiment.experiment import Instance as Instance
from popsnet.trace import Observer


def needs_slots(experiment: Experiment) -> str | None:
    """Return why engines other than ``slots`` cannot run an experiment, None if they may.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.engines import needs_slots
    >>> needs_slots(Experiment(4, 4, router="direct", faults="processor:0"))
    'everything works in its networks, and this one has faults'
    """
    if experiment.demand is not None:
        return "it routes permutations, and no demands"
    if experiment.faults:
        return "everything works in its networks, and this one has faults"
    if experiment.wavelengths > 1:
        return "its couplers have one wavelength, and these have several"
    return None


class Session(Protocol):
    """Runs of one experiment, one after another, with the same threads and memory.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.engines import ENGINES
    >>> with ENGINES["slots"].open(Experiment(4, 4, router="direct")) as session:
    ...     session.tally(range(3)).slots
    Counter({4: 3})
    """

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        """Execute the runs of these numbers, and yield results in order, some runs at a time.

        Observers are called on the calling thread, after every slot or now and then.
        """
        ...

    def tallies(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[TalliedRuns]:
        """Execute the runs of these numbers, and yield histograms in order, of some at a time."""
        return map(TalliedRuns.of, self.run(numbers, observers))

    def tally(self, numbers: range, observers: Sequence[Observer] = ()) -> Tally:
        """Execute the runs of these numbers and return their histograms."""
        return reduce(add, (some.tally for some in self.tallies(numbers, observers)), Tally())

    def close(self) -> None:
        """End the threads and release the memory."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Health(NamedTuple):
    """Something that an engine needs, as ``popsnet doctor`` shows it.

    Parameters
    ----------
    what : str
        What was looked at.
    ok : bool
        Whether it works.
    detail : str
        Its version, or what is missing and the cure.

    Examples
    --------
    >>> from popsnet.engines import Health
    >>> Health("driver", False, "not found").ok
    False
    """

    what: str
    ok: bool
    detail: str


class Engine(ABC):
    """A way to execute routers.

    Another distribution offers one under its name in the entry-point group ``popsnet.engines``.
    What the class declares beside the abstract methods has defaults.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.engines import ENGINES
    >>> sorted(ENGINES)
    ['fused', 'objects', 'slots']
    >>> ENGINES["fused"].supports(Experiment(4, 4, router="relay", variant="P1"))
    """

    name: str
    """The name of the engine."""
    messages: bool = False
    """Whether the engine executes every message, so that runs can be traced."""
    resources: Mapping[str, float] = MappingProxyType({})
    """What a worker of a cluster must state to get work for the engine, and how much of it for
    each piece of work. Without resources, every worker chooses by itself."""

    @abstractmethod
    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment here, or None if it can."""

    def obstacle(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment on any computer, or None if it can."""
        return self.supports(experiment)

    def worth(self, experiment: Experiment, runs: int | None) -> bool:
        """Return whether ``auto`` should take the engine for runs, None if there may be many.

        Only engines of other distributions are asked, and not about few runs of small networks.
        """
        return False

    def seconds(self, experiment: Experiment, slots: float) -> float:
        """Estimate the seconds of this many slots on one thread, to about a factor of three."""
        fixed, each = _SLOT_SECONDS[self.messages]
        return slots * (fixed + each * experiment.network.n)

    @abstractmethod
    def memory(
        self, experiment: Experiment, runs: int | None = None, threads: int | None = None
    ) -> int:
        """Return the bytes of memory that a session needs for runs, by default many.

        What the program itself takes, and its compiled code, is not counted.
        """

    def batch(self, experiment: Experiment) -> int:
        """Return how many runs to give to a worker at once, to keep the overhead small.

        One, if a run may take long: a worker's results are kept as a whole.
        """
        return 1

    @abstractmethod
    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session with this many threads, by default as many as processors."""

    @abstractmethod
    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute one run of anything that the engine can run."""

    def health(self) -> Iterable[Health]:
        """Return what the engine needs on this computer, and whether it is there."""
        return ()


_SLOT_SECONDS = {True: (1e-4, 5e-8), False: (2.5e-7, 2e-10)}
"""Seconds of one slot, and of a slot per processor; for engines that execute messages or not.

They are measured on one machine, and only their ratios matter.
"""


@dataclass(eq=False)
class MessageEngine(Engine):
    """An engine that executes an instance message by message."""

    name: str
    route: Callable[[Instance, Sequence[Observer]], Outcome]
    needed: Callable[[Experiment], int]
    """Returns the bytes of memory that a run needs."""
    unable: Callable[[Experiment], str | None]
    """Returns why the engine cannot run an experiment, or None if it can."""
    messages: bool = True

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        if experiment.network.n >= 2**31:
            return f"it numbers processors with 31 bits, and n = {experiment.network.n:,}"
        if self.name != "slots" and (reason := needs_slots(experiment)):
            return reason
        return self.unable(experiment)

    def memory(
        self, experiment: Experiment, runs: int | None = None, threads: int | None = None
    ) -> int:
        """Return the bytes of memory that a run needs; there is one at a time."""
        return self.needed(experiment)

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session, which executes one run after another on the calling thread."""
        return _MessageSession(self, experiment)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute one run."""
        return self.route(instance, observers)


class _MessageSession(Session):
    def __init__(self, engine: MessageEngine, experiment: Experiment) -> None:
        self._engine, self._experiment = engine, experiment

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        for number in numbers:
            yield Outcomes.of([self._engine.execute(self._experiment.instance(number), observers)])
