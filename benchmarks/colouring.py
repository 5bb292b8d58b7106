"""How fast are edge colourings? Validates them, then times ours beside others, in one run.

The graphs are those of off-line routing: random permutations on POPS(g, g), n = g² edges, degree g.

- ``popsnet``: ``colour_edges``, one thread, and what it takes per edge and level of splitting.
- ``plain``: the same splits, level by level, with edges in the order they come in, as one writes it
  first: a yardstick for the machine, by which other figures can be divided.
- ``rustworkx``: ``graph_bipartite_edge_color``, which takes multigraphs (Alon, 2003); until a
  graph takes it longer than a quarter of a minute. Building its graph is not counted.
- ``networkx`` has no edge colouring. What it offers is a greedy colouring of the line graph, which
  takes more colours than there need be, and time that grows with n·g.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
import rustworkx as rx
from growth import draw_growth, read_arguments
from rich.console import Console
from rich.table import Table

from popsnet import Coins
from popsnet.base.files import write_whole
from popsnet.base.system import available_memory
from popsnet.programs.schedules.colouring.colouring import colour_edges
from popsnet.programs.schedules.colouring.euler_split import _divide, _walk
from popsnet.workloads.permutations.uniform import UniformPermutation

MOST_SECONDS = {"rustworkx": 15.0, "networkx": 0.2}
"""What took longer is not tried on the next graph, which is four times as large."""
BYTES_AN_EDGE = 400

Ends = npt.NDArray[np.int32]


class Graph(NamedTuple):
    """The packets of a permutation, and the groups they come from and go to."""

    g: int
    destination: Ends
    left: Ends
    right: Ends

    @classmethod
    def of(cls, g: int) -> Graph:
        """For a permutation at random."""
        destination = UniformPermutation(g * g, Coins(g)).array()
        left = np.repeat(np.arange(g, dtype=np.int32), g)
        return cls(g, destination, left, destination // np.int32(g))


Colour = Callable[[Graph], tuple[Ends, float]]


def by_popsnet(graph: Graph) -> tuple[Ends, float]:
    """Ours."""
    begin = time.perf_counter()
    colours = colour_edges(graph.left, graph.right)
    return colours, time.perf_counter() - begin


def by_plain_splits(graph: Graph) -> tuple[Ends, float]:
    """Slots are the packets' own sources and destinations; for g a power of two."""
    n, g = len(graph.destination), graph.g
    begin = time.perf_counter()
    arrays = [graph.destination, np.empty(n, np.int32), np.arange(n, dtype=np.int32)]
    arrays[1][graph.destination] = arrays[2]
    size = n
    while size > g:
        split = [np.empty_like(array) for array in arrays]
        first, turn = np.empty(size // 2, np.uint8), np.empty(size // 2, np.uint8)
        for at in range(0, n, size):
            right, left, ids = (array[at : at + size] for array in arrays)
            _walk(right, left, 1, first, turn)
            _divide(right, first, 1, split[0][at : at + size])
            _divide(left, turn, 1, split[1][at : at + size])
            _divide(ids, first, 0, split[2][at : at + size])
        arrays, size = split, size // 2
    colours = np.empty(n, np.int32)
    colours[arrays[2]] = graph.left
    return colours, time.perf_counter() - begin


def by_rustworkx(graph: Graph) -> tuple[Ends, float]:
    """Theirs; only the colouring is timed."""
    edges = zip(graph.left.tolist(), (graph.right + graph.g).tolist(), strict=True)
    theirs = rx.PyGraph(multigraph=True)
    theirs.add_nodes_from(range(2 * graph.g))
    theirs.add_edges_from_no_data(list(edges))
    begin = time.perf_counter()
    found = rx.graph_bipartite_edge_color(theirs)
    seconds = time.perf_counter() - begin
    n = len(graph.left)
    return np.fromiter((found[e] for e in range(n)), np.int32, n), seconds


def by_networkx(graph: Graph) -> tuple[Ends, float]:
    """The line graph, coloured greedily."""
    edges = zip(graph.left.tolist(), (graph.right + graph.g).tolist(), strict=True)
    theirs = nx.MultiGraph((a, b, e) for e, (a, b) in enumerate(edges))
    begin = time.perf_counter()
    found = nx.coloring.greedy_color(nx.line_graph(theirs))
    seconds = time.perf_counter() - begin
    by_edge = {e: colour for (*_, e), colour in found.items()}
    return np.array([by_edge[e] for e in range(len(by_edge))], dtype=np.int32), seconds


def require_proper(name: str, graph: Graph, colours: Ends) -> int:
    """How many colours there are; ends if two edges that meet have the same, or there are many."""
    count = int(colours.max()) + 1
    for ends in (graph.left, graph.right):
        met = ends.astype(np.int64) * count + colours
        if np.bincount(met).max() > 1:
            raise SystemExit(f"{name} gives one colour to two edges that meet.")
    if count > graph.g and name != "networkx":
        raise SystemExit(f"{name} takes {count} colours where {graph.g} are enough.")
    return count


def time_one(name: str, colour: Colour, graph: Graph) -> tuple[float, int]:
    """The least seconds of a few runs, the first one checked, and the colours."""
    colours, seconds = colour(graph)
    count = require_proper(name, graph, colours)
    spent = seconds
    while spent < 2.0:
        again = colour(graph)[1]
        seconds, spent = min(seconds, again), spent + again
    return seconds, count


def time_all(sizes: list[int], console: Console) -> list[dict[str, Any]]:
    """A row for every size: seconds of each, and ratios."""
    others: dict[str, Colour] = {
        "plain": by_plain_splits, "rustworkx": by_rustworkx, "networkx": by_networkx,
    }  # fmt: skip
    by_popsnet(Graph.of(8)), by_plain_splits(Graph.of(8))  # compiles
    rows = []
    for exponent in sizes:
        graph = Graph.of(2 ** (exponent // 2))
        row: dict[str, Any] = {"n": 2**exponent}
        with console.status(f"colouring n = 2^{exponent}"):
            row["popsnet"], _ = time_one("popsnet", by_popsnet, graph)
            row["ns"] = row["popsnet"] / (row["n"] * exponent / 2) * 1e9
            for name, colour in list(others.items()):
                row[name], row[f"{name} colours"] = time_one(name, colour, graph)
                if name != "plain" and row[name] > MOST_SECONDS[name]:
                    del others[name]
        rows.append(row)
    return rows


def table_of(rows: list[dict[str, Any]]) -> Table:
    """The rows for people."""
    table = Table(
        title="seconds to colour the packets of POPS(g, g), one thread",
        caption="ns: of popsnet, per edge and level of splitting; ×: times as long as popsnet; "
        "colours: of networkx (of the others)",
    )
    for name in ("n", "popsnet", "ns", "plain", "×", "rustworkx", "×", "networkx", "colours"):
        table.add_column(name, justify="right")
    for row in rows:
        cells = [f"2^{row['n'].bit_length() - 1}", f"{row['popsnet']:.4f}", f"{row['ns']:.1f}"]
        for name in ("plain", "rustworkx"):
            if name in row:
                cells += [f"{row[name]:.4f}", f"{row[name] / row['popsnet']:.1f}"]
        if "networkx" in row:
            least = int(row["n"] ** 0.5)
            cells += [f"{row['networkx']:.4f}", f"{row['networkx colours']} ({least})"]
        table.add_row(*cells)
    return table


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The growth curves."""
    last = rows[-1]
    sizes = np.array([row["n"] for row in rows])
    line = last["popsnet"] * sizes * np.log2(sizes) / (last["n"] * np.log2(last["n"]))
    curves = zip(("popsnet", "plain", "rustworkx", "networkx"), "os^D", strict=True)
    draw_growth(path, rows, curves, x="edges n = g²", y="seconds", guide=("n log n", line))


def main() -> None:
    """Validate, time, print, write."""
    arguments, console = read_arguments(__doc__, least=8, most=24), Console()
    sizes = [
        exponent
        for exponent in range(8, arguments.max_exponent + 1, 2)
        if BYTES_AN_EDGE * 2**exponent < available_memory()
    ]
    rows = time_all(sizes, console)
    console.print(table_of(rows))
    with write_whole(arguments.out / "colouring.json") as file:
        json.dump(rows, file, indent=2)
    draw(rows, arguments.out / "colouring.png")
    console.print(f"Written to {arguments.out}: colouring.json, colouring.png")


if __name__ == "__main__":
    main()
