"""The exact distribution of the steps of a router on a tiny network, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.exact.steps import StepsDistribution, steps_distribution
from popsnet.network import Network, shape_of
from popsnet.permutations import find_permutation, make_permutation
from popsnet.progress import patient_progress
from popsnet.report import Column, Fact, Report, Reported, Table, facts_of

_SHORT = 80
"""Characters of a fraction that a line of text has room for."""
_MOST_BITS = 14_000
"""Of a number that Python will still write in decimal, 4300 digits."""


@dataclass(frozen=True, repr=False)
class ExactSteps(Reported):
    """An exact distribution of steps, and the permutations that it is over."""

    distribution: StepsDistribution
    permutation: str
    """Its name; ``random`` for the mean over all permutations."""
    upto: int | None = None
    """The most steps that a report lists; all that are known, if not given."""

    def report(self) -> Report:
        """Return the distribution as it is shown."""
        found = self.distribution
        facts = (
            *facts_of(found, "network", "router", "all_packets", "model", "states", "sd"),
            Fact("permutation", self.permutation),
            Fact("mean", _both(found.mean)),
            Fact("variance", _both(found.variance)),
            Fact("mean_slots", _both(found.mean_slots)),
            Fact("quantiles", {f"{float(part)}": s for part, s in found.quantiles.items()}),
        )
        over = f"all coins, for permutation {self.permutation}"
        if self.permutation == "random":
            over = "all permutations, equally likely, and all coins"
        quantiles = ", ".join(
            f"{float(100 * part):g} % within {steps}"
            for part, steps in found.quantiles.items()
            if steps is not None
        )
        title = (
            f"{found.network}: {found.router}, {found.model}\n"
            f"Exact over {over}; {found.states:,} states up to the names of groups\n\n"
            f"{f'mean {found.unit}':12} {_in_words(found.mean)}; {float(found.mean_slots):.4f} "
            f"slots\nvariance     {_in_words(found.variance)}; sd {found.sd:.6f}\n"
            f"quantiles    {quantiles}\n"
        )
        return Report(title, facts, self._listed())

    def _listed(self) -> tuple[Table | str, ...]:
        """The numbers of steps from the first that is possible."""
        found, known = self.distribution, len(self.distribution.within) - 1
        last = known if self.upto is None else min(self.upto, known)
        rows = [
            {
                "steps": steps,
                "probability": _written(found.probability(steps)),
                "decimal": float(found.probability(steps)),
                "at_most": float(found.within[steps]),
                "more": float(1 - found.within[steps]),
            }
            for steps in range(found.fewest, last + 1)
        ]
        columns = (
            Column("steps", found.unit, "integer"),
            Column("decimal", "P(exactly)", show=lambda row: f"{row['decimal']:.8f}"),
            Column("at_most", "P(at most)", show=lambda row: f"{row['at_most']:.8f}"),
            Column("more", "P(more)", show=lambda row: f"{row['more']:.3g}"),
        )
        if rows:
            return (Table("steps", "", columns, rows),)
        text = f"Nothing to list up to {last}: every run takes {found.fewest} {found.unit} or more."
        return Table("steps", "", (), rows), text


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
    if upto is not None and upto < 1:
        raise InputError(f"upto = {upto}: there would be nothing to list; give at least 1.")
    destination = _destination(network, permutation)
    with patient_progress(f"exact chain of {router} on {network}", None) as update:

        def progress(known: int) -> None:
            update(known, f"{known:,} transitions of states")

        found = steps_distribution(
            network, router, destination, all_packets=all_packets, progress=progress
        )
    return ExactSteps(found, permutation, upto)


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
