"""What ``popsnet doctor`` shows of a GPU, and what is missing to use one."""

from __future__ import annotations

import pytest

from popsnet_cuda import ENGINE, DeviceStatus, engine

H200 = DeviceStatus(True, "", "NVIDIA H200", "9.0", 150_000_000_000, "13.0", "12.9", "0.30.4")
NO_DRIVER = DeviceStatus(
    False, "there is no usable NVIDIA driver", runtime="12.9", package="0.30.4"
)
NOTHING = DeviceStatus(False, "the package numba-cuda is not installed")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (H200, {"numba-cuda": "0.30.4", "CUDA driver": "for CUDA 13.0", "CUDA toolkit": "12.9",
                "GPU": "NVIDIA H200, compute capability 9.0, 150.0 GB memory"}),
        (NO_DRIVER, {"numba-cuda": "0.30.4", "CUDA driver": "not found", "CUDA toolkit": "12.9",
                     "GPU": "there is no usable NVIDIA driver"}),
        (NOTHING, {"numba-cuda": "pip install 'popsnet-cuda[cu13]'.",
                   "CUDA driver": "not known without numba-cuda",
                   "CUDA toolkit": "not known without numba-cuda",
                   "GPU": "the package numba-cuda is not installed"}),
    ],
)  # fmt: skip
def test_the_gpu_is_described(
    monkeypatch: pytest.MonkeyPatch, status: DeviceStatus, expected: dict[str, str]
) -> None:
    monkeypatch.setattr(engine, "describe_device", lambda: status)
    rows = {row.what: row for row in ENGINE.health()}
    assert {name: row.detail for name, row in rows.items()} == expected
    assert rows["GPU"].ok == status.available
