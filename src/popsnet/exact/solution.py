"""The exact distribution of the steps of a router on a tiny network, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.exact.distribution import Distribution
from popsnet.exact.steps import ROUTERS, mei_rizzi_chain, relay_chain, solve
from popsnet.network import Network, shape_of
from popsnet.permutations import find_permutation, make_permutation
from popsnet.progress import patient_progress
from popsnet.report import Column, Fact, Report, Reported, Table

__all__ = ["ExactSteps", "exact_steps"]

_QUANTILES = tuple(Fraction(part, 1000) for part in (500, 900, 990, 999))
_SHORT = 80
"""Characters of a fraction that a line of text has room for."""
_MOST_BITS = 14_000
"""Of a number that Python will still write in decimal, 4300 digits."""


@dataclass(frozen=True, repr=False)
class ExactSteps(Reported):
    """A distribution of steps, and what it is of."""

    network: Network
    router: str
    permutation: str
    """Its name; ``random`` for the mean over all permutations."""
    all_packets: bool
    """Whether every packet takes part in every step."""
    distribution: Distribution
    upto: int | None = None
    """The most steps that a report lists; all that are known, if not given."""

    @property
    def mean_slots(self) -> Fraction:
        """Five slots per step; or one for the seed, and 2⌈d/g⌉ + 1 per stage."""
        steps = self.distribution.mean
        if self.router == "mei-rizzi":
            return 5 * steps
        return 1 + (2 * self.network.blocks + 1) * steps

    @property
    def model(self) -> str:
        """What is solved, in words."""
        d, g = self.network.d, self.network.g
        if self.router == "relay":
            turned = ", turned from the fifth stage on" if d == g else ""
            return f"schedule S with ideal bijections{turned} (the router's own are nearly uniform)"
        if d == g:
            return "as published"
        who = "every packet takes" if self.all_packets else "packets take"
        law = "" if self.all_packets else " by the paper's law"
        same = "; deferred takes as many steps" if d % g == 0 else ""
        return f"idealized, {who} part{law} (the steps of published are the same{same})"

    def report(self) -> Report:
        """Return the distribution as it is shown."""
        law, slots = self.distribution, self.mean_slots
        facts = (
            Fact("network", self.network.to_dict()),
            Fact("router", self.router),
            Fact("permutation", self.permutation),
            Fact("all_packets", self.all_packets),
            Fact("model", self.model),
            Fact("states", law.states),
            Fact("mean", _both(law.mean)),
            Fact("variance", _both(law.variance)),
            Fact("sd", law.sd),
            Fact("mean_slots", _both(slots)),
            Fact("quantiles", {f"{float(part)}": law.quantile(part) for part in _QUANTILES}),
        )
        over = f"all coins, for permutation {self.permutation}"
        if self.permutation == "random":
            over = "all permutations, equally likely, and all coins"
        title = (
            f"{self.network}: {self.router}, {self.model}\n"
            f"Exact over {over}; {law.states:,} states up to the names of groups\n"
        )
        found = [(float(100 * part), law.quantile(part)) for part in _QUANTILES]
        quantiles = ", ".join(f"{part:g} % within {s}" for part, s in found if s is not None)
        figures = (
            f"{f'mean {self._unit}':12} {_in_words(law.mean)}; {float(slots):.4f} slots\n"
            f"variance     {_in_words(law.variance)}; sd {law.sd:.6f}\n"
            f"quantiles    {quantiles}\n"
        )
        return Report(title, facts, (figures, *self._listed()))

    @property
    def _unit(self) -> str:
        return "steps" if self.router == "mei-rizzi" else "stages"

    def _listed(self) -> tuple[Table | str, ...]:
        """The numbers of steps from the first that is possible."""
        law, unit = self.distribution, self._unit
        last = len(law.within) - 1 if self.upto is None else min(self.upto, len(law.within) - 1)
        fewest = next(steps for steps, within in enumerate(law.within) if within)
        rows = [
            {
                "steps": steps,
                "probability": _written(law.probability(steps)),
                "decimal": float(law.probability(steps)),
                "at_most": float(law.within[steps]),
                "more": float(1 - law.within[steps]),
            }
            for steps in range(fewest, last + 1)
        ]
        if not rows:
            text = f"Nothing to list up to {last}: every run takes {fewest} {unit} or more."
            return Table("steps", "", (), rows), text
        columns = (
            Column("steps", unit, "integer"),
            Column("decimal", "P(exactly)", show=lambda row: f"{row['decimal']:.8f}"),
            Column("at_most", "P(at most)", show=lambda row: f"{row['at_most']:.8f}"),
            Column("more", "P(more)", show=lambda row: f"{row['more']:.3g}"),
        )
        return (Table("steps", "", columns, rows),)


def _written(number: Fraction) -> str | None:
    """As n/d, or None if it is too long to be written."""
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    return None if bits > _MOST_BITS else str(number)


def _both(number: Fraction) -> dict[str, str | float | None]:
    return {"fraction": _written(number), "decimal": float(number)}


def _in_words(number: Fraction) -> str:
    text = _written(number)
    short = text if text is not None and len(text) <= _SHORT else "a long fraction"
    return f"{short} ≈ {float(number):.6f}"


def exact_steps(
    d: Network | int,
    g: int | None = None,
    *,
    router: str = "mei-rizzi",
    permutation: str = "random",
    all_packets: bool = False,
    upto: int | None = None,
) -> ExactSteps:
    """Work out the exact distribution of the number of steps on a tiny network.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.
    router : {"mei-rizzi", "relay"}
        The router; relay with its plain sweeps.
    permutation : str
        ``random`` for the mean over all permutations; or one of them, by name or from a file.
    all_packets : bool
        For mei-rizzi and d > g: all packets take part in every step.
    upto : int, optional
        The most steps that a report lists.

    Examples
    --------
    >>> from popsnet.exact import exact_steps
    >>> exact_steps(2, 2).distribution.mean
    Fraction(136, 45)
    """
    network = Network(*shape_of(d, g))
    if router not in ROUTERS:
        known = " and ".join(ROUTERS)
        raise InputError(f"router = {router}: exact chains exist for {known}.")
    if all_packets and router == "relay":
        raise InputError(
            "all_packets = True is for mei-rizzi; in relay every packet always takes part."
        )
    if upto is not None and upto < 1:
        raise InputError(f"upto = {upto}: there would be nothing to list; give at least 1.")
    destination = _destination(network, permutation)
    with patient_progress(f"exact chain of {router} on {network}", None) as update:

        def progress(known: int) -> None:
            update(known, f"{known:,} transitions of states")

        if router == "relay":
            chain = relay_chain(network, destination, progress=progress)
        else:
            chain = mei_rizzi_chain(network, destination, everybody=all_packets, progress=progress)
        found = solve(chain)
    return ExactSteps(network, router, permutation, all_packets, found, upto)


def _destination(network: Network, permutation: str) -> list[int] | None:
    """None for the mean over all permutations."""
    find_permutation(permutation)
    if permutation == "keyed":
        raise InputError(
            "permutation = keyed is one that is drawn; give random for all, a name or a file."
        )
    if permutation == "random":
        return None
    return [int(target) for target in make_permutation(permutation, network, Coins(0))]
