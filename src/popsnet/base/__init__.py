"""What every room uses, and what knows no networks.

Errors, compiled code, files and tables, progress, statistics and reports belong here. Nothing that
knows what a processor or a coupler is does.
"""

from popsnet.base.errors import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
