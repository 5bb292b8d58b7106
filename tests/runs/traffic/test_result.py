from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest

from popsnet import Network
from popsnet.runs.measures import Window, Worst, backlog_after
from popsnet.runs.traffic_result import COLUMNS, Buffers, Delay, Setting, TrafficResult
from popsnet.runs.verdict import Verdict
from tests.runs.traffic.synthetic import block_of, log_of

NETWORK = Network(2, 2)
SETTING = Setting("tdm", "one-hop", 3, 2**64 - 1, "slots", 0, {"rows": 1.0, "cuts": 0.1 + 0.2})


def a_result(slots: int = 1500, missing: int = 0) -> TrafficResult:
    """Source 0 sends to 1 in every slot, and is heard in the next; the last are not delivered."""
    block = block_of(0, slots, [(slot, 0, 1) for slot in range(slots)])
    out = [(slot + 1, slot, 0, 1) for slot in range(slots - 1 - missing)]
    window = Window(NETWORK, 0)
    log = log_of(block, out, messages=2 * len(out), collisions=len(out) // 2)
    window.add(block, log, backlog_after(0, block, log))
    window.close()
    verdict = Verdict("stable", "Nothing grew.")
    return TrafficResult.of(
        window, verdict, arrivals="all to one", load=0.25, setting=SETTING, drain=0
    )


def test_the_figures_are_those_of_the_window() -> None:
    result = a_result()
    assert result.offered == 0.25
    assert result.accepted == 1499 / 6000
    assert (result.delay.mean, result.delay.interval) == (2.0, (2.0, 2.0))
    assert (result.delay.p50, result.delay.p999, result.delay.max) == (2, 2, 2)
    assert a_result(missing=2).delay.p999 is None
    assert (result.hops, result.messages, result.collisions) == (1.0, 2.0, 749 / 1499)
    assert result.buffers == Buffers(result.buffers.own_mean, 1, 0.0, 0)
    assert (result.arrived, result.delivered, result.undelivered) == (1500, 1499, 1)
    assert result.worst == Worst("flow", 0, 1, 1500, 1499)
    assert (result.fairness, result.out_of_order) == (1.0, 0.0)
    assert result.little == pytest.approx(2.0, rel=1e-3)
    assert (result.warm_up, result.slots, result.drain) == (0, 1500, 0)


def test_the_setting_is_part_of_the_result() -> None:
    result = a_result()
    assert (result.scheduler, result.arrival_seed, result.engine) == ("tdm", 2**64 - 1, "slots")
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = result.colour


@pytest.mark.parametrize("slots", [1500, 1, 0])
def test_results_survive_json_exactly(slots: int) -> None:
    result = a_result(slots) if slots else replace(a_result(), delay=Delay(), worst=None)
    text = json.dumps(result.to_dict(), allow_nan=False)
    again = TrafficResult.from_dict(json.loads(text))
    assert again == result
    assert again.to_dict() == result.to_dict()
    assert isinstance(again.delay.interval, tuple | None)
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("kind", "stable"), [("stable", True), ("unstable", False), ("undecided", None)]
)
def test_stable_is_the_verdict(kind: str, stable: bool | None) -> None:
    assert replace(a_result(), verdict=kind).stable is stable  # type: ignore[arg-type]


def test_the_report_says_what_was_measured() -> None:
    text = str(a_result(1500, 300).report())
    for part in (
        "POPS(2, 2): 4 processors", "tdm (one-hop), engine slots, seed 3",
        "arrivals all to one, load 0.25", "0.3 (cuts)", "0.2500, 0.1998",
        "79.9% of the flow from 0 to 1", "301 packets not delivered count as longer",
        "2.00 ±0.00", "∞", "Stable: Nothing grew.",
    ):  # fmt: skip
        assert part in text
    assert "–" in str(replace(a_result(), delay=Delay(), worst=None).report())


def test_the_report_is_plain_for_programs() -> None:
    values = a_result().report().to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    (row,) = values["points"]
    assert {column.key for column in COLUMNS} <= set(a_result().row())
    assert row["delay"]["mean"] == values["delay"]["mean"] == 2.0
    assert row["delay"].items() <= values["delay"].items()


def test_delays_need_packets() -> None:
    window = Window(NETWORK, 0)
    assert Delay.of(window) == Delay()
    assert Delay().half_width is None
