"""The viewer: one HTML page that plays runs slot by slot, with nothing to install or to fetch."""

from popsnet.viewer.page import MOST_TEXT, Page, Recording, require_showable, too_long

__all__ = ["MOST_TEXT", "Page", "Recording", "require_showable", "too_long"]
