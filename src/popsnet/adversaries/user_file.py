"""Load an algorithm from a user's file that defines a few functions of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from popsnet.errors import InputError, did_you_mean, require_text
from popsnet.routing.plugin import execute_file

Algorithm = TypeVar("Algorithm")


class UserFile:
    """A user's file that defines functions; ``what`` names its contents in error messages."""

    def __init__(self, path: str, what: str) -> None:
        self.path = Path(path)
        self._module, _ = execute_file(self.path, what)
        self.takes_arrays = bool(getattr(self._module, "arrays", False))
        """Whether the file says ``arrays = True``: its functions take arrays, not numbers."""

    def __contains__(self, name: str) -> bool:
        return getattr(self._module, name, None) is not None

    def function(self, name: str, usage: str) -> Callable[..., Any]:
        """Return the function of that name, which the file must define.

        An exception that the function raises becomes an :class:`InputError` with its arguments.
        Arrays are passed as read-only copies.
        """
        function = getattr(self._module, name, None)
        if not callable(function):
            raise InputError(f"{self.path} defines no function {name}; it must define {usage}.")

        def call(*arguments: object) -> Any:
            if self.takes_arrays:
                arguments = tuple(map(_read_only, arguments))
            try:
                return function(*arguments)
            except (Exception, SystemExit) as error:
                raise InputError(
                    f"{self.path}: {name}({', '.join(map(_shown, arguments))}) raises "
                    f"{type(error).__name__}: {error}."
                ) from error

        return call


def _read_only(argument: object) -> object:
    if isinstance(argument, np.ndarray):
        argument = argument.copy()
        argument.flags.writeable = False
    return argument


def _shown(argument: object) -> str:
    return f"array of {len(argument)}" if isinstance(argument, np.ndarray) else str(argument)


def find_algorithm(
    name: str,
    known: Mapping[str, Algorithm],
    load: Callable[[str], Algorithm],
    what: str,
    usage: str,
) -> Algorithm:
    """Return the shipped algorithm of that name, or load the file ``name.py``."""
    require_text("name", name)
    if name.endswith(".py"):
        return load(name)
    if name not in known:
        raise InputError(
            f"There is no {what} {name!r}.{did_you_mean(name, known)} Give one of "
            f"{', '.join(known)}, or a .py file that defines {usage}."
        )
    return known[name]
