"""The table of spellings has every output that is called otherwise now."""

from __future__ import annotations

import json
import re
from pathlib import Path

from popsnet.base.spellings import OldSpelling
from tests.base.old_outputs import OUTPUTS
from tests.each import each
from tests.golden.outputs import OF_FILES

TESTS = Path(__file__).parents[1]

BEFORE: dict[str, list[str]] = json.loads((TESTS / "fixtures/outputs_before.json").read_text())
"""The keys and columns of every output after popsnet 0.6 and before any of them was renamed."""
NOW: dict[str, list[str]] = {
    name.removeprefix("keys: "): list(keys)
    for name, keys in json.loads((TESTS / "golden/data/commands.json").read_text()).items()
    if name.startswith("keys: ")
}


def what_made(output: str) -> str:
    """Return the command or the function whose output it is."""
    form, _, name = output.partition(" ")
    if form == "file":
        return OF_FILES[name]
    if form == "frame":
        return name.removesuffix(" with faults")
    return re.sub(r"( --\w+)+$", "", output)


def applies(renamed: OldSpelling, output: str) -> bool:
    frame = f"{what_made(output)}().to_dataframe()"
    return bool({what_made(output), frame} & {*renamed.context.split(", ")})


def now_called(path: str, renamed: OldSpelling) -> list[str]:
    """Return what a key of before is called now; empty if the row is of another one."""
    if renamed.new in NOW:
        return [path] if path in renamed.old.split(", ") else []
    old = re.escape(renamed.old).replace(r"\*", r"(\w+)")
    found = re.search(rf"(?:^|(?<=\.)){old}(?=$|\.)", path)
    if found is None:
        return []
    star = found[1] if found.groups() else ""
    new = renamed.new.replace("*", star).split(", ")
    return [path[: found.start()] + one + path[found.end() :] for one in new]


def is_explained(output: str, path: str, rows: list[OldSpelling], depth: int = 2) -> bool:
    """Whether rows lead from a key of before to one that exists."""
    if path in NOW[output]:
        return True
    for renamed in rows if depth else ():
        new = now_called(path, renamed)
        if renamed.new in NOW:
            if new and all(one in NOW[renamed.new] for one in new):
                return True
        elif new and all(is_explained(output, one, rows, depth - 1) for one in new):
            return True
    return False


@each("output", BEFORE)
def test_every_key_that_is_gone_is_in_the_table(output: str) -> None:
    rows = [renamed for renamed in OUTPUTS if applies(renamed, output)]
    lost = [path for path in BEFORE[output] if not is_explained(output, path, rows)]
    assert not lost, f"{output} has no longer {lost}; add them to OUTPUTS in old_outputs.py."


def test_every_row_is_of_an_output() -> None:
    made = {what_made(output) for output in BEFORE}
    unknown = {
        "results export --per-run",
        "results show",
        "compute move",
    }  # written to files, or too many
    for renamed in OUTPUTS:
        contexts = {one.removesuffix("().to_dataframe()") for one in renamed.context.split(", ")}
        assert contexts <= made | unknown, renamed


def test_a_list_is_never_called_runs() -> None:
    assert not [path for keys in NOW.values() for path in keys if "runs[]" in path]


def test_no_key_has_a_blank() -> None:
    assert not [path for keys in NOW.values() for path in keys if " " in path]


def test_rows_say_which_network_they_are_of() -> None:
    """Every table of an experiment has the network, the version, and the seeds."""
    for output, columns in NOW.items():
        of_one = {"slots", "slots_mean", "window_slots", "mean_slots", "probability"} & {*columns}
        if of_one and "--json" not in output and output.partition(" ")[0] not in NO_NETWORK:
            assert {"d", "g", "n", "wavelengths"} <= {*columns}, output
            assert "popsnet_version" in columns, output


NO_NETWORK = ("check", "routers", "sorting-network")
