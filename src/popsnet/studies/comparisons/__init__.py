"""Which router to use: expected slots, runs on the same permutations, and predictions."""

from popsnet.studies.comparisons.comparison import compare
from popsnet.studies.comparisons.prediction import predict
from popsnet.studies.comparisons.recommendation import recommend

__all__ = ["compare", "predict", "recommend"]
