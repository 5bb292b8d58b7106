"""The GPU of this computer, and what is missing to use it. Nothing is imported before it is asked.

The CUDA target of Numba is the package ``numba-cuda``. It needs the driver of an NVIDIA GPU, and of
CUDA's toolkit the compiler libraries NVVM, NVRTC and nvJitLink.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

OLDEST = (7, 0)
"""The oldest compute capability on which threads of a warp may wait for each other."""

INSTALL = "pip install 'popsnet-cuda[cu13]'"
_LIBRARIES = (("nvvm", "NVVM"), ("nvrtc", "NVRTC"), ("nvJitLink", "nvJitLink"))
"""The libraries that compile and link kernels, by their names in ``cuda.pathfinder``."""


@dataclass(frozen=True)
class DeviceStatus:
    """The GPU that the engine ``cuda`` would use, and whether it can.

    Parameters
    ----------
    available : bool
        Whether kernels can be compiled and run.
    reason : str
        Empty if they can. Otherwise what is missing, and the cure.
    name : str or None
        The name of the GPU.
    compute_capability : str or None
        Its compute capability, such as ``9.0``.
    memory : int or None
        Its memory in bytes.
    driver : str or None
        The newest version of CUDA that the driver supports.
    runtime : str or None
        The version of CUDA that compiles kernels.
    package : str or None
        The version of ``numba-cuda``.

    Examples
    --------
    >>> from popsnet_cuda.device import describe_device
    >>> status = describe_device()
    >>> status.available == (status.reason == "")
    True
    """

    available: bool
    reason: str
    name: str | None = None
    compute_capability: str | None = None
    memory: int | None = None
    driver: str | None = None
    runtime: str | None = None
    package: str | None = None


def is_simulated() -> bool:
    """Return whether kernels run on Numba's simulator, which is for tests."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@cache
def describe_device() -> DeviceStatus:
    """Return the GPU of this computer, or what is missing to use it.

    Returns
    -------
    DeviceStatus
        The status. It is found once per process.

    Examples
    --------
    >>> from popsnet_cuda.device import describe_device
    >>> describe_device() is describe_device()
    True
    """
    try:
        package = version("numba-cuda")
    except PackageNotFoundError:
        return DeviceStatus(False, f"the package numba-cuda is not installed ({INSTALL})")
    if is_simulated():
        return DeviceStatus(True, "", name="Numba's simulator", package=package)
    try:
        return _describe(package)
    except Exception as error:  # a broken installation can raise anything
        return DeviceStatus(
            False,
            f"numba-cuda {package} cannot be used here: {_first_line(error)} "
            f"(it fits CUDA 12 and 13; {INSTALL} installs what it needs besides the driver)",
            package=package,
        )


def _describe(package: str) -> DeviceStatus:
    driver = importlib.import_module("numba.cuda.cudadrv.driver").driver
    runtime = _runtime()
    if not driver.is_available:
        why = _first_line(driver.initialization_error or "no driver was found")
        reason = f"there is no usable NVIDIA driver ({why}); install the driver of the GPU"
        return DeviceStatus(False, reason, runtime=runtime, package=package)
    supported = ".".join(map(str, driver.get_version()))
    if driver.get_device_count() < 1:
        return DeviceStatus(
            False,
            "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES may hide it)",
            driver=supported,
            runtime=runtime,
            package=package,
        )
    device: Any = driver.get_device(0)
    capability: tuple[int, int] = tuple(device.compute_capability)[:2]
    reason = _obstacle(capability)
    return DeviceStatus(
        available=not reason,
        reason=reason,
        name=_text(device.name),
        compute_capability=".".join(map(str, capability)),
        memory=int(driver.cuDeviceTotalMem(device.id)),
        driver=supported,
        runtime=runtime,
        package=package,
    )


def _obstacle(capability: tuple[int, int]) -> str:
    """Return why kernels cannot be compiled for a GPU, or nothing."""
    if capability < OLDEST:
        return (
            f"its compute capability is {capability[0]}.{capability[1]}, and at least "
            f"{OLDEST[0]}.{OLDEST[1]} is needed"
        )
    missing = [shown for name, shown in _LIBRARIES if not _is_loaded(name)]
    if missing:
        return f"of CUDA's toolkit {', '.join(missing)} could not be loaded ({INSTALL})"
    return ""


def _is_loaded(library: str) -> bool:
    pathfinder = importlib.import_module("cuda.pathfinder")
    try:
        pathfinder.load_nvidia_dynamic_lib(library)
    except Exception:  # its exceptions differ between versions
        return False
    return True


def _runtime() -> str | None:
    """Return the version of NVRTC, None if there is none."""
    if not _is_loaded("nvrtc"):
        return None
    get_version = importlib.import_module("numba.cuda.cudadrv.runtime").get_version
    return ".".join(map(str, get_version()))


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _first_line(error: object) -> str:
    """Return the first line of a message that says something, without its last full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")
