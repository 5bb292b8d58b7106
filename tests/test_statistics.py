from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from popsnet import summarize


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=50))
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_summaries_agree_with_scipy(sample: list[int]) -> None:
    one = summarize(sample)
    assert one.mean == pytest.approx(stats.tmean(sample))
    assert one.sd == pytest.approx(stats.tstd(sample))
    assert (one.min, one.max) == (min(sample), max(sample))


def test_one_value_has_no_spread() -> None:
    assert (summarize([7]).mean, summarize([7]).sd) == (7.0, None)
