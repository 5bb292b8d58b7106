"""``popsnet routers``, ``doctor`` and ``cite``."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import popsnet
from popsnet.base.errors import InputError, how_to_install
from popsnet.base.progress import Update, patient_progress
from popsnet.base.report import Column, Fact, Report, Table, plural
from popsnet.base.system import format_bytes
from popsnet.cli.options import Cluster
from popsnet.cli.output import reporting

if TYPE_CHECKING:
    from popsnet.sweeps.cluster import WorkerStatus

_NEEDED = (
    "numpy", "numba", "scipy", "lazy_loader", "msgspec", "psutil", "platformdirs", "typer", "rich",
)  # fmt: skip

_OPTIONAL = {
    "matplotlib": ("figures", "plots"),
    "jinja2": ("popsnet paper", "paper"),
    "pandas": ("data frames", "pandas"),
    "pyarrow": ("Parquet files", "parquet"),
    "networkx": ("graphs of NetworkX", "networkx"),
    "distributed": ("sweeps on Dask clusters", "cluster"),
}
"""What an optional library is for, and the extra that installs it."""


class Finding(NamedTuple):
    """Something that was looked at, and whether it works."""

    what: str
    ok: bool
    needed: bool
    detail: str


@reporting
def doctor(cluster: Cluster = None) -> Report:
    """Check that everything popsnet needs is installed and works here.

    Example: popsnet doctor

    Exit code 1: something that popsnet needs, or the cluster of `--cluster`, does not work.
    """
    from popsnet.sweeps.cluster import local_workers

    if cluster is not None:
        local_workers(cluster)  # refuses what cannot be an address
    with patient_progress("trying libraries and engines") as update:
        findings = [*_libraries(), *_engines(update), *_plugins(update), *_computer()]
    workers = None
    if cluster is not None:
        workers, about = _cluster(cluster)
        findings.append(about)
    ok = Column("ok", " ", "text", lambda row: "ok" if row.ok else "missing")
    columns = Column("what", kind="text"), ok, Column("detail", kind="text")
    broken = [finding.what for finding in findings if finding.needed and not finding.ok]
    verdict = "OK: everything that popsnet needs works here."
    if broken:
        verdict = f"FAILED: needed and not working: {', '.join(broken)}."
    parts: tuple[Table, ...] = (Table("findings", "", columns, findings),)
    if workers is not None:
        parts += (Table("workers", f"Workers of {cluster}", _WORKER_COLUMNS, workers),)
    return Report(parts=parts, verdict=verdict, ok=not broken)


_WORKER_COLUMNS = (
    Column("address", kind="text"),
    Column("popsnet", kind="text", show=lambda row: row.popsnet or "none"),
    Column("python", kind="text", show=lambda row: row.python or "–"),
    Column("threads", kind="integer"),
    Column(
        "memory", kind="text", show=lambda r: format_bytes(r.memory) if r.memory else "no limit"
    ),
    Column("resources", kind="text", show=lambda row: row.resources or "–"),
)


def _cluster(address: str) -> tuple[list[WorkerStatus] | None, Finding]:
    """Return the workers of a cluster, and whether they can be used."""
    from popsnet.sweeps.cluster import describe_workers, different_versions

    what = f"cluster {address}"
    try:
        workers = describe_workers(address)
    except InputError as error:
        return None, Finding(what, False, True, str(error).removeprefix(f"cluster = {address!r}: "))
    others = {w.address: w.popsnet or "none" for w in workers if w.popsnet != popsnet.__version__}
    if others:
        return workers, Finding(what, False, True, different_versions(others, popsnet.__version__))
    if not workers:
        detail = f"there are no workers. Start some with 'dask worker {address}'."
        return workers, Finding(what, False, True, detail)
    threads = sum(worker.threads for worker in workers)
    detail = f"{plural(len(workers), 'worker')} with {plural(threads, 'thread')}"
    return workers, Finding(what, True, True, "; ".join([detail, *_lacking(workers)]))


def _lacking(workers: list[WorkerStatus]) -> Iterator[str]:
    """Say which engines need resources that no worker states."""
    from popsnet.engines.plugins import usable
    from popsnet.sweeps.cluster import stated

    for name, engine in usable().items():
        if not any(
            all(f"{name}=" in worker.resources for name in engine.resources) for worker in workers
        ):
            yield (
                f"none has the resources of engine {name} "
                f"('dask worker --resources {stated(engine.resources)}')"
            )


def _libraries() -> Iterator[Finding]:
    python = f"{platform.python_version()} on {platform.platform()}"
    yield Finding("popsnet", True, True, popsnet.__version__)
    yield Finding("python", True, True, python)
    for name in _NEEDED:
        yield _library(name, True, "Install popsnet again, which installs it.")
    for name, (use, extra) in _OPTIONAL.items():
        yield _library(name, False, f"Needed for {use}. {how_to_install(extra)}")
    starts = "It starts Dask workers with Slurm, PBS and others: pip install dask-jobqueue."
    yield _library("dask-jobqueue", False, starts, "dask_jobqueue")


def _library(name: str, needed: bool, cure: str, module: str = "") -> Finding:
    try:
        import_module(module or name)
        return Finding(name, True, needed, version(name))
    except (ImportError, PackageNotFoundError) as error:
        return Finding(name, False, needed, f"{error}. {cure}")


def _engines(update: Update) -> Iterator[Finding]:
    from popsnet.engines import ENGINES

    for name in ENGINES:
        update(detail=f"engine {name}: compiled at its first use")
        yield _engine(name, needed=True)


def _plugins(update: Update) -> Iterator[Finding]:
    """Say what other distributions offer, what that needs, and whether it routes."""
    from popsnet.engines import plugins

    for name, point in plugins.offered().items():
        engine, what = plugins.load(name), f"plug-in {name}"
        if isinstance(engine, str):
            yield Finding(what, False, False, engine)
            continue
        yield Finding(what, True, False, plugins.origin_of(point))
        try:
            for row in engine.health():
                yield Finding(row.what, row.ok, False, row.detail)
            update(detail=f"engine {name}")
            reason = engine.supports(popsnet.Experiment(4, 4))
            failing = [Finding(f"engine {name}", False, False, reason)] if reason else []
            yield from failing or [_engine(name, needed=False)]
        except Exception as error:  # the plug-in may do anything
            yield Finding(f"engine {name}", False, False, f"it fails: {error!r}")


def _engine(name: str, *, needed: bool) -> Finding:
    """Find out whether an engine routes."""
    outcome = popsnet.route(4, 4, engine=name, progress=False)[0].outcome
    routes = outcome.delivered == 16
    detail = f"routes POPS(4, 4) in {outcome.slots} slots" if routes else "does not route"
    return Finding(f"engine {name}", routes, needed, detail)


def _computer() -> Iterator[Finding]:
    from popsnet.base.compiled import choose_cache
    from popsnet.base.system import available_memory, threads_here
    from popsnet.engines import ENGINES

    memory = available_memory()
    per_processor = ENGINES["slots"].memory(popsnet.Experiment(1024, 1024)) / 1024**2
    g = isqrt(int(memory / per_processor))
    largest = f"POPS({g:,}, {g:,}), n = {g * g:,}, with engine slots"
    yield Finding("processors", True, False, f"{threads_here()} cores")
    yield Finding("memory", True, False, f"{memory / 1e9:.1f} GB available")
    yield Finding("compiled code", True, False, str(choose_cache(Path(popsnet.__file__).parent)))
    yield Finding("largest square network", True, False, largest)


@reporting
def routers() -> Report:
    """List the routers with their slots, memory, messages and coins.

    Example: popsnet routers
    """
    from popsnet.studies.comparisons.catalogue import catalogue

    return catalogue()


@reporting
def cite() -> Report:
    """Print BibTeX entries of popsnet and of the paper whose router it executes.

    Example: popsnet cite
    """
    from popsnet.base.citation import PAPER, SOFTWARE, bibtex

    facts = Fact("software", SOFTWARE), Fact("paper", PAPER), Fact("bibtex", bibtex())
    return Report(facts=facts, parts=(bibtex(),))
