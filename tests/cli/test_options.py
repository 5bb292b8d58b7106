"""Every option of every command changes something, or is refused; in every mode of the command."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
from typer.core import TyperGroup

import popsnet
from popsnet.base.errors import InputError
from popsnet.sweeps import collect_traffic
from tests.conftest import COMMAND, Cli
from tests.each import rarely

TIMES = "guard rate fibre"
FAULTS = "loss_per fault_seed"
STORED = "variant permutation"
LAYOUT = "label title width height font_size"
"""Options of a figure: without one they are refused, and with one they change nothing else."""

SEED = "the seed of draws that do not show here, or of none"
ENGINE = "the engines are equal bit by bit"
PERMISSION = "it permits what does not happen here"
SMALL = "the case is too small or too simple to show it"
SHOWN = "a browser is opened only for people; tested below"
EVERYTHING = "JSON has everything; tests of the command look at the text"
DRAWN = "it changes the figure alone; tests/cli/test_figures.py looks at it"
VERSIONS = {SMALL: "all_versions"}
"""In ``tests/cli/test_results.py`` there are older versions."""
ORDER = "it decides when and where the work is done, not what comes out"


class Mode(NamedTuple):
    """A way to use a command, with the options that are refused and those that change nothing."""

    line: str
    refused: str = ""
    same: Mapping[str, str] = {}
    """Options that are accepted and change nothing but their own echo, by the reason."""
    elsewhere: str = ""
    """Options that are modes of their own, or take long here and do the same in another mode."""


DRAWING = (
    "compare", "traffic", "schedule", "faults", "theory", "exact", "distribution",
    "sorting-network", "adversary congestion", "adversary rigid", "adversary conflict-free",
    "adversary separation",
)  # fmt: skip
"""Commands with a figure that can be left out."""

MODES: dict[str, list[Mode]] = {
    "view": [
        Mode(
            "view 4 4 --out NEW.html",
            f"packets matrix unit wavelengths {FAULTS}",
            {SHOWN: "no_open"},
        ),
        Mode("view 2 2 --loss 0.5", "packets matrix unit wavelengths", {SHOWN: "no_open"}),
        Mode(
            "view 2 2 --router direct --matrix matrix.csv",
            f"permutation permutation_seed packets wavelengths {FAULTS}",
            {SHOWN: "no_open", SEED: "seed"},
        ),
        Mode(
            "view trace.jsonl",
            "router permutation packets matrix unit seed permutation_seed max_steps wavelengths "
            f"fault loss {FAULTS}",
            {SHOWN: "no_open"},
        ),
        Mode(
            "view 2 2 schedule.csv",
            f"router matrix unit seed max_steps loss {FAULTS}",
            {SHOWN: "no_open"},
        ),
    ],
    "route": [
        Mode(
            "route 4 4 --runs 3",
            f"schedule survive packets matrix unit wavelengths trace {FAULTS} {TIMES}",
            {ENGINE: "engine"},
        ),
        Mode(
            "route 2 2 --router direct --packets demand.csv",
            "variant schedule survive permutation permutation_seed matrix unit detect wavelengths "
            f"{FAULTS} {TIMES}",
            {ENGINE: "engine", SEED: "seed"},
        ),
        Mode(
            "route 2 2 --router direct --matrix matrix.csv",
            "variant schedule survive permutation permutation_seed packets detect wavelengths "
            f"{FAULTS} {TIMES}",
            {ENGINE: "engine", SEED: "seed"},
        ),
        Mode(
            "route 2 2 --router direct --loss 0.5 --slot 20ns",
            "variant schedule survive unit wavelengths",
            {ENGINE: "engine", SEED: "seed", SMALL: "max_steps"},
        ),
    ],
    "compare": [
        Mode(
            "compare 2 2 --router mei-rizzi --router direct --runs 3",
            f"packets matrix unit wavelengths {FAULTS} {TIMES}",
        ),
        Mode(
            "compare 2 2 --router direct --packets demand.csv --runs 2 --timing sirius",
            f"permutation permutation_seed matrix unit wavelengths {FAULTS}",
            {SEED: "seed"},
        ),
        Mode(
            "compare 2 2 --router direct --loss 0.5 --runs 2",
            f"unit wavelengths {TIMES}",
            {SEED: "seed", SMALL: "max_steps permutation_seed"},
        ),
    ],
    "plan": [Mode("plan 4 4", TIMES), Mode("plan 4 4 --slot 20ns")],
    "traffic": [
        Mode(
            "traffic 2 2",
            "scheduler buffer slots precision max_slots overload seed engine fault loss trace "
            f"known_faults trace_slots figure {FAULTS} {TIMES}",
            {SEED: "arrival_seed"},
            "load loads saturation packets",
        ),
        Mode(
            "traffic 2 2 --load 0.1 --slots 100",
            "loads saturation packets precision max_slots known_faults trace_slots "
            f"{FAULTS} {TIMES}",
            {PERMISSION: "overload", SEED: "seed", ENGINE: "engine"},
        ),
        Mode(
            "traffic 2 2 --load 0.1 --max-slots 100 --slot 20ns --trace NEW.jsonl",
            f"loads saturation packets slots known_faults figure {FAULTS}",
            {PERMISSION: "overload", ENGINE: "engine", SMALL: "precision"},
        ),
        Mode(
            "traffic 2 2 --load 0.1 --slots 100 --fault random:couplers=1",
            f"loads saturation packets precision max_slots loss_per trace_slots {TIMES}",
            {PERMISSION: "overload", SEED: "seed", ENGINE: "engine"},
            "scheduler pattern burst matrix buffer arrival_seed figure trace wavelengths",
        ),
        Mode(
            "traffic 2 2 --loads 0.1,0.2 --scheduler tdm --slots 100",
            "load saturation packets precision max_slots known_faults trace trace_slots "
            f"{FAULTS} {TIMES}",
            {PERMISSION: "overload", SEED: "seed"},
            "fault loss wavelengths engine",
        ),
        Mode(
            "traffic 2 2 --saturation --scheduler tdm --slots 100",
            "load loads packets precision max_slots overload known_faults trace trace_slots "
            f"figure {FAULTS} {TIMES}",
            {SEED: "seed"},
            "pattern burst matrix buffer wavelengths fault loss arrival_seed engine",
        ),
        Mode(
            "traffic 2 2 --packets packets.csv",
            "load loads saturation pattern burst matrix arrival_seed precision max_slots overload "
            f"known_faults trace_slots {FAULTS} {TIMES}",
            {SEED: "seed", SMALL: "buffer"},
            "fault loss wavelengths engine",
        ),
    ],
    "schedule": [
        Mode("schedule 2 2", f"unit fault_seed {TIMES}", {SEED: "seed", SMALL: "permutation_seed"}),
        Mode(
            "schedule 2 2 --permutation transpose --slot 20ns",
            "packets matrix unit fault_seed",
            {SEED: "seed permutation_seed"},
        ),
        Mode(
            "schedule 2 2 --packets demand.csv",
            f"permutation permutation_seed matrix unit fault_seed {TIMES}",
            {SEED: "seed"},
        ),
        Mode(
            "schedule 2 2 --matrix matrix.csv",
            f"permutation permutation_seed packets fault_seed {TIMES}",
            {SEED: "seed"},
        ),
        Mode("schedule 8 4", f"matrix unit fault_seed {TIMES}", {SEED: "seed"}),
        Mode("schedule 4 4 --fault random:couplers=4", f"matrix unit {TIMES}"),
    ],
    "check": [
        Mode(
            "check trace.jsonl",
            "permutation packets matrix unit permutation_seed wavelengths fault fault_seed",
        ),
        Mode("check 2 2 schedule.csv", "matrix unit fault_seed", {SMALL: "wavelengths"}),
        Mode(
            "check 2 2 schedule.csv --matrix between.csv",
            "permutation packets permutation_seed fault_seed",
            {SMALL: "wavelengths"},
        ),
        Mode(
            "check 2 2 schedule.csv --permutation random --fault random:couplers=1",
            "packets matrix unit",
            {SMALL: "wavelengths"},
        ),
    ],
    "sweep": [
        Mode("sweep sweep.toml", "max_runs", {ORDER: "workers time_limit", SMALL: "part"}),
        Mode(
            "sweep sweep.toml --precision 0.9",
            "",
            {ORDER: "workers time_limit", SMALL: "part max_runs"},
        ),
        Mode("sweep points.toml", "precision max_runs", {ORDER: "workers time_limit"}),
    ],
    "faults": [
        Mode(
            "faults 4 4 --router mei-rizzi --router direct --runs 3 --numbers 1,2",
            "packets matrix unit wavelengths",
            {EVERYTHING: "every"},
        ),
        Mode(
            "faults 2 2 --router direct --matrix matrix.csv --runs 3 --numbers 1,2",
            "permutation permutation_seed packets wavelengths",
            {SEED: "seed", EVERYTHING: "every"},
        ),
    ],
    "theory": [Mode("theory 4 4", "", {EVERYTHING: "bounds tails growth"})],
    "exact": [
        Mode("exact 2 2", "variant all_packets"),
        Mode("exact 4 2", "variant"),
        Mode("exact 2 2 --router relay", "all_packets"),
    ],
    "distribution": [
        Mode(
            "distribution 2 2 --runs 20 --engine slots --max-steps 50",
            f"packets matrix unit wavelengths {FAULTS} {TIMES}",
            {SMALL: "variant"},
        ),
        Mode(
            "distribution 4 2 --runs 20 --timing sirius --no-exact",
            f"packets matrix unit wavelengths {FAULTS}",
            {ENGINE: "engine"},
        ),
        Mode(
            "distribution 2 2 --router direct --matrix matrix.csv --runs 20 --loss 0.5",
            f"variant permutation permutation_seed packets wavelengths {TIMES}",
            {ENGINE: "engine", SEED: "seed", "there is no chain to leave out": "exact"},
        ),
    ],
    "sort": [
        Mode("sort 2 2", TIMES),
        Mode("sort 2 2 --keys keys.txt --slot 20ns", "seed"),
        Mode("sort 2 2 --keys keys.txt --network bag-tree", TIMES, {SEED: "seed"}),
    ],
    "compute": [
        Mode("compute move 2 2", TIMES, {SEED: "seed", SMALL: "dimension"}),
        Mode("compute sum 2 2 --slot 20ns", "dimension", {SEED: "seed"}),
    ],
    "sorting-network": [
        Mode("sorting-network bitonic 8", "seed growth"),
        Mode("sorting-network bag-tree 128", "figure", {SEED: "seed"}),
        Mode("sorting-network bitonic 32 --check", "growth", {SEED: "seed"}),
    ],
    "budget": [
        Mode("budget 2 2 --preset pon"),
        Mode(
            "budget 2 2 --transmit 4dBm --sensitivity=-28dBm",
            "",
            {"its losses are those without a preset, and it names their sources": "preset"},
        ),
    ],
    "routers": [Mode("routers")],
    "cite": [Mode("cite")],
    "results list": [Mode("results list --store store.sqlite", "", VERSIONS)],
    "results show": [Mode("results show EXPERIMENT --store store.sqlite")],
    "results plot": [
        Mode("results plot --store store.sqlite --figure NEW.svg", "scheduler arrivals", VERSIONS),
        Mode(
            "results plot --store store.sqlite --figure NEW.svg --measure delay --arrivals uniform "
            "--d 2 --g 2",
            "x router variant permutation faults wavelengths seed fault_seed",
            {SMALL: "n all_versions"},
            "label",
        ),
    ],
    "results export": [
        Mode("results export --out NEW.csv --store store.sqlite", "", VERSIONS),
        Mode(
            "results export --out NEW.csv --store store.sqlite --per-run",
            "traffic scheduler arrivals",
            VERSIONS,
        ),
        Mode(
            "results export --out NEW.csv --store store.sqlite --traffic",
            "per_run router variant permutation faults wavelengths seed fault_seed",
            VERSIONS,
        ),
    ],
    "results merge": [Mode("results merge store.sqlite")],
    "results verify": [
        Mode("results verify --store store.sqlite", "router"),
        Mode("results verify --store store.sqlite --all", "shards seed router"),
        Mode("results verify --store mine.sqlite", "", {SMALL: "shards every", SEED: "seed"}),
    ],
    "results rescue": [
        Mode(
            "results rescue store.sqlite NEW.sqlite",
            "",
            {"it describes what is lost, and nothing is": "sweep"},
        )
    ],
    "adversary oblivious": [
        Mode("adversary oblivious 2 2", "variant"),
        Mode("adversary oblivious 2 2 --paths direct", "router variant"),
        Mode("adversary oblivious 2 2 --router direct", "paths variant"),
    ],
    "adversary congestion": [Mode("adversary congestion --largest 8 --runs 2")],
    "adversary rigid": [Mode("adversary rigid 2 2 --router datta", "variant")],
    "adversary conflict-free": [
        Mode("adversary conflict-free 2 2", "variant runs permutation_seed"),
        Mode("adversary conflict-free 3 3", "variant"),
    ],
    "adversary two-hop": [Mode("adversary two-hop 2 2")],
    "adversary separation": [Mode("adversary separation --largest 8 --runs 2")],
}

for _command, _modes in MODES.items():
    for _number, _mode in enumerate(_modes):
        if "--figure" in _mode.line:
            same = {**_mode.same, DRAWN: LAYOUT}
            _modes[_number] = _mode._replace(same=same)
        elif _command in DRAWING:
            _modes[_number] = _mode._replace(refused=f"{_mode.refused} {LAYOUT}")

VALUES = {
    "algorithm": "shear", "allow": "2", "arrivals": "'bernoulli uniform'", "arrival_seed": "7",
    "buffer": "1",
    "burst": "4", "confidence": "0.9", "connectors": "1dB", "d": "4",
    "dimension": "1", "engine": "slots", "excess": "1dB", "fault": "coupler:0-1",
    "faults": "coupler:0-1",
    "fault_seed": "7", "fibre": "1km", "figure": "NEW.svg", "first": "100",
    "font_size": "9", "g": "4",
    "guard": "5ns", "height": "5in", "hops": "1", "keep": "NEW.json", "keys": "keys.txt",
    "kind": "receivers", "label": "direct=Straight",
    "largest": "16", "load": "0.2", "loads": "0.1,0.3", "loss": "0.4", "loss_per": "listener",
    "margin": "1dB", "matrix": "matrix.csv", "max_n": "16", "max_runs": "60",
    "max_slots": "200", "max_steps": "1", "measure": "steps", "most_slots": "2", "n": "16",
    "network": "bitonic", "numbers": "0,2", "out": "NEW.csv", "packets": "demand.csv",
    "part": "1/2",
    "paths": "spread", "pattern": "tornado", "permutation": "transpose",
    "permutation_seed": "7", "ports": "NEW.csv", "precision": "0.5", "preset": "silicon",
    "rate": "10Gbps", "router": "direct", "runs": "4", "schedule": "S", "scheduler": "aloha",
    "seed": "7", "sensitivity": "-20dBm", "shards": "1", "slot": "30ns", "slots": "200",
    "store": "other.sqlite", "sweep": "sweep.toml", "timing": "shale", "trace": "NEW.jsonl",
    "trace_slots": "5", "transmit": "1dBm", "transmitters": "one", "unit": "2",
    "upto": "1", "variant": "S", "wavelengths": "2", "worst": "0", "x": "d",
    "time_limit": "1h", "title": "A", "width": "9cm",
    "adversary oblivious router": "relay", "adversary rigid router": "datta",
    "adversary conflict-free router": "aks", "adversary conflict-free slots": "1",
    "adversary rigid slots": "1", "adversary rigid variant": "to-all",
    "adversary oblivious variant": "to-all", "faults router": "relay:S",
    "results export arrivals": "tornado", "results list arrivals": "tornado",
    "results plot arrivals": "tornado", "results export permutation": "identity",
    "results list permutation": "identity", "results plot permutation": "identity",
    "results export variant": "idealized", "results list variant": "idealized",
    "results plot variant": "idealized", "results export scheduler": "tdm",
    "results list scheduler": "tdm", "results plot scheduler": "tdm",
    "schedule hops": "2", "budget transmit": "1dBm",
    "results export n": "4", "results list n": "4", "results plot n": "4",
    "results export out": "NEW.csv",
    "results export d": "4", "results list d": "4", "results plot d": "4",
"distribution router": "relay:S", "distribution variant": "idealized",
    "exact permutation": "identity", "exact router": "relay", "exact variant": "T1",
    "results merge store": "NEW.sqlite",
    "results plot measure": "lost", "results verify router":
    "mine.py", "results verify store": "other.sqlite", "route router": "relay",
    "route variant": "idealized", "sort out": "NEW.txt", "sweep store": "NEW.sqlite",
    "sweep workers": "1", "theory runs": "10", "traffic packets": "packets.csv",
    "traffic matrix": "rates.csv", "view out": "NEW.html", "view router": "relay:S",
}  # fmt: skip
"""A value for every option that takes one; by its name, or by the command and its name."""

INVALID = {
    "fault": "coupler:9-9", "figure": "NEW.txt", "scheduler": "no-such",
    "sweep": "no-such.toml", "trace": "no/trace.jsonl",
    "sort out": "no/sorted.txt", "keep": "no/kept.json",
    "sweep store": "no/store.sqlite", "results merge store": "no/store.sqlite",
}  # fmt: skip
"""A value that is refused; for others it is -1."""

OBSERVED = {
    "demo": "out no_open json csv", "doctor": "cluster json csv",
    "paper": "out runs max_n full cluster json csv", "sweep": "workers cluster",
    "view": "no_open",
    "results drop": "router scheduler arrivals variant permutation faults n d g seed "
    "wavelengths fault_seed all_versions older_versions yes store json csv",
}  # fmt: skip
"""Options that take long, start programs or remove results, which have tests of their own."""


def leaves(group: TyperGroup, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


assert isinstance(COMMAND, TyperGroup)
OPTIONS: dict[str, dict[str, Any]] = {
    words: {one.name: one for one in command.params if one.param_type_name == "option"}
    for words, command in leaves(COMMAND)
}


def value_of(words: str, name: str) -> str:
    return VALUES.get(f"{words} {name}") or VALUES[name]


def typed(words: str, name: str, value: str | None = None) -> str:
    """An option as it is typed."""
    option = OPTIONS[words][name]
    if option.is_flag:
        return str([*option.secondary_opts, *option.opts][0])
    return f"{option.opts[0]}={value_of(words, name) if value is None else value}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that options name. Figures are drawn, but neither arranged nor rendered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("popsnet.plots.style.save_one", lambda figure, path: path.touch())
    monkeypatch.setattr("popsnet.plots.style._place", lambda figure: None)
    monkeypatch.setattr("matplotlib.figure.Figure.draw_without_rendering", lambda figure: None)
    Path("demand.csv").write_text("0,1\n0,2\n0,3\n1,2\n")
    Path("matrix.csv").write_text("0,3\n2,0\n")
    Path("rates.csv").write_text("1,3\n2,1\n")
    Path("packets.csv").write_text("1,0,1\n2,2,3\n5,1,0\n")
    Path("keys.txt").write_text("4 3 2 1\n")
    Path("sweep.toml").write_text("runs = 10\n[[grid]]\nrouters = 'direct'\nd = 2\ng = 2\n")
    points = 'd = [2, 4]\ng = [2, 4]\nschedulers = ["tdm", "aloha"]\nloads = 0.1\nslots = 300\n'
    points = f'[[traffic]]\npatterns = ["uniform", "tornado"]\n{points}'
    Path("points.toml").write_text(points)
    Path("mine.py").write_text(ROUTER)
    popsnet.schedule(2, 2, "reversal").write_csv("schedule.csv")
    Path("between.csv").write_text("0,0,0,2\n0,0,2,0\n0,2,0,0\n2,0,0,0\n")
    popsnet.route(2, 2, router="direct", trace="trace.jsonl")
    experiments = [
        popsnet.Experiment(d, g, router="direct", permutation=permutation)
        for d, g in ((2, 2), (4, 4), (2, 4))
        for permutation in ("random", "identity")
    ]
    experiments.append(popsnet.Experiment(2, 2, variant="idealized"))
    broken: Any = {"faults": "coupler:0-1", "fault_seed": 7, "seed": 7, "wavelengths": 2}
    experiments.append(popsnet.Experiment(2, 2, router="offline", **broken))
    popsnet.collect(experiments, runs=10, store="store.sqlite")
    popsnet.collect(experiments[:1], runs=20, store="other.sqlite")
    stopped = popsnet.Experiment(2, 2, router="mine.py", max_steps=1)
    popsnet.collect([stopped], runs=10, store="mine.sqlite")
    collect_traffic(popsnet.Sweep.read("points.toml"), "store.sqlite")
    return tmp_path


ROUTER = (
    "from popsnet import Slot, register\n"
    "@register('mine', summary='', slots='', buffers=2)\n"
    "def mine(network, destination, coins, memory):\n"
    "    for step in range(9):\n"
    "        yield Slot(step=step)\n"
)


class Done(NamedTuple):
    """What a command line did: its output without the names of new files, and what it wrote."""

    code: int
    said: Any
    error: str

    def without(self, echo: str) -> Any:
        """What was said without times, and without the value of an option."""
        return _without(self.said, echo)


class Caller:
    """Runs command lines, and returns what they say and write."""

    def __init__(self, cli: Cli) -> None:
        self.cli, self.numbers = cli, count()
        with popsnet.Store("store.sqlite") as store:
            self.experiment = next(iter(store.experiments())).digest

    @cache  # noqa: B019
    def base(self, line: str) -> Done:
        """What a mode does without further options."""
        return self(line)

    def __call__(self, line: str) -> Done:
        new = f"new{next(self.numbers)}"
        line = line.replace("NEW", new).replace("EXPERIMENT", self.experiment)
        if line.startswith("sweep") and "--store" not in line:
            line += f" --store={new}.sqlite"
        finished = self.cli(*shlex.split(line))
        text = finished.out.replace(new, "NEW")
        if finished.code == 2:
            return Done(2, text, finished.err)
        files = [Path(name) for name in re.findall(rf"{new}[.\w]*", line)]
        assert all(file.exists() for file in files), f"{line}: no file is written"
        read = [one.read_text() for one in files if one.suffix in (".html", ".csv", ".jsonl")]
        said = json.loads(text) if "--json" in line else text
        return Done(finished.code, [said, *read], finished.err)


def _without(said: Any, echoes: str) -> Any:
    if isinstance(said, list):
        return [_without(one, echoes) for one in said]
    if not isinstance(said, dict):
        return said
    return {
        key: _without(value, echoes)
        for key, value in said.items()
        if (key != echoes or isinstance(value, dict | list))
        and not re.search("seconds|bytes|finished|started", key)
    }


def uses(words: str, mode: Mode) -> list[str]:
    """The options of a command that are not in the line of a mode already."""
    line, seen = mode.line.split(), OBSERVED.get(words, "").split()
    return [
        name
        for name, option in OPTIONS[words].items()
        if name not in seen and not {*option.opts, *option.secondary_opts} & {*line}
    ]


def done_by(call: Caller, words: str, name: str, mode: Mode) -> tuple[str, str]:
    """What an option does in a mode (refused, changes, nothing), and what is said of it."""
    form, echo = ("", "") if name in ("json", "csv") else (" --json", name)
    done = call(f"{mode.line}{form} {typed(words, name)}")
    if done.code == 2:
        return "refused", done.error
    if not OPTIONS[words][name].is_flag and "NEW" in value_of(words, name):
        return "changes", done.error
    same = done.without(echo) == call.base(mode.line + form).without(echo)
    return "nothing" if same else "changes", done.error


def test_every_option_is_in_a_mode_or_observed() -> None:
    assert {*MODES, *OBSERVED} == {*OPTIONS}
    for words, options in OPTIONS.items():
        used = {name for mode in MODES.get(words, []) for name in uses(words, mode)}
        given = {*re.findall(r"--([\w-]+)", " ".join(one.line for one in MODES.get(words, [])))}
        named = {one.replace("-", "_") for one in given}
        assert {*options} <= used | named | {*OBSERVED.get(words, "").split()}, words
        for mode in MODES.get(words, []):
            listed = f"{mode.refused} {' '.join(mode.same.values())}".split()
            assert {*listed} <= {*options}, (words, mode)


@pytest.mark.parametrize("everywhere", [False, *rarely([True])])
def test_every_option_changes_something_or_is_refused(
    everywhere: bool, cli: Cli, folder: Path
) -> None:
    """In every mode, or else in those that refuse it and the first that does not."""
    call, wrong = Caller(cli), []

    for words, modes in MODES.items():
        tried: set[tuple[str, str]] = set()
        for mode in modes:
            expected = dict.fromkeys(mode.refused.split(), "refused")
            expected |= dict.fromkeys(" ".join(mode.same.values()).split(), "nothing")
            for name in {*uses(words, mode)} - {*mode.elsewhere.split()}:
                what = expected.get(name, "changes")
                if (name, what) in tried and what != "refused" and not everywhere:
                    continue
                tried.add((name, what))
                done, error = done_by(call, words, name, mode)
                if done != what:
                    wrong.append(f"{mode.line} | {name}: {done}. {error[:300]}")
                if done == "refused" and not error.startswith("Error: "):
                    wrong.append(f"{mode.line} | {name}: the error is {error[:300]!r}")
    assert not wrong, "\n".join(wrong)


def test_every_invalid_value_is_refused(cli: Cli, folder: Path) -> None:
    """Any text is a title."""
    call, wrong = Caller(cli), []
    for words, modes in MODES.items():
        tried: set[str] = set()
        for mode in modes:
            for name in uses(words, mode):
                if OPTIONS[words][name].is_flag or name in {*mode.refused.split(), *tried, "title"}:
                    continue
                tried.add(name)
                bad = INVALID.get(f"{words} {name}") or INVALID.get(name, "-1")
                code, _, error = call(f"{mode.line} {typed(words, name, bad)}")
                if code != 2 or not error.startswith("Error: "):
                    wrong.append(f"{mode.line} | {name}={bad}: {code} {error[:300]}")
    assert not wrong, "\n".join(wrong)


def test_a_browser_is_opened_unless_no_open_is_given(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("popsnet.cli.view.open_in_browser", opened.append)
    for line in ("view trace.jsonl --out page.html", "demo --out page.html"):
        assert cli(*line.split(), "--no-open").code == 0
        assert opened == []
        assert cli(*line.split()).code == 0
        assert opened.pop() == Path("page.html")
        assert cli(*line.split(), "--out", "page.txt").code == 2


def test_the_options_of_what_takes_long_are_passed_on(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is refused when it begins, with what it was called with."""
    seen: list[Any] = []

    def called(*given: object, **named: object) -> NoReturn:
        seen.append((given, named))
        raise InputError("Seen.")

    for name in ("paper.reproduce", "sweeps.cluster.open_cluster", "sweeps.runner.Workers"):
        monkeypatch.setattr(f"popsnet.{name}", called)
    monkeypatch.setattr("popsnet.sweeps.cluster.local_workers", called)
    for line, options in {
        "paper": "--out=p --runs=10 --max-n=16 --full --cluster=local:1",
        "sweep sweep.toml": "--workers=1 --cluster=local:1",
        "doctor": "--cluster=local:1",
    }.items():
        for option in options.split():
            seen.clear()
            assert cli(*line.split(), option).err.endswith("Error: Seen.\n"), option
            with_it = seen.copy()
            seen.clear()
            without = cli(*line.split()) if line != "doctor" else None
            assert without is None or seen != with_it, option
    for line in (
        "paper --runs=-1", "paper --max-n=-1", "paper --out=keys.txt", "paper --runs 10 --full",
        "paper --cluster=-1", "sweep sweep.toml --cluster=-1", "sweep sweep.toml --workers=-1",
        "sweep sweep.toml --workers=1 --cluster=local:1", "doctor --cluster=-1",
    ):  # fmt: skip
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        assert cli(*line.split()).code == 2, line
