"""The figure of a schedule: every packet of a small one, the use of the couplers of a large one."""

from typing import Any

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from popsnet import Network, schedule
from popsnet.plots import draw_schedule
from popsnet.plots import schedule as plotted
from popsnet.plots.schedule import _shared, _use
from popsnet.programs.schedules import make_schedule
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import Paths, Schedule
from tests.each import sampled


def legend(figure: Any) -> list[str]:
    return [text.get_text() for box in figure.legends for text in box.get_texts()]


def random_demand(d: int, g: int, packets: int) -> Demand:
    ends = np.random.default_rng(3).integers(0, d * g, (packets, 2))
    return Demand(Network(d, g), ends[:, 0], ends[:, 1])


def test_small_figures_show_every_packet() -> None:
    demand = Demand.of_permutation(Network(4, 3), np.arange(12)[::-1])
    schedule = make_schedule(demand, hops=2)
    figure = draw_schedule(schedule)
    (axes,) = figure.axes
    assert sorted(int(text.get_text()) for text in axes.texts) == sorted(2 * list(range(12)))
    assert [label.get_text() for label in axes.get_yticklabels()][:4] == [
        "0→0", "0→1", "0→2", "1→0",
    ]  # fmt: skip
    assert legend(figure) == ["to a relay", "to its destination", "not in use"]


@pytest.mark.parametrize(("count", "places"), [(1, 1), (7, 3), (600, 600), (4096, 600), (601, 600)])
def test_places_are_shared_as_the_figure_says(count: int, places: int) -> None:
    assert (
        _shared(count, places).tolist() == np.bincount(np.arange(count) * places // count).tolist()
    )


@pytest.mark.parametrize(("d", "g", "packets"), [(9, 9, 300), (2, 12, 500), (1, 20, 20), (3, 9, 0)])
@pytest.mark.parametrize("fields", [600, 4])
def test_use_is_counted(
    d: int, g: int, packets: int, fields: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plotted, "_MOST_FIELDS", fields)
    schedule = make_schedule(random_demand(d, g, packets))
    (in_slots, of_couplers), slots = _use(schedule), schedule.slots
    columns, places = min(slots, fields), min(g, fields)
    by_slot, by_coupler = np.zeros(columns), np.zeros((places, places))
    room = np.zeros((places, places))
    for a in range(g):
        for b in range(g):
            room[a * places // g, b * places // g] += max(slots, 1)
    for slot in range(slots):
        for sender, listener in zip(*schedule.transmissions(slot)[:2], strict=True):
            by_slot[slot * columns // slots] += 1 / g**2
            by_coupler[sender // d * places // g, listener // d * places // g] += 1
    by_slot /= np.bincount(np.arange(slots) * columns // max(slots, 1), minlength=columns)
    assert in_slots.sum(axis=1) == pytest.approx(by_slot)
    assert of_couplers == pytest.approx(by_coupler / room)


def test_large_figures_show_what_couplers_carry() -> None:
    """Packet 1 goes straight; packet 0 goes through processor 5, which holds it for a slot."""
    demand = Demand(Network(1, 10), np.array([0, 1, 4, 3]), np.array([9, 2, 8, 6]))
    relay, first, final = np.array([[5, -1, -1, -1], [0, 0, 1, 1], [2, 0, 1, 1]], dtype=np.int32)
    schedule = Schedule.of_paths(demand, Paths(relay, first, final, 3))
    shares = _use(schedule)[0] * 100
    assert shares[:, plotted._TO_RELAY] == pytest.approx([1, 0, 0])
    assert shares[:, plotted._STRAIGHT] == pytest.approx([1, 2, 0])
    assert shares[:, plotted._FROM_RELAY] == pytest.approx([0, 0, 1])
    figure = draw_schedule(schedule)
    left, right, _ = figure.axes
    assert left.get_title() == "POPS(1, 10): 4 packets in 3 slots"
    assert right.get_title() == "use of each coupler"
    tops = [patch.get_data()[0] for patch in left.patches if isinstance(patch, StepPatch)]
    assert [list(np.asarray(top) * 100) for top in tops] == [
        pytest.approx([1, 2, 0]), pytest.approx([2, 2, 0]), pytest.approx([2, 2, 1]),
    ]  # fmt: skip
    assert legend(figure) == [
        "straight to the destination", "to a relay", "from a relay to the destination",
        "the most possible, as d < g",
    ]  # fmt: skip
    (image,) = right.images
    assert np.asarray(image.get_array())[0, 5] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("d", "g", "packets"), sampled([(2, 3, 0), (8, 8, 900), (2, 9, 0), (1, 9, 5), (1, 700, 30)], 3)
)
def test_schedules_of_any_size_can_be_drawn(d: int, g: int, packets: int) -> None:
    schedule = make_schedule(random_demand(d, g, packets))
    title = draw_schedule(schedule).axes[0].get_title()
    assert title.startswith(f"POPS({d}, {g}): {packets:,} packets in {schedule.slots:,} slot")


def test_every_wavelength_of_a_coupler_has_a_line() -> None:
    made = schedule(Network(4, 2, 2)).schedule
    figure = draw_schedule(made)
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[:3] == ["0→0 λ0", "0→0 λ1", "0→1 λ0"]
    shown = {(round(float(text.get_position()[0])), names[round(float(text.get_position()[1]))]):
             int(text.get_text()) for text in axes.texts}  # fmt: skip
    group = made.network.group
    sent = {}
    for slot in range(made.slots):
        rows = zip(*made.transmissions(slot), made.wavelengths(slot), strict=True)
        for sender, listener, packet, wave in rows:
            sent[slot + 1, f"{group(sender)}→{group(listener)} λ{wave}"] = packet
    assert shown == sent
    by_slot, by_coupler = _use(made)
    assert by_coupler.sum() * made.slots == pytest.approx(4 * by_slot.sum())
