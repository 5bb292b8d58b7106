"""The engine, which chooses the kernel of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from popsnet.base.system import threads_here
from popsnet.engines.engine import Engine, Session, needs_slots
from popsnet.engines.fused.kernel import Kernel
from popsnet.engines.fused.session import FusedSession, runs_at_a_time, session_bytes
from popsnet.engines.outcome import Outcome
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.programs.router import Router, Variant
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.to_all import DETECTED
from popsnet.trace import Observer

_MEI_RIZZI = ("published", "idealized", "deferred")
"""The variants of mei-rizzi that have a kernel."""


def kernel_of(what: Experiment | Instance) -> Kernel[Any]:
    """Return the kernel of an experiment or an instance; others are not imported for it."""
    variant = what.resolved_variant
    if isinstance(variant.schedule, RelaySchedule):
        from popsnet.engines.fused.relay import RelayKernel

        return RelayKernel(what.network, variant, what.max_steps)
    from popsnet.engines.fused.mei_rizzi import DeferredKernel, MeiRizziKernel

    kind = DeferredKernel if variant.name == "deferred" else MeiRizziKernel
    return kind(what.network, variant, what.max_steps)


def has_kernel(router: Router, variant: Variant) -> bool:
    """Return whether there is a kernel for a variant of a router that ships."""
    if variant.name.endswith(DETECTED) or not router.is_registered:
        return False
    if router.name == "relay":
        return isinstance(variant.schedule, RelaySchedule)
    return router.name == "mei-rizzi" and variant.name in _MEI_RIZZI


class FusedEngine(Engine):
    """The paper's router and the schedules of relay, compiled."""

    name = "fused"

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        if reason := needs_slots(experiment):
            return reason
        if not has_kernel(experiment.resolved_router, experiment.resolved_variant):
            return (
                f"it runs only mei-rizzi ({', '.join(_MEI_RIZZI)}) and the schedules of relay that "
                "are not for faults"
            )
        return kernel_of(experiment).obstacle(experiment.permutation == "keyed")

    def memory(
        self, experiment: Experiment, runs: int | None = None, threads: int | None = None
    ) -> int:
        """Return the bytes of memory that runs on this many threads need."""
        return session_bytes(experiment, kernel_of(experiment), runs, threads or threads_here())

    def batch(self, experiment: Experiment) -> int:
        """Return how many runs to give to a worker at once."""
        return runs_at_a_time(experiment.network, experiment.permutation)

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session with this many threads, by default as many as processors."""
        return FusedSession(kernel_of(experiment), threads, experiment)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute one run, and call observers after every step instead of every slot."""
        with FusedSession(kernel_of(instance)) as session:
            return session.execute(instance, observers)


ENGINE = FusedEngine()
