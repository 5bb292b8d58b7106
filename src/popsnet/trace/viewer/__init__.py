"""The viewer: one HTML file that plays runs slot by slot, without a server or a network."""

from popsnet.trace.viewer.page import MOST_TEXT, Page, Recording, require_showable, too_long

__all__ = ["MOST_TEXT", "Page", "Recording", "require_showable", "too_long"]
