"""Which engine runs what."""

from __future__ import annotations

from popsnet import Experiment
from popsnet.engines import choose_engine


def test_one_policy_chooses_the_engine() -> None:
    square, tall = Experiment(4, 4), Experiment(8, 4, variant="published")
    assert choose_engine("auto", square, runs=256).name == "slots"
    assert choose_engine("auto", square, runs=257).name == "fused"
    assert choose_engine("auto", Experiment(2048, 2048), runs=1).name == "fused"
    assert choose_engine("auto", square).name == "fused"
    assert choose_engine("auto", square, traced=True).name == "slots"
    assert choose_engine("auto", tall).name == "slots"
    assert choose_engine("auto", Experiment(4, 4, router="direct")).name == "slots"
