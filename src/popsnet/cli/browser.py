"""Pages shown in a browser, where there is a screen."""

from __future__ import annotations

from pathlib import Path

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_in_browser(page: Path) -> bool:
    """Show a page, where there is a screen; return whether a browser took it."""
    import os
    import sys
    import webbrowser

    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SCREENS):
        return False
    try:
        return webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        return False
