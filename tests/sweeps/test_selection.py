"""Selections of experiments: names, ranges, and what is said if they select nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popsnet import Experiment, InputError
from popsnet.sweeps import Selection
from tests.each import each

SQUARE, WIDE = Experiment(4, 4), Experiment(16, 4, variant="idealized")
OTHER = Experiment(2, 8, router="direct", permutation="shift:3")
ALL = [SQUARE, WIDE, OTHER]


@each(
    ("filters", "found"),
    [
        ({}, ALL),
        ({"router": "direct"}, [OTHER]),
        ({"router": ["direct", "mei-rizzi"]}, ALL),
        ({"variant": "idealized"}, [WIDE]),
        ({"permutation": "random"}, [SQUARE, WIDE]),
        ({"permutation": "shift"}, []),
        ({"n": 16}, [SQUARE, OTHER]),
        ({"n": "16"}, [SQUARE, OTHER]),
        ({"n": "17:64"}, [WIDE]),
        ({"n": "16:64"}, ALL),
        ({"d": ":4"}, [SQUARE, OTHER]),
        ({"g": "5:"}, [OTHER]),
        ({"router": "mei-rizzi", "d": "5:"}, [WIDE]),
        ({"router": ["mei-rizzi:idealized", "direct:standard"]}, [WIDE, OTHER]),
    ],
)
def test_what_is_selected(filters: dict[str, object], found: list[Experiment]) -> None:
    only = Selection(**filters)  # type: ignore[arg-type]
    assert [one for one in ALL if one in only] == found


def test_permutations_of_files_are_selected_by_their_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.arange(16))
    one = Experiment(4, 4, permutation=tmp_path / "p.npy")
    assert one in Selection(permutation="file.npy")
    assert one in Selection(permutation=one.permutation)
    assert one not in Selection(permutation="file.csv")


@each("value", ["", ":", "x", "-1", "1:2:3", "1.5", "64:16", True])
def test_what_is_not_a_range_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=f"n = {value}: "):
        Selection(n=value)


@pytest.mark.parametrize(
    ("filters", "complaint"),
    [
        ({"router": "mei_rizzi"}, "it has direct, mei-rizzi. Did you mean 'mei-rizzi'?"),
        ({"variant": "x"}, "it has idealized, published, standard."),
        ({"n": "100:"}, "n = 100:: r has no such experiment; n is from 16 to 64 there."),
        ({"router": "direct", "d": 4}, "no experiment that meets all conditions at once"),
    ],
)
def test_a_selection_of_nothing_says_what_there_is(
    filters: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError) as error:
        Selection(**filters).require_any(ALL, "r")  # type: ignore[arg-type]
    assert complaint in str(error.value)
    assert Selection(**filters).require_any([], "r") == []  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["1" * 19, ":", "", "1::2", "4:x"])
def test_a_text_that_is_not_a_range_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="give a number, or a range"):
        Selection(n=value)


@pytest.mark.parametrize("value", [None, 5, ["direct", 5]])
def test_what_is_not_a_name_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="give a name, or several"):
        Selection(router=value)  # type: ignore[arg-type]


def test_every_name_must_select_something() -> None:
    with pytest.raises(InputError, match=r"router = 'dir': r has no such.*Did you mean 'direct'"):
        Selection(router=["mei-rizzi", "dir"]).require_any(ALL, "r")
