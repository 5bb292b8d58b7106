"""Tests with many small cases, as loops."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

Test = Callable[..., None]


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with every case, as ``parametrize`` does, but as one test.

    A failure names its case and stops the test. Collecting and reporting thousands of cases takes
    longer than most of them run. The cases share the test's fixtures.
    """
    parameters = (names,) if isinstance(names, str) else names
    rows: list[Any] = [(case,) if isinstance(names, str) else case for case in cases]

    def loop(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            assert rows, "There are no cases."
            for row in rows:
                case = dict(zip(parameters, row, strict=True))
                try:
                    test(**fixtures, **case)
                except BaseException as error:
                    error.add_note(f"The case: {case}")
                    raise

        signature = inspect.signature(test)
        missing = set(parameters) - signature.parameters.keys()
        assert not missing, f"{test.__name__} does not take {missing}."
        fixtures = [one for name, one in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return loop


def examples(most: int) -> settings:
    """Let Hypothesis try this many examples, or fewer where everything is to be quick."""
    return settings(max_examples=most if _is_full() else min(most, settings().max_examples))


def sampled(cases: Iterable[Any], most: int) -> list[Any]:
    """Take all cases, or this many from the first to the last where everything is to be quick."""
    rows = list(cases)
    if _is_full() or len(rows) <= most:
        return rows
    return [rows[place * (len(rows) - 1) // max(most - 1, 1)] for place in range(most)]


def _is_full() -> bool:
    return settings.get_current_profile_name() == "full"


def rarely(cases: Iterable[Any]) -> list[Any]:
    """Mark cases for ``parametrize`` as long, because others show nearly the same."""
    return [pytest.param(case, marks=pytest.mark.long) for case in cases]
