from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from popsnet import InputError, Network


def test_sizes() -> None:
    network = Network(3, 5)
    assert (network.n, network.couplers, str(network)) == (15, 25, "POPS(3, 5)")


def test_numpy_integers_become_plain_ones() -> None:
    network = Network(np.int64(3), np.int32(5))  # type: ignore[arg-type]
    assert type(network.d) is int
    assert network == Network(3, 5)


@pytest.mark.parametrize("value", [0, -1, True, 2.0, "4", None])
@pytest.mark.parametrize("name", ["d", "g"])
def test_what_is_no_size_is_refused_by_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} = {value!r}.*>= 1"):
        Network(**{"d": 2, "g": 2} | {name: value})
