"""The paper: its printed figures, ours beside them, and the report."""

from popsnet.paper.reproduce import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
