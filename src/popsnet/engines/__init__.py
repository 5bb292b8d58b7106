"""Engines: ways to execute programs. The same seeds give the same run in all of them.

``objects``  processors and couplers as objects, for d = g; the specification
``slots``    any router on the array machine, every message of every slot
``fused``    the paper's router and relay, compiled: only what decides which packets survive

The loop that executes programs and the compiled kernels belong here. Programs do not, nor what is
made of the outcomes of runs.

Installed distributions offer others through the entry-point group ``popsnet.engines``.

Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
