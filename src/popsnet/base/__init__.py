"""What every room uses, and what knows no networks.

Errors, compiled code, files and tables, progress, statistics and reports belong here. Nothing that
knows what a processor or a coupler is does.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
