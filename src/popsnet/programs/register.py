"""The register of programs: routers, schedulers, and every other kind that follows.

A kind of programs is a subclass of :class:`Program`. A program is registered under its kind and its
name, so a router and a scheduler may have the same name. It is found by its name, as a function, or
in a file of a user.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Required, Self, TypeAlias, TypedDict

from popsnet.base.errors import InputError, did_you_mean, require_text, unexpected, unknown, wrong
from popsnet.base.files import is_file
from popsnet.model.network import Network
from popsnet.model.slot import Slot
from popsnet.programs.files import MODULE, code_digest, execute_file, require_file, users_frames

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
    takes: ClassVar[str]
    """The parameters of its generator functions."""
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
    def functions(self) -> list[Function]:
        """The generator functions of all variants that have a name."""
        raise NotImplementedError

    def uses_wavelengths_on(self, network: Network) -> bool:
        """Return whether its default variant applies to a network and uses several wavelengths."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {self.summary}>"

    @classmethod
    def registered(cls, function: Function | None = None) -> dict[str, Self]:
        """Return the programs of this kind by name.

        Those that ship are among them, unless ``function`` is one of these, which is registered
        now.
        """
        if not _module(function).startswith(cls.ships):
            for module in cls.ships:
                import_module(module)
        return {
            name: program for (kind, name), program in list(_PROGRAMS.items()) if kind == cls.kind
        }

    @classmethod
    def every(cls) -> list[Self]:
        """Return all registered programs of this kind, ordered by name."""
        return [program for _, program in sorted(cls.registered().items())]

    @classmethod
    def get(cls, name: str, function: Function | None = None) -> Self:
        """Return the registered program of that name."""
        known = cls.registered(function)
        if name not in known:
            raise unknown(cls.kind, name, sorted(known), "; or a file name.py that registers one")
        return known[name]

    @classmethod
    def find(cls, given: object) -> Self:
        """Return the program that a name, a file, a function or a program stands for."""
        if isinstance(given, cls):
            return given
        if callable(given):
            known = (
                program
                for program in cls.every()
                if any(given is each for each in program.functions)
            )
            return next(known, None) or cls.of_function(given, *_name_and_summary(given))
        if not isinstance(given, str | Path):
            raise InputError(
                f"{cls.kind} = {given!r:.40}: give a name, a file name.py, a {cls.__name__} or a "
                "generator function."
            )
        name = str(given)
        return cls._load(Path(name)) if name.endswith(".py") else cls.get(name)

    @classmethod
    def find_variant(cls, given: object, variant: str | None) -> tuple[Self, str | None]:
        """Return what ``NAME:VARIANT`` names, or the program and the variant that are given."""
        if variant is not None:
            require_text("variant", variant)
        named = _NAMED.fullmatch(given) if isinstance(given, str) else None
        if named is None or str(given).endswith(".py") or is_file(Path(str(given))):
            return cls.find(given), variant
        if variant is not None:
            raise wrong(cls.kind, f"{given!r} and variant = {variant!r}", "variant")(
                "each names a variant; give one of them."
            )
        return cls.find(named[1]), named[2]

    @classmethod
    def _load(cls, path: Path) -> Self:
        """Run a file that registers one program, whose version gets the file's digest."""
        require_file(path, f"a {cls.kind}")
        forget_file(path)
        cls.registered()
        before = set(_PROGRAMS)

        def new() -> list[Program]:
            """Return what the file has registered: of this kind, or defined in the file."""
            others = [program for key, program in list(_PROGRAMS.items()) if key not in before]
            return [
                program for program in others if program.kind == cls.kind or program._is_of_a_file
            ]

        try:
            _, text = execute_file(path, f"a {cls.kind}")
            names = [program.name for program in new() if program.kind == cls.kind]
            if len(names) != 1:
                raise InputError(
                    f"{path} registers {len(names) or 'no'} {cls.kind}s; it must register exactly "
                    f"one, with @{cls.decorator}(...)."
                )
        except InputError:
            for program in new():
                program.remove(program.name)
            raise
        digest = code_digest(text)
        for program in new():
            replace(program, version=f"{program.version}+{digest}", file=str(path.resolve())).put()
        return cls.get(names[0])

    @property
    def _is_of_a_file(self) -> bool:
        return all(_module(function).startswith(MODULE) for function in self.functions)

    @classmethod
    def enter(
        cls, name: str, function: Function, facts: Mapping[str, Any], **further: Any
    ) -> Function:
        """Register a program whose first generator function this is, and return the function."""
        require_text("name", name)
        taken = [field.name for field in fields(cls)]
        for fact in sorted(facts.keys() - {*taken}):
            raise unexpected(cls.decorator.rpartition(".")[2], fact, taken)
        known = cls.registered(function).get(name)
        if known is not None and not _in_program(*known.functions, function):
            raise InputError(known._taken(function))
        if missing := [f"{fact}=" for fact in cls.required if fact not in facts]:
            needed = " and ".join((", ".join(f"{fact}=" for fact in cls.required)).rsplit(", ", 1))
            raise InputError(
                f"{cls.kind.capitalize()} {name!r}: {cls.decorator.rpartition('.')[2]} needs "
                f"{needed}; add {', '.join(missing)}."
            )
        cls(name=name, **facts, **further).put()
        return function

    def put(self) -> Self:
        """Register the program in place of the one of its kind and its name."""
        _PROGRAMS[self.kind, self.name] = self
        return self

    @classmethod
    def remove(cls, name: str) -> None:
        """Remove a program from the register."""
        del _PROGRAMS[cls.kind, name]

    def _taken(self, function: Function) -> str:
        """Return the message for a name that this program has, with the files of both."""
        code = getattr(function, "__code__", None)
        if not self.file or code is None:
            return f"A {self.kind} named {self.name!r} is already registered; choose another name."
        path, other = Path(code.co_filename), Path(self.file)
        if path.name != other.name:
            path, other = Path(path.name), Path(other.name)
        return f"{path} registers {self.name!r}, as {other} does; rename one of them."

    def begin(
        self, function: Function, *arguments: Any, **keywords: Any
    ) -> Generator[Any, Any, None]:
        """Call a generator function of the program, and refuse what is not one."""
        kind = self.kind.capitalize()
        try:
            parameters = signature(function)
            parameters.bind(*arguments, **keywords)
        except ValueError:  # it has no signature that can be read
            pass
        except TypeError as error:
            raise InputError(
                f"{kind} {self.name} takes {parameters}; a {self.kind} must take "
                f"({', '.join((self.takes, *keywords))})."
            ) from error
        try:
            running = function(*arguments, **keywords)
        except SystemExit as error:
            raise InputError(exit_of(self.kind, self.name, error)) from error
        if not isinstance(running, Generator):
            raise InputError(
                f"{kind} {self.name!r} returned {running!r:.40}; it must be a generator function: "
                "use yield."
            )
        return running

    def unknown_variant(self, name: str, variants: Iterable[str]) -> InputError:
        """Return the error for a variant that the program does not have."""
        return InputError(
            f"{self.kind.capitalize()} {self.name} has no variant {name!r}."
            f"{did_you_mean(name, variants)} It has: {', '.join(variants)}."
        )

    def require_one_wavelength(self, network: Network, label: str) -> None:
        """Refuse a network with several wavelengths, of which the program would use only one."""
        if network.wavelengths > 1:
            able = (
                program.name for program in self.every() if program.uses_wavelengths_on(network)
            )
            raise wrong("wavelengths", network.wavelengths)(
                f"{self.kind} {label} uses one wavelength; on {network} these {self.kind}s use "
                f"several: {', '.join(able)}."
            )

    @property
    def is_registered(self) -> bool:
        """Whether this program is registered under its name."""
        return bool(_PROGRAMS.get((self.kind, self.name)) == self)

    @property
    def is_storable(self) -> bool:
        """Whether the name and the version of the program identify what it does.

        They do not if it is not registered, or if it is defined in the main program or a notebook,
        which may define it differently the next time.
        """
        return bool(self.file) or (self.is_registered and not any(map(_in_program, self.functions)))


def exit_of(kind: str, name: str, error: SystemExit) -> str:
    """Return the message for a program whose own code tries to end the interpreter."""
    return (
        f"The code of {kind} {name} raises SystemExit: {error}. It must not end the program that "
        "runs it."
    )


_PROGRAMS: dict[tuple[str, str], Any] = {}
"""The programs by kind and name."""
_NAMED = re.compile(r"(.+?\.py|[^:]+):(.+)", re.DOTALL)


def _module(function: Function | None) -> str:
    return str(getattr(function, "__module__", ""))


def _in_program(*functions: Function) -> bool:
    """Return whether functions are of the main program or a notebook, which may define them again.

    A cell of a notebook is executed again, perhaps with another text.
    """
    return {_module(function) for function in functions} == {"__main__"}


def _name_and_summary(function: Function) -> tuple[str, str]:
    """Return the name of a function, and the first line of what it says about itself."""
    name = getattr(function, "__name__", type(function).__name__)
    return name, (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]


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
    # the cause may be a StopIteration, of which a generator says that it was raised
    frames = users_frames(error) or users_frames(error.__cause__)
    if not frames:
        return ""
    file = Path(frames[0].filename)
    loaded = (program for program in _PROGRAMS.values() if program.file == str(file.resolve()))
    who = next((f"{program.kind} {program.name!r} ({file.name})" for program in loaded), file.name)
    shown = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    if isinstance(error, AttributeError) and isinstance(error.obj, Slot):
        shown.append("Did you forget yield? Use inbox = yield Slot(…).")
    return f"{who} failed:\n{''.join(shown).rstrip()}"
