"""Sizes that take long: the largest network of the paper, message by message."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ROUTE = """
import resource, sys
from popsnet.cli.main import main
sys.argv = ["popsnet", *sys.argv[1:]]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.long
def test_two_to_the_24_processors_fit_in_8_gb() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", ROUTE, "route", "4096", "4096", "--engine", "slots", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    (run,) = json.loads(finished.stdout)["outcomes"]
    assert (run["delivered"], run["lost"], run["capped"]) == (2**24, 0, False)
    assert run["peak_buffers"] == 3
    assert run["steps"] == 8  # in the paper 100 runs of 100 took eight steps
    kilobytes = int(finished.stderr.split()[-1])
    assert kilobytes * 1024 < 8e9
