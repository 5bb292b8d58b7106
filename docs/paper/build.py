"""Builds the preprint: runs its experiments, draws its figures, compiles it.

``python docs/paper/build.py`` keeps what ``results/preprint`` has; ``--again`` runs the
experiments again. Figures and the PDF are written to ``build/preprint``.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "docs" / "examples"
BUILD = ROOT / "build" / "preprint"
RESULTS = ROOT / "results" / "preprint"
SCHEDULERS = ("relay", "aloha", "hop3", "rotor", "tdm")

EXPERIMENTS = {
    "team": 'route 64 64 --router relay --schedule "| T1 T1 T1 T1 T1 T1 T1 T31" --runs 20',
    "schedule": "schedule 64 64 --matrix {build}/next-group.csv",
    "conflict-free": "adversary conflict-free 2 3 --router {examples}/queries.py",
}
"""Commands whose JSON is kept in ``results/preprint``."""

FIGURES = {
    "schedule": "schedule 4 3 --hops 2",
    "tails": "distribution 64 64 --keep {build}/tails.json --runs {runs}",
    "growth": "results plot --store {build}/growth.sqlite",
    "conflict-free": "adversary conflict-free 64 64 --router batcher",
    "traffic": "traffic 16 16 --loads 0.01,0.02,0.04,0.08,0.15,0.25,0.4,0.6,0.8"
    + "".join(f" --scheduler {name}" for name in SCHEDULERS),
}
"""Commands that draw, without ``--figure``."""


def popsnet(command: str, **values: object) -> str:
    """Run a command in the folder of the build, and return what it prints."""
    words = shlex.split(command.format(build=BUILD, examples=EXAMPLES, **values))
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "popsnet", *words],
        cwd=BUILD, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def prepare() -> int:
    """Write the inputs of the commands, and return the runs of the tail that is drawn."""
    groups = range(64)
    rows = [",".join("320" if b == (a + 1) % 64 else "0" for b in groups) for a in groups]
    (BUILD / "next-group.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    kept = (ROOT / "results" / "tails" / "mei-rizzi-64.json").read_text(encoding="utf-8")
    (BUILD / "tails.json").write_text(kept, encoding="utf-8")
    popsnet(f"sweep {HERE / 'growth.toml'} --store {BUILD / 'growth.sqlite'}")
    runs: int = json.loads(kept)["tally"]["runs"]
    return runs


def main() -> None:
    """Build what is missing, or everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="run the experiments again")
    again = parser.parse_args().again
    try:
        import typst
    except ImportError:
        sys.exit("The preprint was not built: it needs the package typst (pip install typst).")
    BUILD.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    runs = prepare()
    for name, command in EXPERIMENTS.items():
        if again or not (RESULTS / f"{name}.json").exists():
            text = popsnet(f"{command} --json")
            (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    for name, command in FIGURES.items():
        popsnet(f"{command} --figure {BUILD / name}.pdf", runs=runs)
    typst.compile(HERE / "popsnet.typ", output=BUILD / "popsnet.pdf", root=ROOT)
    print(f"The preprint is {os.path.relpath(BUILD / 'popsnet.pdf')}.")


if __name__ == "__main__":
    main()
