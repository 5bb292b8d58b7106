"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from typer import Context
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from popsnet.cli.main import app

_INTRODUCTION = """\
# Commands

This page is made from the commands themselves; `popsnet COMMAND --help` says the same.
Every command takes `--json` and `--csv` and then prints [one JSON object](json.md), or its first
table as CSV, instead of text. Exit codes are on [a page of their own](exit-codes.md).
"""


def commands_page() -> str:
    """Return the page as Markdown."""
    root = get_command(app)
    context = Context(root, info_name="popsnet")
    assert isinstance(root, TyperGroup)
    sections = (_section(command, context) for command in _leaves(root, context))
    return "\n".join([_INTRODUCTION, *sections])


def _leaves(group: TyperGroup, context: Context) -> Iterator[tuple[str, TyperCommand]]:
    """Yield the commands with their full names, those of subgroups after one another."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert isinstance(command, TyperGroup | TyperCommand)
        if isinstance(command, TyperGroup):
            for below, leaf in _leaves(command, context):
                yield f"{name} {below}", leaf
        elif not command.hidden:
            yield name, command


def _section(named: tuple[str, TyperCommand], parent: Context) -> str:
    name, command = named
    context = Context(command, info_name=name, parent=parent)
    usage = " ".join([f"popsnet {name}", *command.collect_usage_pieces(context)])
    parts = [f"## popsnet {name}", _text(command.help), f"```text\n{usage}\n```"]
    example, *failure = (command.epilog or "").split("\n\n")
    parts += [re.sub("^Example: (.*)$", r"Example: `\1`", example), *map(_text, failure)]
    parameters = (one for one in command.params if isinstance(one, TyperArgument | TyperOption))
    if rows := [_row(one, context) for one in parameters if one.name not in ("json", "csv")]:
        parts.append("\n".join(["| argument or option | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _row(parameter: TyperArgument | TyperOption, context: Context) -> str:
    metavar = parameter.metavar or (parameter.name or "").replace("_", "-").upper()
    metavar = metavar.replace("|", r"\|")
    names, value = f"`{metavar}`", ""
    if isinstance(parameter, TyperOption):
        names = ", ".join(f"`{name}`" for name in parameter.opts)
        value = "" if parameter.is_flag else f" `{metavar}`"
    default = parameter.get_default(context)
    none = default is None or default is False or default == () or callable(default)
    shown = "" if none else f" Default: `{default}`."
    return f"| {names}{value} | {_text(parameter.help)}{shown} |"


def _text(text: str | None) -> str:
    """Return a help text on one line, with what Markdown would take for a sign of its own kept."""
    return " ".join((text or "").split()).replace("|", r"\|").replace("<", "&lt;")
