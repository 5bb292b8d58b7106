"""The register of programs: routers, schedulers, and every other kind that follows.

A kind of programs is a subclass of :class:`Program`. A program is registered under its kind and its
name, so a router and a scheduler may have the same name. Programs are found by name, as functions,
and in files of users.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from hashlib import blake2b
from importlib import import_module
from inspect import signature
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Required, Self, TypeAlias, TypedDict, TypeVar

from popsnet.errors import InputError, did_you_mean, require_text
from popsnet.files import is_file
from popsnet.network import Network
from popsnet.programs.files import execute_file, require_file, users_frames
from popsnet.slot import Slot

Function: TypeAlias = Callable[..., Any]
"""The generator function of a program."""


class ProgramFacts(TypedDict, total=False):
    """What a program of any kind states about itself, as keywords where it is registered."""

    summary: Required[str]
    online: bool
    messages: str
    randomness: str
    reference: str
    version: str


@dataclass(frozen=True, repr=False)
class Program:
    """What routers and schedulers have in common. A subclass is a kind of programs."""

    kind: ClassVar[str]
    """What a program of this kind is called in messages."""
    takes: ClassVar[tuple[str, ...]]
    """The parameters of its generator functions."""
    ends: ClassVar[str]
    """How its generator functions end, or that they do not."""
    decorator: ClassVar[str]
    """The public function that registers one."""
    required: ClassVar[tuple[str, ...]]
    """The facts that every one must state."""
    ships: ClassVar[tuple[str, ...]]
    """The modules that register those that ship, when they are imported."""

    name: str
    summary: str
    _: KW_ONLY
    online: bool = True
    randomness: str = "not stated"
    """The coins it tosses; ``none`` if it tosses none."""
    reference: str = ""
    version: str = "1"
    file: str = ""

    @classmethod
    def of_function(cls, function: Function, name: str, summary: str) -> Self:
        """Return a program that is not registered, made of a generator function."""
        raise NotImplementedError

    @property
    def functions(self) -> Iterable[Function]:
        """The generator functions of all variants that have a name."""
        raise NotImplementedError

    def uses_wavelengths_on(self, network: Network) -> bool:
        """Return whether its default variant applies to a network and uses several wavelengths."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {self.summary}>"

    def begin(self, function: Function, *given: Any, **keywords: Any) -> Generator[Any, Any, None]:
        """Call a generator function of the program, and refuse it if it is none."""
        try:
            parameters = signature(function)
            parameters.bind(*given, **keywords)
        except ValueError:  # it has no signature that can be read
            pass
        except TypeError as error:
            raise InputError(
                f"{self.kind.capitalize()} {self.name} takes {parameters}; a {self.kind} must take "
                f"({', '.join((*self.takes, *keywords))})."
            ) from error
        try:
            running = function(*given, **keywords)
        except SystemExit as error:
            raise InputError(self.exit_of(error)) from error
        if not isinstance(running, Generator):
            raise InputError(
                f"{self.kind.capitalize()} {self.name!r} returned {running!r:.40}; it must be a "
                "generator function: use yield."
            )
        return running

    def exit_of(self, error: SystemExit) -> str:
        """Return the message for a program whose own code tries to end the interpreter."""
        return (
            f"The code of {self.kind} {self.name} raises SystemExit: {error}. A {self.kind} "
            f"{self.ends}."
        )

    def unknown_variant(self, name: str, variants: Iterable[str]) -> InputError:
        """Return the error for a variant that the program does not have."""
        return InputError(
            f"{self.kind.capitalize()} {self.name} has no variant {name!r}."
            f"{did_you_mean(name, variants)} It has: {', '.join(variants)}."
        )

    def require_one_wavelength(self, network: Network, label: str) -> None:
        """Refuse a network with several wavelengths, of which the program would use only one."""
        if network.wavelengths > 1:
            able = (one.name for one in programs(type(self)) if one.uses_wavelengths_on(network))
            raise InputError(
                f"wavelengths = {network.wavelengths}: {self.kind} {label} uses one wavelength; on "
                f"{network} these {self.kind}s use several: {', '.join(able)}."
            )


P = TypeVar("P", bound=Program)

_PROGRAMS: dict[tuple[str, str], Any] = {}
"""The programs by kind and name."""
_importing = RLock()
_imported: set[str] = set()
"""The kinds whose programs that ship are registered, or are being registered."""


def registered(kind: type[P], function: Function | None = None) -> dict[str, P]:
    """Return the programs of a kind by name.

    Those that ship are among them, unless ``function`` is one of these, which is registered now.
    """
    with _importing:
        if kind.kind not in _imported and not _module(function).startswith(kind.ships):
            _imported.add(kind.kind)
            for name in kind.ships:
                import_module(name)
    return {name: program for (of, name), program in _PROGRAMS.items() if of == kind.kind}


def programs(kind: type[P]) -> list[P]:
    """Return all registered programs of a kind, ordered by name."""
    return [program for _, program in sorted(registered(kind).items())]


def enter(
    kind: type[P], name: str, function: Function, facts: Mapping[str, Any], **further: Any
) -> None:
    """Register a program whose first generator function this is."""
    known = registered(kind, function).get(name)
    if known is not None and not _in_program(*known.functions, function):
        raise InputError(_taken(known, function))
    if missing := [f"{fact}=" for fact in kind.required if fact not in facts]:
        *others, last = (f"{fact}=" for fact in kind.required)
        needed = f"{', '.join(others)} and {last}" if others else last
        raise InputError(
            f"{kind.kind.capitalize()} {name!r}: {kind.decorator.rpartition('.')[2]} needs "
            f"{needed}; add {', '.join(missing)}."
        )
    put(kind(name=name, **facts, **further))


def put(program: Program) -> None:
    """Register a program in place of what has its kind and its name."""
    _PROGRAMS[program.kind, program.name] = program


def remove(kind: type[P], name: str) -> None:
    """Remove a program from the register."""
    del _PROGRAMS[kind.kind, name]


def _module(function: Function | None) -> str:
    return str(getattr(function, "__module__", ""))


def _in_program(*functions: Function) -> bool:
    """Return whether functions are of the main program or a notebook, which may define them again.

    A cell of a notebook is executed again, perhaps with another text.
    """
    return {_module(function) for function in functions} == {"__main__"}


def _taken(program: Program, function: Function) -> str:
    """Return the message for a name that another program has, with the files of both."""
    code = getattr(function, "__code__", None)
    if not program.file or code is None:
        return (
            f"A {program.kind} named {program.name!r} is already registered; choose another name."
        )
    here, there = Path(code.co_filename), Path(program.file)
    if here.name != there.name:
        here, there = Path(here.name), Path(there.name)
    return f"{here} registers {program.name!r}, as {there} does; rename one of them."


def is_registered(program: Program) -> bool:
    """Return whether this program is registered under its name."""
    return bool(_PROGRAMS.get((program.kind, program.name)) == program)


def is_storable(program: Program) -> bool:
    """Return whether the name and the version of a program identify what it does.

    They do not if it is not registered, or if it is defined in the main program or a notebook,
    which may define it differently the next time.
    """
    defined_here = any(map(_in_program, program.functions))
    return bool(program.file) or (is_registered(program) and not defined_here)


def get(kind: type[P], name: str, function: Function | None = None) -> P:
    """Return the registered program of that name."""
    known = registered(kind, function)
    if name not in known:
        raise InputError(
            f"There is no {kind.kind} {name!r}.{did_you_mean(name, known)} Give one of: "
            f"{', '.join(sorted(known))}; or a file name.py that registers one."
        )
    return known[name]


def find(kind: type[P], given: object) -> P:
    """Return the program that a name, a file, a function or a program stands for."""
    if isinstance(given, kind):
        return given
    if callable(given):
        return _of_function(kind, given)
    if not isinstance(given, str | Path):
        raise InputError(
            f"{kind.kind} = {given!r:.40}: give a name, a file name.py, a {kind.__name__} or a "
            "generator function."
        )
    name = str(given)
    return _load(kind, Path(name)) if name.endswith(".py") else get(kind, name)


_NAMED = re.compile(r"(.+?\.py|[^:]+):(.+)", re.DOTALL)


def split_variant(kind: type[P], given: Any, variant: str | None) -> tuple[Any, str | None]:
    """Return what ``NAME:VARIANT`` names, or what was given, and the variant."""
    if variant is not None:
        require_text("variant", variant)
    named = _NAMED.fullmatch(given) if isinstance(given, str) else None
    if named is None or str(given).endswith(".py") or is_file(Path(given)):
        return given, variant
    if variant is not None:
        raise InputError(
            f"{kind.kind} = {given!r} and variant = {variant!r} name two variants; give one of "
            "them."
        )
    return named[1], named[2]


def _of_function(kind: type[P], function: Function) -> P:
    """Return the program that a function was registered as, or one made of it.

    It has the name of the function, and the first line of what the function says about itself.
    """
    for known in programs(kind):
        if any(one is function for one in known.functions):
            return known
    name = getattr(function, "__name__", type(function).__name__)
    text = getattr(function, "__doc__", None) or ""
    return kind.of_function(function, name, text.strip().partition("\n")[0])


def _load(kind: type[P], path: Path) -> P:
    """Run a file that registers one program of a kind, whose version gets the file's digest."""
    what = f"a {kind.kind}"
    require_file(path, what)
    forget_file(path)
    before = set(registered(kind))
    try:
        _, text = execute_file(path, what)
        new = [program for name, program in registered(kind).items() if name not in before]
        if len(new) != 1:
            raise InputError(
                f"{path} registers {len(new) or 'no'} {kind.kind}s; it must register exactly one, "
                f"with @{kind.decorator}(...)."
            )
    except InputError:
        for name in set(registered(kind)) - before:
            remove(kind, name)
        raise
    version = f"{new[0].version}+{blake2b(text, digest_size=8).hexdigest()}"
    loaded = replace(new[0], version=version, file=str(path.resolve()))
    put(loaded)
    return loaded


def forget_file(path: Path) -> None:
    """Unregister what a file has registered."""
    for key, program in list(_PROGRAMS.items()):
        if program.file == str(path.resolve()):
            del _PROGRAMS[key]


def explain_failure(error: BaseException) -> str:
    """Return which program failed, the part of the traceback in its file, and the error.

    Returns an empty text if no part is in a user's file. The frames of popsnet and of libraries
    say nothing about a mistake in a program.
    """
    frames = users_frames(error)
    if not frames and error.__cause__ is not None:  # a StopIteration, of which a generator may say
        frames = users_frames(error.__cause__)
    if not frames:
        return ""
    file = Path(frames[0].filename)
    loaded = (one for one in _PROGRAMS.values() if one.file == str(file.resolve()))
    names = ", ".join(f"{one.kind} {one.name!r}" for one in loaded)
    shown = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    if isinstance(error, AttributeError) and isinstance(error.obj, Slot):
        shown.append("Did you forget yield? Use inbox = yield Slot(…).")
    who = f"{names} ({file.name})" if names else file.name
    return f"{who} failed:\n{''.join(shown).rstrip()}"
