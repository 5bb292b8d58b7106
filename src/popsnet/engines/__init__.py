"""Engines: ways to execute programs. The same seeds give the same run in all of them.

``objects``  processors and couplers as objects, for d = g; the specification
``slots``    any router on the array machine, every message of every slot
``fused``    the paper's router and relay, compiled: only what decides which packets survive

The loop that executes programs and the compiled kernels belong here. Programs do not, nor what is
made of the outcomes of runs.

Installed distributions offer others through the entry-point group ``popsnet.engines``.

Names are imported when they are first used.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
