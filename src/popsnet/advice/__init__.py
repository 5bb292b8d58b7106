"""Which router to use: expected slots, runs on the same permutations, and predictions."""

from popsnet.advice.comparison import compare
from popsnet.advice.prediction import predict
from popsnet.advice.recommendation import recommend

__all__ = ["compare", "predict", "recommend"]
