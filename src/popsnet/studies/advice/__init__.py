"""Which router to use: expected slots, runs on the same permutations, and predictions."""

from popsnet.studies.advice.comparison import compare
from popsnet.studies.advice.prediction import predict
from popsnet.studies.advice.recommendation import recommend

__all__ = ["compare", "predict", "recommend"]
