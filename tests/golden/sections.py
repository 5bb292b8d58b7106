"""The sections of the goldens, by the names of their files."""

from __future__ import annotations

from tests.golden.commands import commands, longer_commands
from tests.golden.experiments import experiments
from tests.golden.golden import Section
from tests.golden.programs import longer_results, results, traces
from tests.golden.stores import files_of_results, parts

SECTIONS: dict[str, Section] = {
    "experiments": experiments,
    "traces": traces,
    "results": results,
    "commands": commands,
    "parts": parts,
    "files": files_of_results,
    "longer_results": longer_results,
    "longer_commands": longer_commands,
}
LONG = ("longer_results", "longer_commands")
"""The sections that are not part of ``make test``."""
