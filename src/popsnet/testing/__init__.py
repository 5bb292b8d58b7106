"""The test kit for authors of routers: the locality check."""

from popsnet.testing.locality import LocalityError, check_locality

__all__ = ["LocalityError", "check_locality"]
