"""How short are schedules of traffic matrices, and how fast are they made? Prints a table.

Run it in the folder of the project: ``PYTHONPATH=. python benchmarks/schedules.py 16 64 256``. The
numbers are those of groups, of which d is a quarter, the same and four times as much. Every
schedule is executed on the machine. The bound is that of ``popsnet schedule``: it counts, and
solves the linear program if the schedule is longer and there are at most 64 groups. Seconds are
those of ``popsnet.schedule`` in a process that has compiled everything.
"""

from __future__ import annotations

import sys

from tests.programs.schedules.families import Matrix, families

import popsnet

HEAD = ("matrix", "POPS", "packets", "one hop", "two hops", "slots", "bound", "relayed", "s")


def main(sizes: list[int]) -> None:
    """Print a row for each matrix and network."""
    for counts in families(16).values():  # compiles everything
        for d in (4, 16):
            row_of("", counts, d)
    print("| " + " | ".join(HEAD) + " |")
    print("|---|---" + "|--:" * (len(HEAD) - 2) + "|")
    for g in sizes:
        for name, counts in families(g).items():
            for d in (g // 4, g, 4 * g):
                print("| " + " | ".join(row_of(name, counts, d)) + " |", flush=True)


def row_of(name: str, counts: Matrix, d: int) -> list[str]:
    """Schedule a matrix, execute the schedule, and return the cells of its row."""
    network = popsnet.Network(d, len(counts))
    made = popsnet.schedule(network, matrix=counts)
    outcome = made.execute()
    assert (outcome.delivered, outcome.collisions) == (counts.sum(), 0)
    rows, columns = (int(counts.sum(axis=axis).max()) for axis in (1, 0))
    busiest = max(rows, columns)
    one = max(int(counts.max()), -(-busiest // d))
    two = 2 * -(-busiest // min(d, network.g))
    assert made.slots <= min(one, two)
    numbers = (one, two, made.slots, made.lower_bound, made.schedule.relayed)
    return [
        name, f"({d}, {network.g})", f"{counts.sum():,}", *(f"{number:,}" for number in numbers),
        f"{made.seconds:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [16, 64])
