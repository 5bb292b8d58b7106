"""Runs to watch: the pages of the viewer that the documents show and photograph."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from popsnet import Experiment, route
from popsnet.trace.viewer import Page, Recording


def routers(d: int, g: int, *names: str, seed: int = 0) -> tuple[Experiment, ...]:
    """Runs of some routers, given as NAME or NAME:VARIANT, on the same permutation."""
    named = (name.partition(":") for name in names)
    return tuple(
        Experiment(d, g, router=name, variant=variant or None, seed=seed, permutation_seed=seed)
        for name, _, variant in named
    )


WATCHED = {
    "two-routers": routers(4, 4, "mei-rizzi", "relay:S"),
    "one-packet": routers(3, 3, "mei-rizzi"),
    "lost-packets": routers(3, 2, "mei-rizzi:published", "mei-rizzi:deferred", seed=17),
    "schedule": routers(6, 6, "offline"),
    "side-by-side": routers(6, 6, "mei-rizzi", "relay:S"),
    "matrix": routers(64, 64, "mei-rizzi"),
}
"""By the names of their pages on the site."""


def page_of(experiments: Sequence[Experiment]) -> Page:
    """The page that plays the first run of each experiment, one beside the other."""
    recordings = []
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        for experiment in experiments:
            route(experiment, trace=trace)
            recordings.append(Recording.of(trace.read_text("utf-8")))
    return Page.of(recordings)
