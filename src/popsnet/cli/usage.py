"""How commands read what was typed: their help, and suggestions for other names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from popsnet.base.errors import InputError, closest
from popsnet.base.spellings import new_spelling
from popsnet.cli import output

_SIZES = ("D", "G", "N")

_MEANT = {"help": "--help", "version": "--version"}
"""Words that one would try."""

_IN_THE_LIBRARY = {"router": "routers", "network": "comparators"}
"""Options that give a parameter of another name, too."""

_LIKE_NUMBERS = re.compile(r"-\d+")


class _Typeless:
    """A command or a group whose flags have no type that its help would have to name."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class Command(_Typeless, TyperCommand):
    """A command whose errors repeat what was typed, and whose help ends with its example."""

    def __init__(self, *arguments: Any, help: str | None, **more: Any) -> None:  # noqa: A002
        text, begin, example = (help or "").partition("Example: ")
        super().__init__(*arguments, **more | {"help": text.rstrip(), "epilog": begin + example})

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, with arguments as the help names them."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"^\{(.*?(\.\.\.)?)\}(?(2)(\.\.\.)?)", r"\1", piece) for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read arguments and options; a negative size is a size and not an option."""
        options = [p for p in self.params if p.param_type_name == "option" and p.name]
        flags = {str(option.name): option.opts[0] for option in options}
        others = {_IN_THE_LIBRARY[name]: flags[name] for name in flags.keys() & _IN_THE_LIBRARY}
        output.flags.set(others | flags)
        typed = self._with_sizes(ctx, args)
        try:
            return super().parse_args(ctx, list(typed))
        except typer.BadParameter as error:
            values, more, _ = self.make_parser(ctx).parse_args(args=typed)
            if more and (now := new_spelling("argument", "FILE", _words_of(ctx))):
                raise InputError(
                    f"{ctx.command_path} takes no arguments; what was FILE is now {now}: give "
                    f"--out {more[0]}."
                ) from None
            _refuse_number(error, values)
            raise
        except Exception as error:
            _refuse_option(ctx, error, typed)
            if match := re.match(r"Got unexpected extra arguments? ?\S* \((.*)\)$", str(error)):
                self._refuse_more(ctx, match[1].split())
            raise

    def _refuse_more(self, ctx: Any, more: Sequence[str]) -> NoReturn:
        """Refuse arguments after the last one, and say which ones there are."""
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        *others, last = [p.metavar or p.name for p in arguments] or ["no arguments"]
        takes = f"{', '.join(others)} and {last}" if others else last
        typed = ", ".join(map(repr, more))
        many = "is one too many" if len(more) == 1 else "are too many"
        raise InputError(f"{ctx.command_path} takes {takes}; {typed} {many}.")

    def _with_sizes(self, ctx: Any, args: Sequence[str]) -> list[str]:
        """Return the arguments with a space before negative sizes, which keeps them apart."""
        params = self.get_params(ctx)
        if not any(set(re.findall(r"\w+", param.metavar or "")) & {*_SIZES} for param in params):
            return list(args)
        flags = {name for p in params if getattr(p, "is_flag", False) for name in p.opts}
        sized = []
        for before, argument in pairwise(["", *args]):
            is_option = before.startswith("-") and before not in flags and "=" not in before
            is_size = _LIKE_NUMBERS.fullmatch(argument) and not (is_option and len(before) > 1)
            sized.append(f" {argument}" if is_size else argument)
        return sized


class Group(_Typeless, TyperGroup):
    """A group of commands that shows its help if none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options; without any arguments, show the help."""
        try:
            return super().parse_args(ctx, args or ["--help"])
        except Exception as error:
            _refuse_option(ctx, error)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or say which one may have been meant."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            self._refuse(ctx, args[0])
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: Any, name: str) -> NoReturn:
        program, known = ctx.command_path, self.list_commands(ctx)
        if re.fullmatch(r"-?\d\S*", name):
            raise InputError(f"{program} needs a command first: {', '.join(known)}.")
        words = f"{_words_of(ctx)} {name}".strip()
        meant = _MEANT.get(words) or closest(name, known)
        cure = f"Did you mean {program} {meant}?" if meant else f"Give one of: {', '.join(known)}."
        raise InputError(f"There is no command {words!r}. {cure}")


def _words_of(ctx: Any) -> str:
    """Return the words of a command, without those of the program."""
    return str(ctx.command_path).partition(" ")[2]


def _refuse_option(ctx: Any, error: Any, typed: Sequence[str] = ()) -> None:
    """Refuse an option that does not exist, if that is what is wrong."""
    if not hasattr(error, "possibilities"):
        return
    known = [name for param in ctx.command.get_params(ctx) for name in param.opts]
    where, option = ctx.command_path, error.option_name
    _, _, value = " ".join(typed).replace("=", " ").partition(f"{option} ")
    if new := new_spelling("option", option, _words_of(ctx), value.partition(" ")[0]):
        raise InputError(f"{where} has no option {option}. It is now {new}.")
    meant = closest(option, known)
    cure = f" Did you mean {meant}?" if meant else ""
    if others := [words for words, options in _options_of(ctx.find_root()) if option in options]:
        cure += f" {option} belongs to {', '.join(others)}."
    raise InputError(f"{where} has no option {option}.{cure or f' See {where} --help.'}")


def _options_of(ctx: Any, words: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the words of every command below a group, with the options of the command."""
    for name in ctx.command.list_commands(ctx):
        command = ctx.command.get_command(ctx, name)
        below = type(ctx)(command, parent=ctx, info_name=name)
        if isinstance(command, TyperGroup):
            yield from _options_of(below, f"{words}{name} ")
        else:
            yield words + name, [text for param in command.get_params(below) for text in param.opts]


def _refuse_number(error: typer.BadParameter, typed: dict[str, Any]) -> None:
    """Refuse a text for a number with the text, which the error itself does not repeat."""
    kind = re.search("integer|number", error.message)
    param = error.param
    if kind is None or param is None or not isinstance(text := typed.get(param.name or ""), str):
        return
    what = "an integer" if kind[0] == "integer" else "a number"
    name = (param.metavar or param.name) if param.param_type_name == "argument" else param.opts[0]
    cure = ""
    if re.fullmatch(r"\d+\s*[x×,*]\s*\d+", text) and name == "D":
        cure = f" Give two numbers, as in {' '.join(re.findall(r'[0-9]+', text))}."
    elif param.param_type_name == "argument" and error.ctx:
        pieces = error.ctx.command.collect_usage_pieces(error.ctx)[1:]
        cure = f" Write {' '.join([error.ctx.command_path, *pieces])}."
    equals = "" if name.startswith("-") else " ="
    raise InputError(f"{name}{equals} {text!r} is not {what}.{cure}")
