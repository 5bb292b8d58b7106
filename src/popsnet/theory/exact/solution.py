"""Compute and report the exact distribution of a router's steps on a tiny network."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from popsnet.base.errors import abbreviated, wrong
from popsnet.base.progress import patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, facts_of
from popsnet.model.coins import Coins
from popsnet.model.network import Network, about, shape_of
from popsnet.theory.exact.steps import StepsDistribution, steps_distribution
from popsnet.workloads.permutations import find_permutation, make_permutation

_SHORT = 80
"""The longest fraction, in characters, that fits in a line of text."""
_MOST_BITS = 14_000
"""The largest number, in bits, that Python still converts to decimal: 4300 digits."""


@dataclass(frozen=True, repr=False)
class ExactSteps(Reported, Plotted):
    """An exact distribution of steps, with the permutation that it is for.

    Examples
    --------
    >>> from popsnet.theory.exact import exact_steps
    >>> exact_steps(2, 2, router="relay").permutation
    'random'
    """

    _draw = "draw_exact"

    distribution: StepsDistribution
    permutation: str
    """The name of the permutation; ``random`` for the mean over all permutations."""
    upto: int | None = None
    """The largest number of steps that a report lists; None for all that are known."""

    def report(self) -> Report:
        """Return moments, quantiles and probabilities as a report."""
        exact = self.distribution
        facts = (
            *facts_of(
                exact, "network", "router", "schedule", "all_packets", "model", "states", "sd"
            ),
            Fact("permutation", self.permutation),
            Fact("mean", _both(exact.mean)),
            Fact("variance", _both(exact.variance)),
            Fact("mean_slots", _both(exact.mean_slots)),
            Fact("quantiles", {f"{float(part)}": s for part, s in exact.quantiles.items()}),
        )
        over = f"all coins, for permutation {self.permutation}"
        if self.permutation == "random":
            over = "all permutations, equally likely, and all coins"
        quantiles = ", ".join(
            f"{float(100 * part):g} % within {steps}"
            for part, steps in exact.quantiles.items()
            if steps is not None
        )
        title = (
            f"{exact.network}: {exact.router}, {exact.model}\n"
            f"Exact over {over}; {exact.states:,} states up to the names of groups\n\n"
            f"mean steps   {_in_words(exact.mean)}; {float(exact.mean_slots):.4f} "
            f"slots\nvariance     {_in_words(exact.variance)}; sd {exact.sd:.6f}\n"
            f"quantiles    {quantiles}\n"
        )
        return Report(title, facts, self._listed(), about=about(exact.network))

    def _listed(self) -> tuple[Table | str, ...]:
        """Return the table of probabilities, from the smallest possible number of steps on."""
        exact, known = self.distribution, len(self.distribution.within) - 1
        last = known if self.upto is None else min(self.upto, known)
        rows = [
            {
                "steps": steps,
                "probability": _written(exact.probability(steps)),
                "decimal": float(exact.probability(steps)),
                "at_most": float(exact.within[steps]),
                "more": float(1 - exact.within[steps]),
            }
            for steps in range(exact.fewest, last + 1)
        ]
        columns = (
            Column("steps", kind="integer"),
            Column("decimal", "P(exactly)", show=lambda row: f"{row['decimal']:.8f}"),
            Column("at_most", "P(at most)", show=lambda row: f"{row['at_most']:.8f}"),
            Column("more", "P(more)", show=lambda row: f"{row['more']:.3g}"),
        )
        if rows:
            return (Table("steps", "", columns, rows),)
        fewest = f"every run takes at least {exact.fewest} steps"
        text = f"There is nothing to list up to {last}: {fewest}."
        return Table("steps", "", (), rows), text


def _written(number: Fraction) -> str | None:
    """Format as n/d, or return None if the fraction is too long."""
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
    variant: str | None = None,
    permutation: str = "random",
    all_packets: bool = False,
    upto: int | None = None,
) -> ExactSteps:
    """Compute the exact distribution of the number of steps on a tiny network.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.
    router : {"mei-rizzi", "relay"}
        The router.
    variant : str, optional
        The schedule of relay: plain sweeps S and team stages Tr, as in ``S S T2``, the last one
        repeated. By default S.
    permutation : str
        ``random`` for the mean over all permutations, or one permutation by name or from a file.
    all_packets : bool
        For mei-rizzi and d > g: let all packets take part in every step.
    upto : int, optional
        The largest number of steps that a report lists.

    Returns
    -------
    ExactSteps
        The distribution, which prints as a report.

    Raises
    ------
    InputError
        If the network is too large for an exact solution, or d < g.

    See Also
    --------
    steps_distribution : The same for a permutation given as a list.

    Examples
    --------
    >>> from popsnet.theory.exact import exact_steps
    >>> exact_steps(2, 2).distribution.mean
    Fraction(136, 45)
    """
    network = Network(*shape_of(d, g))
    if upto is not None and not (isinstance(upto, int) and upto >= 1):
        raise wrong("upto", abbreviated(upto))(
            "the report would list nothing; give an integer of at least 1."
        )
    destination = _destination(network, permutation)
    with patient_progress(f"exact chain of {router} on {network}", None) as update:
        distribution = steps_distribution(
            network,
            router,
            destination,
            all_packets=all_packets,
            schedule=variant,
            progress=lambda known: update(known, f"{known:,} transitions of states"),
        )
    return ExactSteps(distribution, permutation, upto)


def _destination(network: Network, permutation: str) -> list[int] | None:
    """Return the permutation, or None for the mean over all permutations."""
    find_permutation(permutation)
    if permutation == "keyed":
        raise wrong("permutation", "keyed")(
            "it is drawn at random, one per run. Give random for the mean over "
            "all permutations, or a single permutation by name or from a file."
        )
    if permutation == "random":
        return None
    return [int(target) for target in make_permutation(permutation, network, Coins(0))]
