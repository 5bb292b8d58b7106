"""One example for every command: the last lines of its help, which a test runs."""

from __future__ import annotations

EXAMPLES = {
    "demo": "popsnet demo",
    "view": "popsnet view 4 4 --router mei-rizzi --router relay:S",
    "route": "popsnet route 8 8 --router relay --runs 20",
    "compare": "popsnet compare 8 8 --router relay --router mei-rizzi --runs 20",
    "plan": "popsnet plan 64 64",
    "schedule": "popsnet schedule 12 8 --permutation transpose --out schedule.csv",
    "check": "popsnet check run.jsonl",
    "sweep": "popsnet sweep sweep.toml --store results.sqlite",
    "results list": "popsnet results list --store results.sqlite",
    "results show": "popsnet results show EXPERIMENT --store results.sqlite",
    "results plot": "popsnet results plot --figure results.svg",
    "results export": "popsnet results export results.csv",
    "results merge": "popsnet results merge other.sqlite",
    "results rescue": "popsnet results rescue results.sqlite rescued.sqlite",
    "results verify": "popsnet results verify --shards 2",
    "paper": "popsnet paper --max-n 64 --runs 20",
    "theory": "popsnet theory 64 64",
    "exact": "popsnet exact 2 2",
    "adversary oblivious": "popsnet adversary oblivious 8 8 --paths residue",
    "adversary congestion": "popsnet adversary congestion --largest 16",
    "adversary rigid": "popsnet adversary rigid 8 8 --router batcher",
    "adversary two-hop": "popsnet adversary two-hop 16 16 --algorithm hashed",
    "adversary separation": "popsnet adversary separation --largest 16",
    "sort": "popsnet sort 12 8",
    "compute": "popsnet compute prefix-sums 8 16",
    "sorting-network": "popsnet sorting-network merge-exchange 16 --check",
    "routers": "popsnet routers",
    "doctor": "popsnet doctor",
    "cite": "popsnet cite",
}
"""By the words of the command."""
