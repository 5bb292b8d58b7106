"""Algorithms of a class from a user's own file: a few functions of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from popsnet.errors import InputError
from popsnet.routing.plugin import execute_file
from popsnet.slot import Ints

__all__ = ["called", "function_of", "kept", "load", "takes_arrays", "whole_numbers"]


def load(path: Path, what: str) -> ModuleType:
    """The module that a file is; ``what`` says what it should define, for the error's text."""
    module, _ = execute_file(path, what)
    return module


def function_of(module: ModuleType, name: str, path: Path, usage: str) -> Callable[..., Any]:
    """The function of that name, which a file must define."""
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{path} defines no function {name}; it must define {usage}.")
    return function  # type: ignore[no-any-return]


def takes_arrays(module: ModuleType) -> bool:
    """Whether the file says ``arrays = True``: its functions take arrays instead of numbers."""
    return bool(getattr(module, "arrays", False))


def called(function: Callable[..., Any], where: str, *arguments: object) -> Any:
    """What the user's function gives; whatever it raises is bad input, said with its arguments."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        shown = ", ".join(_shown(argument) for argument in arguments)
        raise InputError(f"{where}({shown}) raises {type(error).__name__}: {error}.") from error


def kept(array: Ints) -> Ints:
    """A copy that can be read only, for the user's function: ours stays what it is."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _shown(argument: object) -> str:
    if isinstance(argument, np.ndarray):
        return f"array of {len(argument)}"
    return str(argument)


def whole_numbers(values: object, where: str, length: int) -> Ints:
    """A row of that many whole numbers, or an error that says what came instead."""
    array = np.asarray(values)
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise InputError(
            f"{where} gives {values!r:.60}; it must give a row of {length} whole numbers."
        )
    return array.astype(np.int64)
