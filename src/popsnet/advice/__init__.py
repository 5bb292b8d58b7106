"""Which router to use: expected slots of all that apply, and runs on the same permutations."""

from popsnet.advice.comparison import compare
from popsnet.advice.prediction import predict
from popsnet.advice.recommendation import recommend

__all__ = ["compare", "predict", "recommend"]
