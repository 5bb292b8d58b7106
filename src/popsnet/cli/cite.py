"""``popsnet cite``."""

from __future__ import annotations

from popsnet.cli.output import reporting
from popsnet.report import Fact, Report


@reporting
def cite() -> Report:
    """Print BibTeX entries of popsnet and of the paper whose router it executes."""
    from popsnet.citation import PAPER, SOFTWARE, bibtex

    facts = Fact("software", SOFTWARE), Fact("paper", PAPER), Fact("bibtex", bibtex())
    return Report(facts=facts, parts=(bibtex(),))
