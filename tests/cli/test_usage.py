"""What was typed wrongly is repeated, with what may have been meant."""

from __future__ import annotations

from tests.conftest import Cli
from tests.each import each

MEANT = {
    "rout": "There is no command 'rout'. Did you mean popsnet route?",
    "Sorting_Network": "Did you mean popsnet sorting-network?",
    "adversary rigidd 4 4": "Did you mean popsnet adversary rigid?",
    "results lst": "Did you mean popsnet results list?",
    "zzz": "There is no command 'zzz'. Give one of: demo, view, route,",
    "help": "Did you mean popsnet --help?",
    "--vesion": "Did you mean --version?",
    "route 4 4 --rnus 3": "popsnet route has no option --rnus. Did you mean --runs?",
    "route 4 4 --zzz": "popsnet route has no option --zzz. See popsnet route --help.",
    "route 4 4 --router mei_rizzi": "Did you mean 'mei-rizzi'?",
    "route 4 4 --router Mei-Rizzi": "Did you mean 'mei-rizzi'?",
    "route 4 4 --variant Idealised": "Did you mean 'idealized'?",
    "route 4 4 --permutation transpos": "Did you mean 'transpose'?",
    "route 4 4 --permutation bit_reversal": "Did you mean 'bit-reversal'?",
    "route 4 4 --engine fusd": "Did you mean 'fused'?",
    "sort 4 4 --network bitonik": "Did you mean 'bitonic'?",
    "compute prefix_sums 4 4": "Did you mean 'prefix-sums'?",
    "exact 2 2 --router Relay": "Did you mean 'relay'?",
    "adversary two-hop 4 4 --algorithm hash": "Did you mean 'hashed'?",
    "route 3.5 4": "D = '3.5' is not an integer.",
    "route 8x8": "D = '8x8' is not an integer. Give two numbers, as in 8 8.",
    "route 8 1e3": "G = '1e3' is not an integer. Write popsnet route D G.",
    "compute 16 16 sum": "G = 'sum' is not an integer. Write popsnet compute WHAT D G.",
    "route 4 4 --runs many": "--runs 'many' is not an integer.",
    "sorting-network bitonic four": "N = 'four' is not an integer.",
    "route 4": "Missing argument 'G'.",
    "schedule 4 4 4": "popsnet schedule takes D and G; '4' is one too many.",
    "sweep a.toml b.toml c.toml": "takes FILE.toml; 'b.toml', 'c.toml' are too many.",
    "cite x": "popsnet cite takes no arguments; 'x' is one too many.",
    "adversary 4 4": "popsnet adversary needs a command first: oblivious, congestion, rigid,",
    "8 8": "popsnet needs a command first: demo, view,",
    "plan 4 4 --packets d.csv": "plan has no option --packets. --packets belongs to view, route,",
    "exact 4 4 --fault coupler:1-0": "no option --fault. --fault belongs to view, route, compare,",
    "results plot --slot 20ns": "results plot has no option --slot. --slot belongs to route,",
    "results plot --fault x": "Did you mean --faults? --fault belongs to view, route,",
    "route 4 4 --shards 5": "route has no option --shards. --shards belongs to results verify.",
    "view m.csv": "m.csv is a table and not a trace. If it has a schedule, give D and G before it;",
    "demo --out x.jpg": "--out x.jpg: the name must end in .html.",
    "view 4 4 -o v.jpg": "--out v.jpg: the name must end in .html.",
}


@each("typed", MEANT)
def test_what_was_meant(typed: str, cli: Cli) -> None:
    finished = cli(*typed.split())
    assert (finished.code, finished.out) == (2, "")
    assert finished.err.startswith("Error: ")
    assert MEANT[typed] in finished.err


def test_a_negative_size_gets_one_message_however_it_is_given(cli: Cli) -> None:
    said = {cli("route", *sizes).err for sizes in ((8, -8), (8, "--", -8), ("--json", 8, -8))}
    assert said == {"Error: g = -8: the number of groups must be at least 1.\n"}
    assert "d = -1: " in cli("view", -1, 8).err
    assert "--seed -1: " in cli("route", 4, 4, "--seed", -1).err


def test_the_usage_follows_what_cannot_be_understood(cli: Cli) -> None:
    assert cli("route", 4).err.splitlines()[1:] == [
        "Usage: popsnet route [OPTIONS] D G",
        "Help: popsnet route --help",
    ]
