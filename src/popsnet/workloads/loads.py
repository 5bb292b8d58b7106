"""Loads of traffic as a text: a range, or a list."""

from __future__ import annotations

import re

import numpy as np

from popsnet.base.errors import require_text, wrong

_RANGE = re.compile(r"([^:,]+):([^:,]+):(\d{1,4})(:log)?")


def read_loads(text: str) -> list[float]:
    """Return the loads that a text stands for, in ascending order.

    Parameters
    ----------
    text : str
        ``FROM:TO:COUNT`` for equal differences, ``FROM:TO:COUNT:log`` for equal ratios, or loads
        with commas between them.

    Returns
    -------
    list of float
        The loads, each once, rounded to six significant digits.

    Raises
    ------
    InputError
        If it is not such a text, or a load is not above 0 and at most 1.

    Examples
    --------
    >>> from popsnet.workloads.loads import read_loads
    >>> read_loads("0.1:0.5:3")
    [0.1, 0.3, 0.5]
    >>> read_loads("0.01:1:3:log")
    [0.01, 0.1, 1.0]
    """
    require_text("loads", text)
    match = _RANGE.fullmatch(text.strip())
    try:
        if match is None:
            loads = [float(part) for part in text.split(",")]
        else:
            first, last, count = float(match[1]), float(match[2]), int(match[3])
            if count < 2 or not 0 < first < last:
                raise ValueError
            spaced = np.geomspace if match[4] else np.linspace
            loads = spaced(first, last, count).tolist()
    except ValueError:
        raise wrong("loads", repr(text))(
            "give FROM:TO:COUNT with 0 < FROM < TO and at least 2 loads, FROM:TO:COUNT:log, or "
            "loads with commas between them, as in 0.1,0.2,0.5."
        ) from None
    for load in loads:
        if not 0 < load <= 1:
            raise wrong("loads", repr(text))(
                f"{load:g} is not above 0 and at most 1 packet per processor and slot."
            )
    return sorted({float(f"{load:.6g}") for load in loads})
