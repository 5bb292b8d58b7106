"""Draws the figures of the documents, from runs that anyone can repeat."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from io import StringIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import popsnet
from popsnet import Coins, Experiment, Network, Store, Sweep, collect, read_distribution, route
from popsnet import schedule as make_schedule
from popsnet.plots import (
    DistributionBars,
    draw_distributions,
    draw_load_curves,
    draw_network,
    draw_phases,
    draw_results,
    draw_schedule,
    draw_slot,
    draw_survival,
    draw_tails,
    draw_trace,
    svg_text,
)
from popsnet.plots.style import LOOKS, row_of_axes, styled, with_legend
from popsnet.programs.router import short_name
from popsnet.programs.routers.relay import fractions, parse_schedule
from popsnet.programs.schedules.cache import schedule_permutation
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.studies.comparisons.survival import FaultRow, Survival
from popsnet.theory.exact import mei_rizzi_chain, relay_chain, solve
from popsnet.theory.sorting import merge_exchange
from popsnet.trace import Event
from popsnet.traffic import TrafficExperiment, read_loads, run_loads

IMAGES = Path(__file__).parent / "images"
TAILS = Path(__file__).parents[1] / "results" / "tails"
FAULTS = Path(__file__).parents[1] / "results" / "faults"
SEED = 3
RUNS = 4
"""Runs for each point of a figure."""
TOWER = "T1 T1 T1 T1 T1 T1 T1 T31"
"""The schedule of the proof on the page about log*, on networks of today."""
LOSING_SEED = 17
LOSING_SLOTS = range(6, 11)


class Stage(NamedTuple):
    """Slots of a run of relay that show one of its stages."""

    d: int
    g: int
    schedule: str
    seed: int
    permutation_seed: int
    slots: range
    a_row: int = 4


class Curves(NamedTuple):
    """A figure of delays against loads, as ``popsnet traffic D G --loads … --figure`` draws it."""

    d: int
    g: int
    schedulers: tuple[str, ...]
    loads: str
    max_slots: int | None = None


TRAFFIC = {
    "first-curves": Curves(8, 8, ("relay", "aloha", "rotor", "tdm"), "0.02,0.05,0.1,0.2,0.4,0.7"),
    "traffic-crossbar": Curves(
        1, 32, ("tdm", "rotor", "ideal", "ideal:fifo"),
        "0.1,0.2,0.3,0.4,0.5,0.55,0.57,0.65,0.75,0.85,0.95", 200_000,
    ),
    "traffic": Curves(
        32, 32, ("relay", "aloha", "hop3", "rotor", "tdm"),
        "0.005,0.01,0.02,0.035,0.05,0.08,0.12,0.2,0.3,0.45,0.6,0.8", 400_000,
    ),
}  # fmt: skip
"""The figures of continuous traffic. The last takes minutes, the others seconds."""

RELAY = {
    "sweep": Stage(3, 3, "S", 1209, 3, range(1, 5)),
    "park": Stage(4, 2, "P(2,2)", 2110, 4, range(2, 10)),
    "fold": Stage(4, 2, "P(2,2) F", 737, 4, range(10, 14)),
    "shower": Stage(3, 3, "S R2", 6321, 2, range(5, 10), a_row=5),
    "grid": Stage(2, 4, "XY(2,1)", 79, 0, range(2, 6)),
    "team": Stage(3, 3, "S T2", 964, 5, range(5, 13)),
    "marked": Stage(3, 3, "S Q", 89, 5, range(5, 9)),
}
"""Runs in which no packet has its source or destination as a relay: easier to follow."""


def draw(path: Path) -> None:
    """Run POPS(3, 3), draw its first slot, save it."""
    experiment = Experiment(3, 3, seed=SEED)
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    sends, listens = events_of(experiment)[0].records()
    draw_slot(figure.add_subplot(), experiment.network, sends, listens)
    save(figure, path)


def draw_loss(path: Path) -> None:
    """The step of a run on POPS(3, 2) in which the published protocol loses two packets."""
    losing = Experiment(3, 2, variant="published", seed=LOSING_SEED, permutation_seed=LOSING_SEED)
    events = [event for event in events_of(losing) if event.slot in LOSING_SLOTS]
    figure = Figure(figsize=(12.0, 5.6), layout="constrained")
    draw_slots(figure, losing.network, events)
    save(figure, path)


def draw_stage(path: Path, stage: Stage) -> None:
    """The slots of a stage of relay."""
    experiment = Experiment(
        stage.d, stage.g, router="relay", variant=stage.schedule, seed=stage.seed,
        permutation_seed=stage.permutation_seed,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        route(experiment, trace=trace)
        figure = draw_trace(trace, stage.slots, stage.a_row)
    text = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", svg_text(figure))
    keep(text, path)


@styled()
def draw_log_star(path: Path) -> None:
    """What team stages leave: in a run beside plain sweeps, and in one stage of r candidates."""
    figure, (course, choice) = row_of_axes(2, 3.3)
    network = Network(1024, 1024)
    for look, schedule in zip(LOOKS[:2], (TOWER, "S"), strict=True):
        draw_fractions(course, network, schedule, look.colour, look.marker)
    course.set(xlabel="slot", ylabel="fraction left", yscale="log", ylim=(1e-8, 2))
    draw_choice(choice, Network(256, 256), range(1, 21))
    save(with_legend(figure, columns=2), path)


def draw_fractions(axes: Axes, network: Network, schedule: str, colour: str, marker: str) -> None:
    """The fractions left after each stage of a run, with the fluid limit as a line."""
    plan, left = parse_schedule(schedule), route(network, router="relay", variant=schedule)[0]
    name = "plain sweeps" if schedule == "S" else "team stages"
    measured = [1, *(count / network.n for count in left.survivors if count)]
    limit = [1, *islice(fractions(plan, network), len(left.survivors))]
    slots = np.cumsum([1, *(one.slots(network) for one in islice(plan, len(limit) - 1))])
    axes.plot(slots, limit, color=colour, label=f"{name}, fluid limit")
    axes.plot(
        slots[: len(measured)], measured, color=colour, marker=marker, linestyle="",
        label=f"{name}, POPS({network.d}, {network.g})",
    )  # fmt: skip


def draw_choice(axes: Axes, network: Network, candidates: range) -> None:
    """The part of the packets that one team stage leaves, by r, after three sweeps."""
    look, bound = LOOKS[2], LOOKS[3]
    left, limit, proved = [], [], []
    for r in candidates:
        schedule = parse_schedule(f"S S S T{r}")
        runs = route(network, router="relay", variant=str(schedule), runs=RUNS)
        before, after = np.array([run.survivors[2:4] for run in runs]).sum(axis=0)
        start, end = islice(fractions(schedule, network), 2, 4)
        left.append(after / before)
        limit.append(end / start)
        proved.append(min((2 * r * start) ** r, 1))
    axes.plot(candidates, proved, **bound.curve, label="proved: at most (2rρ)^r")
    axes.plot(candidates, limit, **look.curve, label="fluid limit of Tr")
    axes.plot(
        candidates, left, color=look.colour, marker=look.marker, linestyle="",
        label=f"Tr after S S S, POPS({network.d}, {network.g})",
    )  # fmt: skip
    axes.set(
        xlabel="candidates r",
        ylabel="part of the packets left",
        yscale="log",
        xticks=candidates[4::5],
    )


def draw_offline(path: Path) -> None:
    """The slots and couplers of an off-line schedule."""
    experiment = Experiment(4, 3, router="offline")
    schedule = schedule_permutation(experiment.network, experiment.destination(0))
    keep(svg_text(draw_schedule(schedule)), path)


def draw_mixture(path: Path) -> None:
    """The use of couplers in a schedule with straight and relayed packets."""
    counts = np.random.default_rng(5).poisson(20, (64, 64))
    np.fill_diagonal(counts, 0)
    made = make_schedule(Network(64, 64), matrix=counts)
    save(draw_schedule(made.schedule), path)


def draw_comparators(path: Path) -> None:
    """A sorting network of 16 wires."""
    keep(svg_text(draw_network(merge_exchange(16))), path)


def draw_course(path: Path, d: int, g: int) -> None:
    """A run beside the phases of the paper's proof."""
    experiment = Experiment(d, g)
    coins = Coins(experiment.seed).for_run(0)
    course = analyse_phases(experiment.network, experiment.destination(0), coins)
    keep(svg_text(draw_phases(list(course))), path)


def draw_exact(path: Path) -> None:
    """Exact distributions beside runs."""
    save(
        draw_distributions([bars_of("mei-rizzi", 2), bars_of("mei-rizzi", 3), bars_of("relay", 3)]),
        path,
    )


def bars_of(router: str, g: int) -> DistributionBars:
    """The distribution of the steps, or stages, on POPS(g, g), exact and in runs."""
    chain = (mei_rizzi_chain if router == "mei-rizzi" else relay_chain)(Network(g, g))
    exact = solve(chain)
    if router == "relay":
        slots = route(g, g, router=router, variant="S", runs=1000).slots
        steps = Counter(((slots - 1) // 3).tolist())
    else:
        steps = route(g, g, engine="fused", runs=10_000).tally.steps
    most = min(13 if g == 2 else 10, len(exact.within))
    shown = tuple(float(exact.probability(s)) for s in range(most))
    what = "stages" if router == "relay" else "steps"
    return DistributionBars(f"{router}, POPS({g}, {g})", shown, steps, what)


def draw_growth(path: Path) -> None:
    """Draw the figure of the tutorial on sweeps, from the sweep that it runs."""
    page = (Path(__file__).parent / "tutorials/a-sweep-and-its-figure.md").read_text()
    with TemporaryDirectory() as folder:
        file, store = Path(folder) / "growth.toml", Path(folder) / "results.sqlite"
        file.write_text(page.partition('title="growth.toml"\n')[2].partition("```")[0])
        collect(Sweep.read(file), store=store, precision="1.96%")
        with Store(store) as results:
            keep(svg_text(draw_results(results)), path)


def draw_traffic(path: Path, curves: Curves) -> None:
    """Delays against loads, a line per scheduler."""
    points = [
        TrafficExperiment(
            curves.d, curves.g, scheduler=name, load=load, max_slots=curves.max_slots
        )
        for name in curves.schedulers
        for load in read_loads(curves.loads)
    ]  # fmt: skip
    found = run_loads(points)
    print(found)
    keep(svg_text(draw_load_curves(found.results)), path)


def draw_kept_tails(path: Path) -> None:
    """How likely slow runs are, from histograms that took half an hour to count."""
    kept = sorted(TAILS.glob("*.json"), key=lambda file: int(file.stem.rpartition("-")[2]))
    found = [read_distribution(file) for file in kept]
    keep(svg_text(draw_tails(found, "steps")), path)


def draw_kept_faults(path: Path) -> None:
    """What dead couplers cost every router, from runs that took minutes."""
    kept = (FAULTS / f"{shape}.json" for shape in ("16-16", "64-16"))
    keep(
        svg_text(draw_survival([survival_of(json.loads(file.read_text())) for file in kept])), path
    )


def survival_of(report: dict[str, Any]) -> Survival:
    """Return what ``popsnet faults --json`` printed in 0.6: counts are means per run."""
    facts = {name: report[name] for name in ("kind", "loss", "runs", "fault_seed")}
    network = Network(report["network"]["d"], report["network"]["g"])
    rows = tuple(
        FaultRow(
            slots_mean=row.pop("slots"),
            router_label=short_name(row["router"], row["variant"], network),
            **_with_sums(row),
        )
        for row in report["routers"]
    )
    return Survival(network, rows=rows, **facts)


def _with_sums(row: dict[str, Any]) -> dict[str, Any]:
    names = ("lost", "unreachable", "held", "duplicated")
    return {**row, **{name: round(row[name] * row["runs"]) for name in names}}


def draw_command(path: Path, command: str) -> None:
    """The figure of a command, as a page gives it."""
    with TemporaryDirectory() as folder:
        drawn = Path(folder) / path.name
        words = [sys.executable, "-m", "popsnet", *command.split(), "--figure", str(drawn)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        keep(drawn.read_text(encoding="utf-8"), path)


def draw_slots(figure: Figure, network: Network, events: Sequence[Event]) -> None:
    """One panel per slot."""
    for place, event in enumerate(events, start=1):
        axes = figure.add_subplot(2, 3, place)
        draw_slot(axes, network, *event.records())
        axes.set_title(f"slot {event.slot}: {event.phase[2:]}", fontsize=11, pad=18)


def events_of(experiment: Experiment) -> list[Event]:
    """What happens in the first run of an experiment."""
    events: list[Event] = []
    route(experiment, observers=[events.append])
    return events


def save(figure: Figure, path: Path) -> None:
    """Text as paths: it fits closely."""
    drawn = StringIO()
    with mpl.rc_context({"svg.hashsalt": "popsnet", "svg.fonttype": "path"}):
        creator = f"popsnet {popsnet.__version__}"
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": creator})
    keep(drawn.getvalue(), path)


DARK = "@media (prefers-color-scheme: dark) { svg { filter: invert(0.914) hue-rotate(180deg); } }"
"""A figure on a dark page is dark, with the same hues; its background is kept, so that it can be
read on any page."""


def keep(svg: str, path: Path) -> None:
    """Write a figure that follows the theme of the page that shows it."""
    start = '<style type="text/css">'
    path.write_text(svg.replace(start, start + DARK, 1), encoding="utf-8")


QUICK: dict[str, Callable[[Path], None]] = {
    "pops-3-3": draw,
    "lost-packets": draw_loss,
    **{f"relay-{name}": partial(draw_stage, stage=stage) for name, stage in RELAY.items()},
    "offline": draw_offline,
    "merge-exchange-16": draw_comparators,
    "tails": draw_kept_tails,
    "faults": draw_kept_faults,
}
"""Figures that take little time, by the names of their files. A test draws them."""

LONGER: dict[str, Callable[[Path], None]] = {
    "schedule-mixed": draw_mixture,
    "log-star": draw_log_star,
    "phases": partial(draw_course, d=1024, g=1024),
    "phases-thinning": partial(draw_course, d=1024, g=256),
    "exact-distributions": draw_exact,
    "growth": draw_growth,
    **{name: partial(draw_traffic, curves=curves) for name, curves in TRAFFIC.items()},
}

COMMANDS = {
    "oblivious-congestion": "adversary congestion --largest 256 --worst 32",
    "rigid-growth": "adversary rigid 1 64 --router docs/examples/comparators.py --variant pratt",
    "two-hop-separation": "adversary separation --largest 1024",
}
LONGER |= {name: partial(draw_command, command=words) for name, words in COMMANDS.items()}

if __name__ == "__main__":
    chosen = sys.argv[1:] or [*QUICK, *LONGER]
    for name in chosen:
        (QUICK | LONGER)[name](IMAGES / f"{name}.svg")
