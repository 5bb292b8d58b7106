"""What the documents say is executed, and their tables are compared with the programs."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

import popsnet
from popsnet.programs.router import RouterFacts
from popsnet.programs.routers.deterministic import batcher_slots, datta_slots
from popsnet.programs.routers.relay import plan
from popsnet.sweeps.kind import Result
from popsnet.sweeps.rows import TABLES
from popsnet.sweeps.shard import RUN_COLUMNS
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import GRID_KEYS
from popsnet.theory import deterministic_slots
from popsnet.trace import Event, TraceWords, TraceWriter
from popsnet.trace.reader import Header, OutcomeLine, SlotLine
from tests.conftest import Cli
from tests.each import each
from tests.project.pages import (
    ROOT,
    WIDTH,
    Page,
    blocks,
    pages,
    prepare,
    require_same,
    routers_kept,
    words_of_svg,
)
from tests.sweeps.edits import kept

RELAY = (ROOT / "docs/explanation/relay.md").read_text()
SORTING_NETWORKS = (ROOT / "docs/explanation/sorting-networks.md").read_text()
TRACE_FORMAT = (ROOT / "docs/reference/trace-format.md").read_text()
DETERMINISTIC = (ROOT / "docs/explanation/deterministic.md").read_text()
SWEEP_FORMAT = (ROOT / "docs/reference/sweep-format.md").read_text()

Execute = Callable[[str], None]


@pytest.fixture
def execute(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Execute]:
    """Executes a page in an empty folder, which becomes the present one."""
    folder, programs = tmp_path / "page", tmp_path / "programs"
    prepare(folder, programs)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("MPLBACKEND", "agg")
    with routers_kept():
        yield lambda text: Page(text, cli, programs).execute()


MARKS = {
    "docs/gallery.md": [pytest.mark.long],  # draws every figure; tests/plots and tests/cli do, too
    "docs/how-to/a-figure-for-a-paper.md": [pytest.mark.long],  # draws many figures
    "docs/how-to/clusters.md": [pytest.mark.program],  # starts a cluster
    "docs/how-to/tails.md": [pytest.mark.long],  # a million runs
    "docs/how-to/your-own-traffic.md": [pytest.mark.long],  # curves of several schedulers
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=MARKS.get(page.as_posix(), ()), id=str(page))
        for page in pages()
        if page.name != "sweep-format.md"  # which another test executes
    ],
)
def test_a_page_does_what_it_says(page: Path, execute: Execute) -> None:
    """The figures that it shows are those that it draws, if they have the same name."""
    text = (ROOT / page).read_text(encoding="utf-8")
    execute(text)
    for shown in re.findall(r"\]\(([\w./-]+\.svg)\)", text):
        if (drawn := Path(Path(shown).name)).exists():
            kept = words_of_svg(ROOT / page.parent / shown)
            assert words_of_svg(drawn) == kept, f"{shown} is old; draw it again with make picture"


@pytest.mark.parametrize("page", pages(), ids=str)
def test_images_and_pages_that_are_linked_exist(page: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!\w+:)([^)#\s]+)", text):
        assert (ROOT / page.parent / target).exists(), target


@each(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```python\nx = 1\n```\n```python\n>>> x\n2\n```",
        "```console\n$ popsnet plan 0 4\n```",
        "```console\n$ popsnet route 2 2 --router direct\nsomething else\n```",
        "```console\n$ popsnet route 2 2 --router direct\n...\nsomething else\n...\n```",
        "```console\n$ popsnet route 2 0\nError: another one\n```",
        "```console\n$ cat missing\n```",
        "<!-- exit code: 1 -->\n```console\n$ popsnet route 2 2\n```",
        "```sh\npopsnet route 2 0   # a comment\n```",
        "```sh\npopsnet route 2 \\\n  0\n```",
        "```bash\nls\n```",
        "1. a list\n\n   ```python\n   1 / 0\n   ```",
        '````python title="x.py"\n```\n````\n```console\n$ cat x.py\nsomething else\n```',
    ],
)
def test_a_page_that_is_wrong_fails(text: str, execute: Execute) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        execute(text)


def test_a_page_in_order(execute: Execute) -> None:
    """Files are saved, names are shared, times and left-out lines do not matter."""
    execute(_IN_ORDER)


_IN_ORDER = """
```csv title="tables/demand.csv"
0,3
```

```python
from pathlib import Path
x = Path("tables/demand.csv").read_text()
```

```python
>>> x
'0,3\\n'
>>> print("in 3.2 s", range(10000), "in 12 s.")
in 1.2 s ...0) in 1 s.
```

<!-- not run: it cannot -->
```sh
popsnet nothing
```

```sh
make paper
popsnet route 2 2 --router direct --json | head -c 1 > run.json
```

```console
$ popsnet route 2 2 --router direct
POPS(2, 2): 4 processors in 2 groups of 2
...
Routed in 0.00 s.
...
Every packet was delivered.
$ cat \\
>   run.json; echo
{
$ cat tables/demand.csv
0,3
```

<!-- exit code: 1 -->
```console
$ cat nothing
```
"""


def test_the_slots_of_deterministic_routers_are_theirs() -> None:
    """Small networks are executed; of the others the formulas are looked at."""
    rows = re.findall(r"^\| POPS\((\d+), (\d+)\) \|(.*)\|$", DETERMINISTIC, re.MULTILINE)
    assert len(rows) >= 15
    for d, g, cells in rows:
        network = popsnet.Network(int(d), int(g))
        published, *ours = (re.sub(r"[(),]", "", cell.strip()) for cell in cells.split("|"))
        if published != "–":
            assert int(published) == deterministic_slots(network)
        assert int(ours[0]) == datta_slots(network)
        assert ours[1] == (str(batcher_slots(network)) if network.d <= network.g else "–")
        if network.n <= 256:
            (run,) = popsnet.route(network, router="datta")
            assert run.slots == int(ours[0])


def test_the_plans_on_the_page_on_relay_are_the_plans() -> None:
    rows = re.findall(
        r"^\| POPS\((\d+), (\d+)\) \| \d+ \| `(.*?)` \| ([\d.]+) \|", RELAY, re.MULTILINE
    )
    assert len(rows) == 18
    for d, g, schedule, slots in rows:
        made = plan(popsnet.Network(int(d), int(g)))
        assert str(made.schedule) == schedule.replace(r"\|", "|")
        assert made.slots == pytest.approx(float(slots), abs=0.06)
    (largest,) = map(int, re.findall(r"up to \$g = (\d+)\$ at \$d = g\$", RELAY))
    variants = [popsnet.Experiment(g, g, router="relay").variant for g in (largest, largest + 1)]
    assert (variants[0] == "direct") > (variants[1] == "direct")


def test_the_tree_of_the_architecture_is_the_tree() -> None:
    tree = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1]
    named = set(re.findall(r"^  (\w+(?:\.py|/))", tree, re.MULTILINE))
    source = ROOT / "src" / "popsnet"
    there = {f"{path.name}/" for path in source.iterdir() if (path / "__init__.py").is_file()}
    there |= {path.name for path in source.glob("*.py") if not path.name.startswith("__")}
    assert named == there


def test_every_line_of_the_trace_format_is_one() -> None:
    """The examples have the fields that the writer writes, in its order."""
    examples = [json.loads(block.text) for block in blocks(TRACE_FORMAT, "json")]
    written = io.StringIO()
    trace = TraceWriter(written)
    words = TraceWords(explanation="", phases={}, conflict_graph="")
    trace.begin(popsnet.Network(1, 1), "r", "v", 0, np.array([0]), 1, words=words)
    trace(Event(1, "phase", 0, 1, lambda: ([], [])))
    trace.settle([], [])
    trace.end(1, 1, ())
    trace = TraceWriter(written)
    trace.begin_traffic(popsnet.Network(1, 1), "s", "v", 0, 1)
    trace.arrive([(0, 0, 0)])
    trace(Event(1, "phase", 0, 1, lambda: ([], [])))
    trace.settle([], [], [(0, 0)])
    trace.end(1, 1, (), 0, 0)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    for example, line in zip(examples, lines, strict=True):
        assert list(example) == list(line)
        assert list(example.get("outcome", ())) == list(line.get("outcome", ()))


def test_the_rules_for_routers_name_every_fact_and_every_kind_of_slot() -> None:
    text = (ROOT / "docs/reference/writing-routers.md").read_text()
    facts = {*signature(popsnet.register).parameters, *RouterFacts.__annotations__}
    for name in facts - {"name", "facts"}:
        assert f"`{name}`" in text, name
    for name, method in vars(popsnet.Slot).items():
        if isinstance(method, classmethod):
            assert f"`Slot.{name}(" in text, name


@pytest.mark.parametrize("line", [Header, SlotLine, OutcomeLine])
def test_the_trace_format_names_every_field(line: type[Struct]) -> None:
    for name in line.__struct_fields__:
        assert f"`{name}`" in TRACE_FORMAT, name


def test_the_sweep_format_names_every_key_and_column() -> None:
    for name in (*GRID_KEYS, *TABLES, *Result._fields, *RUN_COLUMNS):
        assert f"`{name}`" in SWEEP_FORMAT, name


def test_versions_agree() -> None:
    assert f"version: {popsnet.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {popsnet.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_permutations_on_the_pages_are_those_of_their_runs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for page in ("lost-packets", "relay"):
        text = (ROOT / f"docs/explanation/{page}.md").read_text()
        route = blocks(text, "console")[0].text.splitlines()[0]
        cli(*shlex.split(route.removeprefix("$ popsnet ")))
        written = tmp_path / shlex.split(route)[-1]
        header = json.loads(written.read_text().splitlines()[0])
        assert rf"$\pi = {header['destination']}$" in text


def test_the_story_of_packet_3_in_the_tutorial_is_true() -> None:
    """What its slots say there, beside the trace."""
    text = (ROOT / "docs/tutorials/first-run.md").read_text()
    story = {int(slot): said for slot, said in re.findall(r"\*\*Slots? (\d+).*?\*\*(.*)", text)}
    lines = map(json.loads, popsnet.route(4, 4)[0].trace().splitlines()[1:-1])
    sent = {
        line["slot"]: send for line in lines for send in line["sends"] if send[3] == 3
    }  # fmt: skip
    assert sent == {
        1: [3, [1], "packet", 3], 6: [3, [1], "packet", 3], 7: [4, [2], "packet", 3],
        8: [9, [1], "ack", 3], 9: [4, [0], "ack", 3], 10: [9, [0], "packet", 3],
    }  # fmt: skip
    assert set(story) == {1, 2, 6, 7, 8, 10}
    for slot in (1, 6, 7, 10):
        sender, (group,), _, _ = sent[slot]
        assert f"Processor {sender} " in story[slot]
        assert f"group {group}" in story[slot]


def test_the_table_of_depths_begins_as_the_programs_does(cli: Cli) -> None:
    """As far as it is made in a moment; the whole table is a long test."""
    (block,) = blocks(SORTING_NETWORKS, "console")
    made = cli("sorting-network", "bag-tree", 2**10, "--growth").out.splitlines()
    rows = [line.split() for line in made if line.lstrip().startswith("2^")]
    shown = [line.split() for line in block.text.splitlines() if line.lstrip().startswith("2^")]
    assert len(rows) == 5
    assert shown[:5] == rows


@pytest.mark.long
def test_the_table_of_depths_is_the_programs(cli: Cli) -> None:
    (block,) = blocks(SORTING_NETWORKS, "console")
    asked, _, shown = block.text.partition("\n")
    require_same(asked, shown, cli(*shlex.split(asked.removeprefix("$ popsnet "))).out)


def test_commands_and_python_of_the_sweep_format_give_the_same(execute: Execute) -> None:
    execute(SWEEP_FORMAT)
    with Store(Path("results.sqlite")) as by_command, Store(Path("python.sqlite")) as by_python:
        assert kept(by_command) == kept(by_python)
