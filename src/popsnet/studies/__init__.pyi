from . import adversaries as adversaries
