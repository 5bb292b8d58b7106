"""The ``objects`` engine: processors and couplers as objects, to be read beside the paper."""

from popsnet.engines.objects.simulator import ENGINE, execute

__all__ = ["ENGINE", "execute"]
