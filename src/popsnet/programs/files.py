"""Files of users: they are executed, and what fails in them is said in terms of the file."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np

from popsnet.base.errors import InputError, did_you_mean, require_text
from popsnet.base.files import is_file

Algorithm = TypeVar("Algorithm")

MODULE = "popsnet_router_"
"""What the names of modules begin with that were loaded from a user's file."""


def users_frames(error: BaseException | None) -> list[traceback.FrameSummary]:
    """Return the part of a traceback that is in files of users, of no error none."""
    return [
        traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(getattr(error, "__traceback__", None))
        if str(frame.f_globals.get("__name__", "")).startswith(MODULE)
    ]


class _Loader(SourceFileLoader):
    """A loader of the present text: a cached compilation may be that of an earlier edit."""

    text = b""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file as it is now."""
        self.text = self.get_data(self.path)
        code: CodeType = self.source_to_code(self.text, self.path)
        return code


def require_file(path: Path, what: str) -> None:
    """Refuse a path without a file."""
    if not is_file(path):
        raise InputError(f"There is no file {path} to load {what} from.")


def execute_file(path: Path, what: str) -> tuple[ModuleType, bytes]:
    """Run a user's file that contains ``what``, and return the module and its text."""
    require_file(path, what)
    name = f"{MODULE}{path.stem}"
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        failure = f"{path} cannot be loaded: {type(error).__name__}: {error}."
        if isinstance(error, SyntaxError | ValueError) and _is_binary(loader.text):
            failure = f"{path} is not a text file; give a Python program."
        elif isinstance(error, SyntaxError):
            failure = f"{path}, line {error.lineno}: {error.msg}."
        raise InputError(failure) from error
    return module, loader.text


def code_digest(text: bytes) -> str:
    """Return a digest of what a Python program does, of 16 digits.

    Comments, docstrings and layout do not count, unless the program reads its docstrings. Versions
    of Python agree on it. What is not a Python program has a digest of its bytes.

    Examples
    --------
    >>> code_digest(b"x = 1") == code_digest(b"x = (1)  # one") != code_digest(b"x = 2")
    True
    """
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        text = repr(_code(ast.parse(text), b"__doc__" in text)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()


def _code(value: Any, documented: bool) -> Any:
    """Return a part of a program as tuples, without what is empty and without docstrings."""
    if isinstance(value, list):
        return [_code(each, documented) for each in value]
    if not isinstance(value, ast.AST):
        return value
    fields = {name: each for name, each in ast.iter_fields(value) if each not in (None, [])}
    if isinstance(value, ast.JoinedStr):  # Python 3.12 adds empty texts
        fields["values"] = [part for part in value.values if getattr(part, "value", 0) != ""]
    if (
        not documented
        and isinstance(value, _WITH_DOCSTRING)
        and ast.get_docstring(value) is not None
    ):
        fields["body"] = fields["body"][1:]
    return type(value).__name__, [(name, _code(each, documented)) for name, each in fields.items()]


_WITH_DOCSTRING = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def _is_binary(text: bytes) -> bool:
    try:
        return "\0" in text.decode()
    except UnicodeDecodeError:
        return not text.lstrip().startswith(b"#")  # a first line may name another encoding


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
