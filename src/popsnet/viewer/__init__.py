"""The viewer: one HTML page that plays runs slot by slot, with nothing to install or to fetch."""

from popsnet.viewer.page import MOST_GROUPS, MOST_PROCESSORS, MOST_TEXT, Page, require_showable
from popsnet.viewer.recording import Recording

__all__ = [
    "MOST_GROUPS",
    "MOST_PROCESSORS",
    "MOST_TEXT",
    "Page",
    "Recording",
    "require_showable",
]
