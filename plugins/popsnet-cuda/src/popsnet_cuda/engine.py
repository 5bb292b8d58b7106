"""The engine. It is light to import: what is heavy is imported when a session is opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from popsnet.base import system
from popsnet.engines import Engine, Health, Session
from popsnet.engines.engine import needs_slots
from popsnet.engines.fused import kernel_of
from popsnet.engines.fused.engine import has_kernel
from popsnet.engines.outcome import Outcome
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.model.network import Network
from popsnet.programs.routers.relay.park import Park, SweepStage
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.trace import Observer

from popsnet_cuda.device import INSTALL, describe_device, is_simulated

_STAGES = (Park, SweepStage, Fold, Shower)
"""The stages of relay that have kernels."""

_STORED_BYTES = 8
"""Of a packet in the host's memory, if its destination is not computed."""
_LOGS = 2**28
_SMALL, _LARGE = 2**14, 2**24
"""Packets of a run up to which it fits in shared memory, and from which it fills a GPU."""
_BATCH = 2**14

_MANY_PACKETS = 2**32
"""From this many packets in all runs on the engine is worth it: seconds of work for ``fused``, and
so more than it takes to compile for the GPU. An estimate, not yet measured."""


class CudaEngine(Engine):
    """The kernels of ``fused`` on a GPU."""

    name = "cuda"
    resources = MappingProxyType({"GPU": 1})

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        return self.obstacle(experiment) or _device_obstacle(experiment)

    def obstacle(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment on any device, or None if it can."""
        if reason := needs_slots(experiment):
            return reason
        network, variant = experiment.network, experiment.resolved_variant
        if not has_kernel(experiment.resolved_router, variant) or variant.name == "deferred":
            return "it runs only mei-rizzi (published, idealized) and schedules of relay"
        if isinstance(variant.schedule, RelaySchedule):
            unable = _relay_obstacle(network, variant.schedule)
            if unable is not None:
                return unable
        return kernel_of(experiment).obstacle(experiment.permutation == "keyed")

    def worth(self, experiment: Experiment, runs: int | None) -> bool:
        """Return whether runs fill a GPU for seconds.

        That is so for many runs in shared memory and for large ones. Of runs between these, the
        host would draw the permutations.
        """
        if runs is None or runs * experiment.packets < _MANY_PACKETS:
            return False
        n, permutation = experiment.network.n, experiment.permutation
        fills = n >= _LARGE or (permutation == "random" and n <= _SMALL)
        return fills and not is_simulated()

    def memory(
        self, experiment: Experiment, runs: int | None = None, threads: int | None = None
    ) -> int:
        """Return the bytes of the host's memory that a session needs."""
        stored = 0 if experiment.permutation == "keyed" else experiment.network.n * _STORED_BYTES
        return stored + _LOGS

    def batch(self, experiment: Experiment) -> int:
        """Return how many runs to give to a worker at once."""
        return _BATCH if experiment.permutation == "random" else 1

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session. Threads draw permutations that are not drawn on the device."""
        from popsnet_cuda.session import CudaSession

        return CudaSession(experiment, kernel_of(experiment), threads)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute one run, and call observers after every step instead of every slot."""
        from popsnet_cuda.session import DeviceRuns

        running = DeviceRuns(kernel_of(instance))
        try:
            return running.execute(instance, observers)
        finally:
            running.close()

    def health(self) -> Iterator[Health]:
        """Say what there is of a GPU, and what is missing to use it."""
        status = describe_device()
        missing = "not found" if status.package else "not known without numba-cuda"
        driver, runtime = status.driver, status.runtime
        yield Health("numba-cuda", status.package is not None, status.package or f"{INSTALL}.")
        yield Health("CUDA driver", bool(driver), f"for CUDA {driver}" if driver else missing)
        yield Health("CUDA toolkit", bool(runtime), runtime or missing)
        about = [status.name or "", status.reason]
        if status.available and status.compute_capability is not None:
            about.append(f"compute capability {status.compute_capability}")
        if status.available and status.memory is not None:
            about.append(f"{system.format_bytes(status.memory)} memory")
        yield Health("GPU", status.available, ", ".join(filter(None, about)))


def device_bytes(network: Network, keyed: bool) -> int:
    """Return the bytes of device memory of a large run: four bits per packet if d = g."""
    bits = 2 * network.g * -(-network.d // 32) * 32 + 2 * network.couplers
    return bits // 8 + (0 if keyed else 4 * network.n)


def _relay_obstacle(network: Network, schedule: RelaySchedule) -> str | None:
    """Return why a schedule of relay is not run, or None if it is."""
    if network.d != network.g:
        return f"it runs relay for d = g only, and d = {network.d}, g = {network.g}"
    others = [str(one) for one in schedule.all_stages if not isinstance(one, _STAGES)]
    if others:
        return f"of relay it runs the stages S, P, F and R only, and the schedule has {others[0]}"
    return None


def _device_obstacle(experiment: Experiment) -> str | None:
    """Return why there is no device for an experiment, or None if there is one."""
    status = describe_device()
    if not status.available:
        return status.reason
    needed = device_bytes(experiment.network, experiment.permutation == "keyed")
    if status.memory is not None and needed > status.memory:
        return (
            f"it needs about {system.format_bytes(needed)} of the GPU's memory, and {status.name} "
            f"has {system.format_bytes(status.memory)}"
        )
    return None


ENGINE = CudaEngine()
