"""All commands by their words, and what their helps say at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.core import TyperGroup

from tests.conftest import COMMAND


def leaves(group: TyperGroup, above: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(Context(group)):
        command = group.commands[name]
        if isinstance(command, TyperGroup):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


assert isinstance(COMMAND, TyperGroup)
COMMANDS = dict(leaves(COMMAND))
_FAILURE = "\n\nExit code 1: "
_ENDS = {
    words: command.epilog.removeprefix("Example: ").partition(_FAILURE)
    for words, command in COMMANDS.items()
}
EXAMPLES: dict[str, str] = {words: example for words, (example, _, _) in _ENDS.items()}
FAILURES: dict[str, str] = {words: failure for words, (_, _, failure) in _ENDS.items() if failure}
"""When a command ends with exit code 1: the check that it makes, if it makes one."""
