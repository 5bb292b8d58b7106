"""Quantities: read, shown, and refused."""

from __future__ import annotations

from math import isclose, log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError
from popsnet.hardware import LENGTH, LOSS, POWER, RATE, TIME, Dimension, milliwatts
from tests.each import each

DIMENSIONS = [TIME, RATE, LENGTH, POWER, LOSS]


@each(
    ("dimension", "text", "value"),
    [
        (TIME, "20ns", 20e-9), (TIME, "20 ns", 20e-9), (TIME, " 5.632ns ", 5.632e-9),
        (TIME, "1e3ps", 1e-9), (TIME, "1.5us", 1.5e-6), (TIME, "1.5µs", 1.5e-6),
        (TIME, "1.5μs", 1.5e-6), (TIME, "2ms", 2e-3), (TIME, "3s", 3.0), (TIME, ".5ns", 0.5e-9),
        (RATE, "100Gbps", 1e11), (RATE, "100Gb/s", 1e11), (RATE, "0.4Tbit/s", 4e11),
        (RATE, "9953.28Mbps", 9.95328e9), (LENGTH, "10m", 10.0), (LENGTH, "30cm", 0.3),
        (LENGTH, "2km", 2000.0), (POWER, "4dBm", 4.0), (POWER, "-28dBm", -28.0),
        (POWER, "−28 dBm", -28.0), (POWER, "+4dBm", 4.0), (POWER, "1mW", 0.0),
        (POWER, "10mW", 10.0), (POWER, "1W", 30.0), (POWER, "1uW", -30.0), (POWER, "1nW", -60.0),
        (LOSS, "0.3dB", 0.3),
    ],
)  # fmt: skip
def test_a_text_is_read_as_its_value(dimension: Dimension, text: str, value: float) -> None:
    assert dimension.read("x", text) == value


@each(
    ("dimension", "text", "message"),
    [
        (TIME, "20", "x = 20: it has no unit; give a time such as 20ns (ps, ns, µs, ms, s, us, μs"),
        (TIME, "20NS", "'NS' is not a unit of a time. Did you mean 'ns'? Give a time such as 20ns"),
        (TIME, "20m", "'m' is not a unit of a time"),
        (TIME, "ns", "x = ns: this is not a quantity; give a time such as 20ns"),
        (TIME, "", "this is not a quantity"),
        (TIME, "nan ns", "this is not a quantity"),
        (TIME, "1,5ns", "this is not a quantity"),
        (TIME, "1e99ns", "it is out of range"),
        (POWER, "4", "x = 4: it has no unit; give a power such as 4dBm"),
        (POWER, "4dB", "'dB' is not a unit of a power. Did you mean 'dBm'?"),
        (POWER, "0mW", "x = 0mW: a power in watts must be above 0."),
        (POWER, "-1mW", "a power in watts must be above 0"),
        (LOSS, "3dBm", "'dBm' is not a unit of a loss. Did you mean 'dB'?"),
        (RATE, "100GB/s", "'GB/s' is not a unit of a line rate. Did you mean 'Gb/s'?"),
        (LENGTH, "10ft", "'ft' is not a unit of a length"),
    ],
)
def test_a_missing_or_wrong_unit_is_refused(dimension: Dimension, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        dimension.read("x", text)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [True, None, [1], float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="x = "):
        TIME.read("x", value)


@given(st.floats(1e-11, 1e3), st.sampled_from(DIMENSIONS))
def test_what_is_shown_with_all_digits_is_read_again(value: float, dimension: Dimension) -> None:
    value = min(max(value, 2 * dimension.limits[0]), dimension.limits[1] / 2)
    assert isclose(dimension.read("x", dimension.shown(value, 17)), value, rel_tol=1e-14)
    assert isclose(dimension.read("x", dimension.shown(value)), value, rel_tol=1e-3)


@given(st.integers(0, 10**6), st.integers(0, 9), st.sampled_from(["ps", "ns", "µs", "ms", "s"]))
def test_a_decimal_is_the_nearest_float(whole: int, tenth: int, unit: str) -> None:
    power = {"ps": -12, "ns": -9, "µs": -6, "ms": -3, "s": 0}[unit]
    assert TIME.read("x", f"{whole}.{tenth}{unit}") == float(f"{whole}.{tenth}e{power}")


@given(st.floats(-60, 40))
def test_powers_are_the_same_in_milliwatts(dbm: float) -> None:
    watts = milliwatts(dbm)
    assert isclose(10 * log10(watts), dbm, abs_tol=1e-9)
    assert isclose(POWER.read("x", f"{watts:.17f}mW"), dbm, abs_tol=1e-6)


@each(
    ("dimension", "value", "text"),
    [
        (TIME, 2e-8, "20 ns"), (TIME, 1.3e-6, "1.3 µs"), (TIME, 0.0, "0 ps"),
        (TIME, 999e-12, "999 ps"), (TIME, 1e-9, "1 ns"), (RATE, 1.8432e14, "184.3 Tbps"),
        (TIME, 7200.0, "7200 s"), (LENGTH, 10.0, "10 m"), (POWER, -28.0, "-28 dBm"),
        (LOSS, 0.25, "0.25 dB"), (TIME, 123456.0, "123,456 s"),
    ],
)  # fmt: skip
def test_a_value_is_shown_with_the_unit_that_fits(
    dimension: Dimension, value: float, text: str
) -> None:
    assert dimension.shown(value) == text


@each(
    ("dimension", "text"),
    [
        (TIME, "1e-320s"), (TIME, "1e30s"), (LENGTH, "1e30km"), (RATE, "0.001bps"),
        (POWER, "4000dBm"), (POWER, "-101dBm"), (POWER, "1e-400W"), (POWER, "1e-25W"),
        (POWER, "1e300W"), (LOSS, "1001dB"),
    ],
)  # fmt: skip
def test_what_no_network_has_is_out_of_range(dimension: Dimension, text: str) -> None:
    with pytest.raises(InputError, match="out of range"):
        dimension.read("x", text)
