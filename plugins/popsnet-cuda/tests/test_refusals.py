"""What the engine cuda refuses, and when auto chooses it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest
from popsnet import Experiment, InputError, distribution, route
from popsnet.engines import choose_engine

import popsnet_cuda
from popsnet_cuda import ENGINE, DeviceStatus, device, engine

H200 = DeviceStatus(True, "", "a GPU", "9.0", 150 * 10**9, "13.0", "13.0", "0.30.4")
NONE = DeviceStatus(False, "there is no GPU; buy one")


def with_device(monkeypatch: pytest.MonkeyPatch, status: DeviceStatus) -> None:
    monkeypatch.setattr(engine, "describe_device", lambda: status)


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"d": 4, "g": 4, "router": "direct"}, "it runs only mei-rizzi"),
        ({"d": 8, "g": 4}, "it runs only mei-rizzi (published, idealized)"),
        ({"d": 8, "g": 4, "variant": "published"}, "only for d = g"),
        (
            {"d": 8, "g": 4, "router": "relay", "variant": "P1"},
            "it runs relay for d = g only, and d = 8, g = 4",
        ),
        ({"d": 8, "g": 8, "router": "relay", "variant": "S T3"}, "only, and the schedule has T3"),
        ({"d": 64, "g": 64, "router": "relay"}, "only, and the schedule has Q"),
    ],
)
def test_what_has_no_kernel_is_refused(
    choices: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_device(monkeypatch, H200)
    said = ENGINE.supports(Experiment(**choices))
    assert said is not None
    assert reason in said


def test_without_a_gpu_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with_device(monkeypatch, NONE)
    with pytest.raises(InputError, match="there is no GPU; buy one"):
        route(4, 4, engine="cuda")
    with pytest.raises(InputError, match="there is no GPU; buy one"):
        distribution(4, 4, runs=10, engine="cuda")


def test_a_run_that_does_not_fit_in_the_memory_of_the_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_device(monkeypatch, H200)
    largest = Experiment(2**19, 2**19, permutation="keyed")
    assert ENGINE.supports(largest) is None
    small = DeviceStatus(True, "", "a small GPU", memory=2**37 - 1)
    with_device(monkeypatch, small)
    assert "of the GPU's memory, and a small GPU has" in (ENGINE.supports(largest) or "")


def test_auto_uses_a_gpu_for_much_work_only(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = Experiment(32, 32), Experiment(2**16, 2**16, permutation="keyed")
    middle = Experiment(1024, 1024)
    for status, expected in ((NONE, "fused"), (H200, "cuda")):
        with_device(monkeypatch, status)
        assert choose_engine("auto", small, runs=2**22).name == expected
        assert choose_engine("auto", large, runs=1, fitting=False).name == expected
        assert choose_engine("auto", small, runs=2**21).name == "fused"
        assert choose_engine("auto", middle, runs=2**13).name == "fused"
        assert choose_engine("auto", small).name == "fused"
        assert choose_engine("auto", Experiment(64, 16), runs=2**23).name == "fused"
    monkeypatch.setattr(engine, "is_simulated", lambda: True)
    assert choose_engine("auto", small, runs=2**22).name == "fused"


def test_nothing_of_cuda_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, popsnet; popsnet.route(4, 4); popsnet.route(4, 4, engine='fused');"
        "from popsnet.engines.plugins import usable; assert 'cuda' in usable();"
        "print([m for m in sys.modules if m.split('.')[0] in ('cuda', 'numba_cuda') "
        "or m.startswith('numba.cuda.cudadrv')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_status_of_the_device_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    status = device.describe_device()
    assert status.available == (status.reason == "")
    assert status is popsnet_cuda.describe_device()

    def none(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(device, "version", none)
    device.describe_device.cache_clear()
    assert "pip install 'popsnet-cuda[cu13]'" in device.describe_device().reason
    monkeypatch.undo()
    monkeypatch.setattr(device, "_describe", lambda package: 1 / 0)
    device.describe_device.cache_clear()
    assert "division by zero" in device.describe_device().reason
    device.describe_device.cache_clear()
