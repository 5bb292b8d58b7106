"""What a soak has done so far: kept in a file, from which it goes on."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.files import write_whole
from tests.soak.checks import IDEALIZED, LOSSY, SAFE, Counts, Row

BLOCK = 16
"""Cases that a worker does at a time."""

FORMAT = 1
COUNTS = (
    "cases", "runs", "packets", "delivered", "lost", "capped", "slots", "messages", "collisions",
    "replayed", "compared", "simulated_as_objects", "locality_checks",
)  # fmt: skip


@dataclass
class Block:
    """What a worker reports of some cases."""

    rows: Counts = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    largest: tuple[int, int] = (1, 1)
    cpu_seconds: float = 0.0


@dataclass
class Record:
    """The sums over all cases from 0 up to a number."""

    seed: int
    code: str
    cases: int = 0
    rows: Counts = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    largest: tuple[int, int] = (1, 1)
    cpu_seconds: float = 0.0
    stages: str = ""
    """If given, all cases are schedules of relay with one of these stages."""

    def add(self, block: Block) -> None:
        """Add the next cases."""
        self.cases += BLOCK
        for row, counts in block.rows.items():
            self.rows[row] = self.rows.get(row, Counter()) + counts
        self.faults += block.faults
        self.largest = max(self.largest, block.largest, key=_size)
        self.cpu_seconds += block.cpu_seconds

    def total(self, *guarantees: str) -> Counter[str]:
        """The sums over routers with these guarantees, by default over all."""
        rows = (
            counts for row, counts in self.rows.items() if not guarantees or row[2] in guarantees
        )
        return sum(rows, Counter())

    @property
    def safe_packets(self) -> int:
        """The packets that were delivered by routers that may lose none."""
        return self.total(SAFE)["delivered"]

    def to_json(self) -> dict[str, Any]:
        """Everything, as it is written to the file."""
        return {
            "format": FORMAT,
            "code": self.code,
            "seed": self.seed,
            "stages": self.stages,
            "cases": self.cases,
            "largest_network": {"d": self.largest[0], "g": self.largest[1]},
            "safe": _plain(self.total(SAFE)),
            "lossy_by_design": _plain(self.total(LOSSY)),
            "idealized": _plain(self.total(IDEALIZED)),
            "routers": [
                {"router": row[0], "variant": row[1], "guarantee": row[2], **_plain(counts)}
                for row, counts in sorted(self.rows.items())
            ],
            "failures": self.faults,
            "cpu_seconds": round(self.cpu_seconds, 1),
        }

    def write(self, path: Path) -> None:
        """Write the file, and a page beside it for people."""
        with write_whole(path) as file:
            json.dump(self.to_json(), file, indent=1)
            file.write("\n")
        with write_whole(path.with_suffix(".md")) as file:
            file.write(self.page())

    def page(self) -> str:
        """The record for people to read."""
        safe, lossy, every = self.total(SAFE), self.total(LOSSY), self.total()
        idealized, (d, g) = self.total(IDEALIZED), self.largest
        compared = every["compared"]
        only = f", schedules of relay with {' or '.join(self.stages)}" if self.stages else ""
        lines = [
            "# Soak",
            "",
            f"The first {self.cases:,} cases of root seed {self.seed}{only}: {every['runs']:,} "
            f"runs, on up to {d * g:,} processors (POPS({d}, {g})), every message executed; "
            f"{self.cpu_seconds:,.0f} s of processor time.",
            "",
            f"- **{safe['delivered']:,} packets delivered by routers that may lose none, "
            f"{safe['lost']:,} lost**, in {safe['runs']:,} runs. {safe['capped']:,} of the runs "
            f"were stopped before they ended, with {safe['packets'] - safe['delivered']:,} packets "
            "still on their way and none lost.",
            f"- {lossy['packets']:,} packets by variants that lose packets by design, "
            f"{lossy['lost']:,} lost.",
            f"- {idealized['packets']:,} packets of idealized variants, which give statistics.",
            f"- {every['replayed']:,} packets replayed by the independent checker "
            f"({_share(every['replayed'], every['packets'])}), every message of them.",
            f"- {compared:,} packets compared with the compiled engine "
            f"({_share(compared, every['packets'])}), in every count.",
            f"- {every['simulated_as_objects']:,} packets compared with the engine of objects.",
            f"- {every['locality_checks']:,} locality checks.",
            f"- {every['slots']:,} slots, {every['messages']:,} messages, "
            f"{every['collisions']:,} collisions.",
            f"- {len(self.faults):,} cases failed.",
            "",
            "| router | variant | cases | runs | packets | lost | slots | messages | collisions |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|",
        ]  # fmt: skip
        shown = ("cases", "runs", "packets", "lost", "slots", "messages", "collisions")
        for (router, variant, guarantee), counts in sorted(self.rows.items()):
            name = variant if guarantee != LOSSY else f"{variant}, d > g"
            cells = " | ".join(f"{counts[one]:,}" for one in shown)
            lines.append(f"| {router} | {name} | {cells} |")
        lines += ["", *(f"Case {one['case']} failed: {one['error']}" for one in self.faults)]
        return "\n".join(lines).rstrip() + "\n"


def _plain(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COUNTS}


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.3g} % of all"


def _size(shape: tuple[int, int]) -> tuple[int, int]:
    return shape[0] * shape[1], shape[0]


def read_record(path: Path, seed: int, stages: str = "") -> Record:
    """The record in a file, or an empty one if there is no file."""
    if not path.exists():
        return Record(seed, code_digest(), stages=stages)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["format"] != FORMAT:
            raise KeyError("format")
        found = Record(
            kept["seed"],
            kept["code"],
            kept["cases"],
            {_row(one): Counter({name: one[name] for name in COUNTS}) for one in kept["routers"]},
            kept["failures"],
            (kept["largest_network"]["d"], kept["largest_network"]["g"]),
            kept["cpu_seconds"],
            kept.get("stages", ""),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not the record of a soak ({error!r}). {_CURE}") from error
    if found.seed != seed:
        raise InputError(f"{path} has root seed {found.seed}, not {seed}. {_CURE}")
    if found.stages != stages:
        raise InputError(f"{path} has --stages {found.stages!r}, not {stages!r}. {_CURE}")
    if found.code != code_digest():
        raise InputError(f"{path} was made by other code, whose cases may differ. {_CURE}")
    return found


_CURE = "Give --fresh to start again at case 0, or --out for another file."


def _row(kept: dict[str, Any]) -> Row:
    return kept["router"], kept["variant"], kept["guarantee"]


def code_digest() -> str:
    """A digest of the Python code of popsnet and of this folder, which together decide a case."""
    digest = blake2b(digest_size=16)
    for folder in (Path(popsnet.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
