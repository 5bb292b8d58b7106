"""Time a sweep on a Dask cluster of this machine against the same sweep on threads.

    python benchmarks/cluster.py [--runs 20000] [--workers 2] [--repeat 5]

Both fill a new store, in turns. The start of the cluster and the loading of compiled code are not
counted. The first ratio is that of the best times. The second is that of the processor time of this
program and the workers together, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from popsnet import Experiment, Store, collect
from popsnet.sweeps import open_cluster
from popsnet.sweeps.cluster import ClusterExecutor


def timed(
    experiment: Experiment, runs: int, store: Path, workers: int, executor: ClusterExecutor | None
) -> tuple[float, float]:
    """Return the seconds that a collection takes, and those of processors."""
    begin, busy = time.perf_counter(), processor_time(executor)
    given = workers if executor is None else None
    collect([experiment], runs, store, executor=executor, workers=given, progress=False)
    return time.perf_counter() - begin, processor_time(executor) - busy


def processor_time(executor: ClusterExecutor | None) -> float:
    """Return the seconds of processors that this program and the workers have used."""
    there: dict[str, float] = {} if executor is None else executor._client.run(time.process_time)
    return time.process_time() + sum(there.values())


def contents(store: Path) -> list[list[tuple[object, ...]]]:
    """Return the rows of a store that results are in."""
    with Store(store) as opened:
        return [opened.rows("experiments"), [row[:5] for row in opened.rows("results")]]


def measured(runs: int, workers: int, repeat: int) -> Iterator[str]:
    """Yield a line per router."""
    with tempfile.TemporaryDirectory() as folder, open_cluster(f"local:{workers}") as cluster:
        for router in ("mei-rizzi", "relay"):
            best: dict[str, float] = {}
            least: dict[str, float] = {}
            for turn in range(repeat + 1):  # the first loads compiled code
                stores = {}
                for name, executor in (("threads", None), ("cluster", cluster)):
                    stores[name] = Path(folder) / f"{router}-{turn}-{name}"
                    experiment = Experiment(32, 32, router=router)
                    seconds, busy = timed(experiment, runs, stores[name], workers, executor)
                    if turn:
                        best[name] = min(best.get(name, seconds), seconds)
                        least[name] = min(least.get(name, busy), busy)
                assert contents(stores["threads"]) == contents(stores["cluster"])
            rates = {name: runs / seconds for name, seconds in best.items()}
            yield (
                f"{router} on POPS(32, 32), {runs:,} runs: {rates['threads']:,.0f} runs per second "
                f"on {workers} threads, {rates['cluster']:,.0f} on local:{workers}, ratio "
                f"{rates['cluster'] / rates['threads']:.2f}, by processor time "
                f"{least['threads'] / least['cluster']:.2f}"
            )


def main() -> None:
    """Read the options, and print what is measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    for line in measured(given.runs, given.workers, given.repeat):
        print(line)


if __name__ == "__main__":
    main()
