"""The ``cuda`` engine: the kernels of ``fused`` on a GPU, for very large runs and for very many.

``many`` executes a run per block of threads, all of it in shared memory, and makes histograms on
the device. ``large`` executes one run with all blocks together. Both have the same coins as the
other engines, from the same functions. ``device`` says whether there is a GPU, and what is missing.
Nothing of CUDA is imported before a session is opened or the GPU is described.
"""

from popsnet_cuda.device import DeviceStatus, describe_device
from popsnet_cuda.engine import ENGINE

__all__ = ["ENGINE", "DeviceStatus", "describe_device"]
