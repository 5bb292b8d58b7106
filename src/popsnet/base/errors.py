"""The exceptions that popsnet raises on purpose.

    PopsnetError
    ├── InputError              a value cannot be used (a ValueError, too); it has the cure
    │   ├── PermutationError    not a permutation of [0, n), or a file without one
    │   ├── StoreError          a file that is not a store, or one that contradicts itself
    │   └── TraceFormatError    a file that is not a readable trace
    ├── RuleViolation           a router broke a rule of the machine
    └── SizeError               there is not enough memory here

The command line turns an ``InputError`` into exit code 2 and the others into 1.

``SizeError`` is raised in advance, by an estimate. If memory runs out nevertheless, the library
lets Python's ``MemoryError`` through, and the command line ends with a message and exit code 1.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message that suggests a known name, or nothing.

    Case does not count, and neither does the choice between ``_``, ``-`` and a space.

    Parameters
    ----------
    name : str
        The name that does not exist.
    known : iterable of str
        The names that do.

    Examples
    --------
    >>> did_you_mean("Mei_Rizzi", ["mei-rizzi", "relay"])
    " Did you mean 'mei-rizzi'?"
    >>> did_you_mean("nothing like it", ["mei-rizzi", "relay"])
    ''
    """
    close = closest(name, known)
    return f" Did you mean {close!r}?" if close is not None else ""


def unknown(what: str, name: object, known: Iterable[str], more: str = "") -> InputError:
    """Return the error for a name that does not exist, with a similar one and all that do.

    Examples
    --------
    >>> str(unknown("engine", "slot", ["slots", "fused"]))
    "There is no engine 'slot'. Did you mean 'slots'? Give one of: slots, fused."
    """
    names = list(known)
    meant = did_you_mean(str(name), names)
    return InputError(
        f"There is no {what} {name!r:.60}.{meant} Give one of: {', '.join(names)}{more}."
    )


def unexpected(function: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for a keyword that a function does not take, as Python 3.13 words it.

    >>> unexpected("route", "rnus", ["runs", "seed"])
    TypeError("route() got an unexpected keyword argument 'rnus'. Did you mean 'runs'?")
    """
    meant = did_you_mean(name, known)
    text = f"{function}() got an unexpected keyword argument {name!r}"
    return TypeError(f"{text}.{meant}" if meant else text)


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error, or what caused it, is that the system gave no more memory.

    Besides ``MemoryError`` that is ENOMEM, a thread that has no stack, or a library that cannot be
    loaded.

    >>> lacks_memory(MemoryError()), lacks_memory(ImportError("No module named 'rich'"))
    (True, False)
    """
    return any(
        isinstance(exc, MemoryError)
        or (isinstance(exc, OSError) and exc.errno == errno.ENOMEM)
        or (isinstance(exc, RuntimeError) and "can't start new thread" in str(exc))
        or (isinstance(exc, ImportError | OSError) and any(sign in str(exc) for sign in _UNMAPPED))
        for exc in _with_causes(error)
    )


_UNMAPPED = (
    "failed to map segment", "cannot allocate", "Cannot allocate", "cannot map", "cannot create",
    "cannot enable executable stack", "Error importing numpy",
)  # fmt: skip
"""What a dynamic loader says if it has no memory for a library."""


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def abbreviated(value: object, most: int = 40) -> str:
    """Return the beginning of a value's text, for an error message, even if it has no text.

    >>> abbreviated("1e400ns"), abbreviated(10**5000)
    ('1e400ns', 'a value of type int')
    """
    try:
        return f"{value!s:.{most}}"
    except Exception:  # an integer of too many digits, or an object of the user's
        return f"a value of type {type(value).__name__}"


def require_text(name: str, value: object) -> None:
    """Refuse a value of a parameter that is not a text."""
    if not isinstance(value, str):
        raise wrong(name, abbreviated(value))("it must be a text; give a str.")


def require_several(name: str, value: object) -> None:
    """Refuse a value of a parameter that does not consist of several values."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise wrong(name, abbreviated(value))("give a list.")


def as_path(name: str, value: object) -> Path:
    """Return the value of a parameter as a path, and refuse what no file can be named."""
    if not isinstance(value, str | Path):
        raise wrong(name, abbreviated(value))("give the name of a file, as a str or a Path.")
    if "\0" in str(value):
        raise wrong(name, abbreviated(value))(
            "the name of a file has no null character; give another name."
        )
    return Path(value)


def how_to_install(extra: str) -> str:
    """Say how to install the libraries of an extra, from an index or from a clone."""
    return (
        f"Install popsnet with the extra {extra}: pip install 'popsnet[{extra}]', or "
        f"pip install '.[{extra}]' in a clone."
    )


def import_networkx() -> Any:
    """Return the module networkx, or say how to install it."""
    try:
        import networkx as nx
    except ImportError as error:
        raise InputError(
            f"A graph of NetworkX needs networkx ({error}). {how_to_install('networkx')}"
        ) from error
    return nx


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another one, if a slip or two lead to it.

    Two slips are allowed in names of five characters or more, one in shorter names. The beginning
    of a name is like it, and what follows a colon may be left out of the comparison.

    >>> closest("--slto", ["--json", "--slots", "--slot"]), closest("--fault", ["--out"])
    ('--slot', None)
    """
    sought = _plain(name)
    best: dict[str, float] = {}
    for candidate in known:
        plain = _plain(candidate)
        slips = min(_slips(sought, plain), _slips(sought.split(":")[0], plain.split(":")[0]) + 0.5)
        best[candidate] = min(slips, 2.5 if len(sought) > 2 and plain.startswith(sought) else 9)
    close = min(best, key=best.__getitem__, default="")
    return close if best.get(close, 9) < 3 else None


def _plain(name: str) -> str:
    return name.casefold().lstrip("-").replace("_", "-").replace(" ", "-")


def _slips(name: str, other: str) -> int:
    """Return how many characters were left out, added, replaced or exchanged; 9 if too many."""
    most = min(2, (max(len(name), len(other)) + 1) // 3)
    if abs(len(name) - len(other)) > most:
        return 9
    before, row = list[int](), list(range(len(other) + 1))
    for i, a in enumerate(name):
        before, above, row = row, before, [i + 1]
        for j, b in enumerate(other):
            row.append(min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1))
            if i and j and a == other[j - 1] and b == name[i - 1]:
                row[-1] = min(row[-1], above[j - 1] + 1)
    return row[-1] if row[-1] <= most else 9


def require_one_of(name: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value of a parameter that is not one of a few names.

    >>> require_one_of("kind", "coupler", ["couplers", "processors"])
    Traceback (most recent call last):
        ...
    popsnet.base.errors.InputError: kind = 'coupler': give one of couplers, processors. Did you \
mean 'couplers'?
    """
    names = list(known)
    if value not in names:
        meant = did_you_mean(str(value), names)
        raise wrong(name, f"{value!r:.60}")(f"give one of {', '.join(names)}.{meant}")


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package or module with a stub.

    A name that is not there is refused as Python does, which then suggests one that is.
    """
    import lazy_loader  # type: ignore[import-untyped]

    load, directory, names = lazy_loader.attach_stub(sys.modules[package].__package__, file)

    def get(name: str) -> Any:
        if name in names:
            return load(name)
        text = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[package])

    return get, directory, names


class PopsnetError(Exception):
    """Base class of all errors that popsnet raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, and what to do about it.
    parameter : str
        The parameter that the message begins with, as in ``runs = 0: …``; empty if it begins with
        none.
    others : sequence of str
        Parameters of which the message names a value elsewhere, as in ``use engine='slots'``.

    Examples
    --------
    >>> import popsnet
    >>> try:
    ...     popsnet.route(4, 4, runs=0)
    ... except popsnet.PopsnetError as error:
    ...     print(error, "The parameter is", error.parameter)
    runs = 0: it must be at least 1. The parameter is runs
    """

    def __init__(
        self, message: str = "", *, parameter: str = "", others: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.parameter, self.others = parameter, tuple(others)


class InputError(PopsnetError, ValueError):
    """A value cannot be used. The message gives the value, the rule and the cure.

    It is a ``ValueError``, so that code that knows nothing of popsnet can catch it.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.Network(0, 4)
    Traceback (most recent call last):
        ...
    popsnet.base.errors.InputError: d = 0: the number of processors per group must be at least 1.
    """


def wrong(parameter: str, value: object, *others: str) -> Callable[[str], InputError]:
    """Return a function that makes the error of a value; it takes the rule and the cure in words.

    The rule may name values of other parameters, which come last, as in ``use engine='slots'``.

    >>> wrong("runs", 0)("it must be at least 1.")
    InputError('runs = 0: it must be at least 1.')
    """

    def error(rule: str) -> InputError:
        return InputError(f"{parameter} = {value}: {rule}", parameter=parameter, others=others)

    return error


class PermutationError(InputError):
    """The destinations are not a permutation of [0, n).

    Examples
    --------
    >>> import popsnet
    >>> try:
    ...     popsnet.route(2, 2, permutation=[0, 1, 1, 2])
    ... except popsnet.PermutationError:
    ...     print("not a permutation")
    not a permutation
    """


class SizeError(PopsnetError):
    """There is not enough memory, by an estimate. The message says what needs less.

    Examples
    --------
    >>> import popsnet
    >>> try:
    ...     popsnet.route(2**15, 2**15, engine="objects")
    ... except popsnet.SizeError:
    ...     print("too large")
    too large
    """


class StoreError(InputError):
    """The file is not a usable store of results, or its results contradict each other.

    Examples
    --------
    >>> import popsnet
    >>> from pathlib import Path
    >>> _ = Path("notes.txt").write_text("not a store")
    >>> try:
    ...     popsnet.Store("notes.txt")
    ... except popsnet.StoreError:
    ...     print("not a store")
    not a store
    """


class TraceFormatError(InputError):
    """The file is not a trace that can be read.

    Examples
    --------
    >>> import popsnet
    >>> from pathlib import Path
    >>> _ = Path("notes.txt").write_text("not a trace")
    >>> try:
    ...     popsnet.check_trace("notes.txt")
    ... except popsnet.TraceFormatError:
    ...     print("not a trace")
    not a trace
    """


class Rule(StrEnum):
    """The rules of a POPS network, in the words used to report a violation.

    Examples
    --------
    >>> import popsnet
    >>> print(popsnet.Rule.ONE_MESSAGE)
    a processor sends at most one message per slot
    """

    PROCESSOR_EXISTS = "processors are numbered 0 to n - 1"
    GROUP_EXISTS = "groups are numbered 0 to g - 1"
    WAVELENGTH_EXISTS = "wavelengths are numbered 0 to W - 1"
    ONE_MESSAGE = "a processor sends at most one message per slot"
    COUPLER_SET = "a message goes to a non-empty set of couplers, each named once"
    ONE_LISTENED = "a processor listens to at most one coupler per slot"
    PACKET_EXISTS = "packets are numbered 0 to n - 1, and a packet message names its packet"
    SENDS_WHAT_IT_HOLDS = "a processor sends only packets it holds"
    KEEPS_WHAT_IT_HEARD = "a processor stores only a packet it heard in the slot just past"
    DROPS_WHAT_IT_HOLDS = "a processor drops only packets it holds, and never a delivered one"
    BUFFERS = "a processor holds no more packets than its router claims buffers"
    DELIVERS_ONCE = "a packet is delivered once, at its destination"
    DELIVERS_HOME = DELIVERS_ONCE
    BITS = "what a control message carries fits in the bits its slot has for it"
    CONFLICT_FREE = "two messages meet on a coupler in a slot declared free of conflicts"


class RuleViolation(PopsnetError):
    """A router broke a rule of the machine. This is an error in the router.

    Parameters
    ----------
    slot : int
        The slot, counting from 1.
    processor : int
        The processor that broke the rule.
    rule : Rule
        The rule.
    detail : str
        What the processor did.

    Examples
    --------
    >>> import numpy as np
    >>> import popsnet
    >>> machine = popsnet.Machine(popsnet.Network(2, 2), np.arange(4), buffers=1)
    >>> sends = popsnet.Slot.send_packets(np.array([1]), np.array([0]), packets=np.array([3]))
    >>> try:
    ...     machine.execute(sends)
    ... except popsnet.RuleViolation as broken:
    ...     print(f"processor {broken.processor}: {broken.detail}")
    processor 1: it sends packet 3, which it does not hold
    """

    def __init__(self, slot: int, processor: int, rule: Rule, detail: str) -> None:
        super().__init__(f"slot {slot}, processor {processor}: {detail} (rule: {rule})")
        self.slot, self.processor, self.rule, self.detail = slot, processor, rule, detail

    def __reduce__(self) -> tuple[type[RuleViolation], tuple[int, int, Rule, str]]:
        """Return what another process needs to make the same exception."""
        return type(self), (self.slot, self.processor, self.rule, self.detail)
