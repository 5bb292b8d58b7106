"""Values are sorted on the machine."""

from __future__ import annotations

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network


def test_values_are_sorted() -> None:
    net = Network(4, 4)
    values = np.random.default_rng(0).normal(size=16)
    done = popsnet.sort(net, values)
    assert done.values.tolist() == sorted(values.tolist())
    assert done.in_order
    assert 0 < done.slots <= done.most_slots
    for wrong, complaint in (
        ([1, 2], r"values has shape \(2,\)"),
        (["a"] * 16, "type"),
        ([float("nan")] * 16, "nan"),
    ):
        with pytest.raises(InputError, match=complaint):
            popsnet.sort(net, wrong)
