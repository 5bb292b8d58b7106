"""Selections: some of the experiments of a store, by names and by size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from popsnet.base.errors import InputError, did_you_mean, require_one_of, wrong
from popsnet.experiment.experiment import Experiment
from popsnet.model.faults import Faults

Names: TypeAlias = str | Sequence[str]
Numbers: TypeAlias = int | str | None
"""A number, a range ``"64:1024"`` with both ends in it and either end optional, or None for all."""

VERSIONS = "newest", "all", "older"
"""Of a program with results of several versions: the last that was run, all, or the others."""

_One = TypeVar("_One", bound=Experiment)

_NAMES = ("router", "scheduler", "variant", "permutation", "arrivals", "faults")
_NUMBERS = ("n", "d", "g", "wavelengths", "fault_seed", "seed")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A choice of experiments of a store by name and by size.

    Parameters
    ----------
    router, variant, permutation : str or sequence of str
        Names, of which an experiment must have one; nothing selects all. ``"NAME:VARIANT"`` selects
        one variant of a router, ``"file.npy"`` all permutations from files of this kind.
    scheduler, arrivals : str or sequence of str
        Schedulers, such as ``"rotor"`` or ``"aloha:0.5"``, and arrivals, such as ``"bernoulli
        uniform"`` or only ``"uniform"``, of points of continuous traffic. A selection by these has
        no runs, and one by router or permutation has no points of traffic.
    faults : str or sequence of str
        Faults as texts, such as ``"random:couplers=2"``; ``"none"`` selects what has none.
    d, g, n, wavelengths, fault_seed, seed : int or str, optional
        A number, or a range such as ``"64:1024"``, ``"64:"`` or ``":1024"``. Both ends belong to
        a range.
    versions : str
        A program whose version has changed, such as an edited file, has results of several
        versions in a store. ``"newest"`` selects those of the version that was run last, ``"all"``
        those of all versions, and ``"older"`` those of all but the newest. A store applies it.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.sweeps import Selection
    >>> only = Selection(router="mei-rizzi", n="64:1024")
    >>> Experiment(8, 8) in only, Experiment(4, 4) in only
    (True, False)
    >>> Experiment(8, 8, router="relay") in Selection(router="relay:S")
    False
    """

    router: Names = ()
    variant: Names = ()
    permutation: Names = ()
    scheduler: Names = ()
    arrivals: Names = ()
    faults: Names = ()
    d: Numbers = None
    g: Numbers = None
    n: Numbers = None
    wavelengths: Numbers = None
    fault_seed: Numbers = None
    seed: Numbers = None
    versions: str = "newest"

    def __post_init__(self) -> None:
        require_one_of("versions", self.versions, VERSIONS)
        for name in _NAMES:
            if not all(isinstance(text, str) for text in self._names(name)):
                raise wrong(name, repr(getattr(self, name)))("give a name, or several.")
        texts = self._names("faults")
        faults = tuple(text if text == "none" else str(Faults.parse(text)) for text in texts)
        object.__setattr__(self, "faults", faults)
        for name in _NUMBERS:
            _range(name, getattr(self, name))

    def __contains__(self, experiment: Experiment) -> bool:
        return all(self._agrees(name, experiment) for name in (*_NAMES, *_NUMBERS))

    def _agrees(self, name: str, experiment: Experiment) -> bool:
        if name in _NUMBERS:
            least, most = _range(name, getattr(self, name))
            return bool(least <= _number(experiment, name) <= most)
        value, names = _value(experiment, name), self._names(name)
        if value is None:
            return not names
        if name in ("router", "scheduler") and f"{value}:{experiment.variant}" in names:
            return True
        if name == "arrivals" and value.partition(" ")[2] in names:
            return True
        kind, _, _ = value.partition(":")
        return not names or value in names or (kind.startswith("file.") and kind in names)

    def _names(self, name: str) -> tuple[str, ...]:
        names = getattr(self, name)
        return tuple(names) if isinstance(names, list | tuple) else (names,)

    def require_any(self, experiments: Iterable[_One], where: object) -> list[_One]:
        """Return the selected experiments.

        Raises
        ------
        InputError
            If there are experiments, and none of them is selected, or none has one of the names.
        """
        listed = list(experiments)
        single = [Selection(**{name: text}) for name in _NAMES for text in self._names(name)]
        for selection in (*single, self):
            if listed and not any(experiment in selection for experiment in listed):
                raise selection._complaint(listed, where)
        return [experiment for experiment in listed if experiment in self]

    def _complaint(self, experiments: Sequence[Experiment], where: object) -> InputError:
        """Return the error that says which value selects nothing, and what there is instead."""
        for name in (*_NAMES, *_NUMBERS):
            if any(self._agrees(name, experiment) for experiment in experiments):
                continue
            if name in _NUMBERS:
                values = [_number(experiment, name) for experiment in experiments]
                has = f"{name} is from {min(values):,} to {max(values):,} there"
                return wrong(name, getattr(self, name))(f"{where} has no such experiment; {has}.")
            known = sorted({_value(experiment, name) for experiment in experiments} - {None})
            names = self._names(name)
            refused = wrong(name, repr(names[0]))
            if not known:
                what = "points of traffic" if name in ("scheduler", "arrivals") else "runs"
                return refused(f"it selects {what}, and {where} has none for this.")
            meant = did_you_mean(names[0], known)
            return refused(f"{where} has no such experiment; it has {', '.join(known)}.{meant}")
        text = f"{where} has no experiment that meets all conditions at once; drop one of them."
        return InputError(text)


def _number(experiment: Experiment, name: str) -> int:
    number: int = getattr(experiment.network, name, None) or getattr(experiment, name)
    return number


def _value(experiment: Experiment, name: str) -> Any:
    """Return what an experiment has under a name; None if experiments of its kind have none."""
    return str(experiment.faults) or "none" if name == "faults" else experiment.identity.get(name)


def _range(name: str, value: Numbers) -> tuple[float, float]:
    """Return the ends of a range."""
    if value is None:
        return 0, float("inf")
    match = re.fullmatch(r"(\d{1,18}|(?=:\d))(:)?((?<=:)\d{1,18})?", str(value).strip())
    if match is None or isinstance(value, bool):
        raise wrong(name, value)("give a number, or a range such as 64:1024, 64: or :1024.")
    least = int(match[1] or 0)
    most = int(match[3]) if match[3] else float("inf") if match[2] else least
    if most < least:
        raise wrong(name, value)("the range ends before it begins.")
    return least, most


def older(experiments: Iterable[_One], last: Callable[[_One], str]) -> set[_One]:
    """Return the experiments of versions of programs of which another version was run later.

    ``last`` gives the time of the last result of an experiment. Two versions of the same second
    are both the newest.
    """
    programs: dict[tuple[str, str], dict[str, list[_One]]] = {}
    for experiment in experiments:
        versions = programs.setdefault((experiment.spelling.tag, experiment.program), {})
        versions.setdefault(experiment.version, []).append(experiment)
    outdated: set[_One] = set()
    for versions in programs.values():
        if len(versions) > 1:
            times = {version: max(map(last, alike)) for version, alike in versions.items()}
            newest = max(times.values())
            outdated.update(
                *(versions[version] for version, time in times.items() if time < newest)
            )
    return outdated


NEWEST, EVERYTHING = Selection(), Selection(versions="all")
