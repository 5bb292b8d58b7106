"""The test kit: what a router's author runs before trusting it."""

from popsnet.testing.locality import LocalityError, check_locality

__all__ = ["LocalityError", "check_locality"]
