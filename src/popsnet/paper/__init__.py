"""The paper of Mei and Rizzi: its printed tables and figures, ours beside them, and the report.

Only what reproduces the paper belongs here. Routers and bounds of the paper are in ``programs`` and
``theory``, and nothing here is imported by them.
"""

from popsnet.paper.reproduce import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
