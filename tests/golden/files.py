"""Files that cases read: a router, a scheduler, permutations, demands, rates and packets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

ROUTER = """
import numpy as np

from popsnet import Slot, register


@register("golden-router", summary="one packet per slot, to all groups", slots="n", buffers=2)
def golden(network, destination, coins, memory):
    for i in range(network.n):
        sender = np.array([i])
        listened = np.full(network.n, network.group(i))
        inbox = yield Slot.broadcast(sender, network.g, listened)
        memory.drop(sender, sender)
        mine = inbox.destinations == inbox.receivers
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])
"""

SCHEDULER = """
import numpy as np

from popsnet import Slot
from popsnet.traffic import Queues, register_scheduler


@register_scheduler("golden-scheduler", summary="one processor per slot, to all groups")
def golden(network, public, coins, memory):
    queues, turn = Queues(), 0
    while True:
        arrived = yield
        queues.push(arrived.processors, 0 * arrived.packets, arrived.packets)
        sender = np.array([turn])
        packets = queues.heads(sender, 0 * sender)
        sender, packets = sender[packets >= 0], packets[packets >= 0]
        listened = np.full(network.n, network.group(turn))
        inbox = yield Slot.broadcast(sender, network.g, listened, packets=packets)
        memory.drop(sender, queues.pop(sender, 0 * sender))
        mine = inbox.destinations == inbox.receivers
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])
        turn = (turn + 1) % network.n
"""

SWEEP = """
runs = 20
seed = 3
[[grid]]
d = [2, 4]
g = [2, 4]
routers = ["mei-rizzi", "direct", "relay"]
permutations = ["random", "identity"]
skip_inapplicable = true
label = "small"

[[grid]]
n = [16]
ratio = [1, 4]
routers = "relay"
variants = ["S", "P2 P1 R1"]
runs = 30

[[traffic]]
shapes = [[2, 2], [4, 2]]
schedulers = ["tdm", "rotor", "aloha"]
loads = [0.05, 0.1]
patterns = ["uniform", "shift:1"]
slots = 300
label = "traffic"
"""

PARTS = """
runs = 50
seed = 3
[[grid]]
d = [2, 4]
g = [2, 4]
routers = ["mei-rizzi", "direct"]
permutations = ["random", "identity"]
skip_inapplicable = true

[[grid]]
d = 8
g = 8
routers = ["relay", "datta", "mei-rizzi"]
runs = 70

[[traffic]]
shapes = [[2, 2], [4, 2], [8, 4]]
schedulers = ["tdm", "aloha"]
loads = [0.05, 0.1]
slots = 300
"""

REVERSED = [7, 6, 5, 4, 3, 2, 1, 0]


def write_files(folder: Path) -> None:
    """Write the files that cases name."""
    np.save(folder / "p.npy", np.array(REVERSED))
    (folder / "p.csv").write_text("".join(f"{one}\n" for one in REVERSED))
    (folder / "p.json").write_text(json.dumps(REVERSED))
    (folder / "demand.csv").write_text("source,destination\n0,5\n0,6\n3,3\n7,1\n1,1\n2,7\n")
    (folder / "matrix.csv").write_text("0,3\n2,1\n")
    (folder / "rates.csv").write_text("0.5,1.5\n1.25,0.75\n")
    (folder / "packets.csv").write_text("slot,source,destination\n1,0,5\n1,1,5\n4,7,2\n10,4,4\n")
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "scheduled.py").write_text(SCHEDULER)
    (folder / "routed.py").write_text(ROUTER)
