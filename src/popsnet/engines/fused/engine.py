"""The engine: which kernel runs what, and sessions of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from popsnet.engines.fused.kernel import Kernel
from popsnet.engines.fused.mei_rizzi import DeferredKernel, MeiRizziKernel, bytes_needed, obstacle
from popsnet.engines.fused.relay import RelayKernel, relay_bytes, relay_obstacle
from popsnet.engines.fused.threads import RESIDENT, runs_at_a_time
from popsnet.engines.outcome import Outcome, Outcomes
from popsnet.engines.session import Session
from popsnet.experiment import Experiment, Instance
from popsnet.network import Network
from popsnet.routing import Router, Variant
from popsnet.routing.detection import DETECTED
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.routing.router import is_registered
from popsnet.trace import Observer

_MEI_RIZZI = ("published", "idealized", "deferred")


def open_kernel(
    network: Network, variant: Variant, max_steps: int, threads: int | None = None
) -> Kernel:
    """Return the kernel of a variant that the engine has."""
    if isinstance(variant.schedule, RelaySchedule):
        return RelayKernel(network, variant.schedule, max_steps, threads)
    if variant.name == "deferred":
        return DeferredKernel(network, max_steps, threads)
    return MeiRizziKernel(network, variant.name, max_steps, threads)


def _compiled(router: Router, variant: Variant) -> bool:
    """Whether there is a kernel for a variant of a router that ships."""
    if variant.name.endswith(DETECTED) or not is_registered(router):
        return False
    if router.name == "relay":
        return isinstance(variant.schedule, RelaySchedule)
    return router.name == "mei-rizzi" and variant.name in _MEI_RIZZI


def _many_at_a_time(experiment: Experiment) -> bool:
    """Whether many runs are done in one call of compiled code."""
    return experiment.permutation == "random" and experiment.network.n <= RESIDENT


class FusedEngine:
    """The paper's router and the schedules of relay, compiled."""

    name = "fused"
    messages = False

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        network, variant = experiment.network, experiment.resolved_variant
        if not _compiled(experiment.resolved_router, variant):
            return f"it has mei-rizzi ({', '.join(_MEI_RIZZI)}) and the schedules of relay only"
        if isinstance(variant.schedule, RelaySchedule):
            return relay_obstacle(network)
        return obstacle(network, variant.name, experiment.permutation == "keyed")

    def memory(self, experiment: Experiment) -> int:
        """Return the bytes that runs on all threads take, rounded up."""
        network, schedule = experiment.network, experiment.resolved_variant.schedule
        keyed = experiment.permutation == "keyed"
        if isinstance(schedule, RelaySchedule):
            return relay_bytes(network, schedule, keyed)
        return bytes_needed(network, keyed and experiment.variant != "deferred")

    def batch(self, experiment: Experiment) -> int:
        """Return how many runs to hand to a worker at once."""
        return runs_at_a_time(experiment.network) if _many_at_a_time(experiment) else 1

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session; it uses this many threads, or all there are."""
        return _FusedSession(experiment, threads)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Do one run; observers hear of every step instead of every slot."""
        variant = instance.resolved_variant
        with open_kernel(instance.network, variant, instance.max_steps) as kernel:
            return kernel.execute(instance, observers)


class _FusedSession(Session):
    def __init__(self, experiment: Experiment, threads: int | None) -> None:
        self._experiment = experiment
        fixed = experiment.network, experiment.resolved_variant, experiment.max_steps
        self._kernel = open_kernel(*fixed, threads)

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        experiment = self._experiment
        if len(numbers) > 1 and _many_at_a_time(experiment):
            seeds = experiment.seed, experiment.permutation_seed
            yield from self._kernel.execute_many(seeds, numbers)
            return
        for number in numbers:
            outcome = self._kernel.execute(experiment.instance(number), observers)
            yield Outcomes.of([outcome])

    def close(self) -> None:
        self._kernel.__exit__()


ENGINE = FusedEngine()
