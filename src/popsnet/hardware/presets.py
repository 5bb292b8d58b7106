"""Figures of hardware that exists or was proposed, each with a source or as an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from popsnet.errors import InputError, did_you_mean, require_text
from popsnet.hardware.timing import Timing
from popsnet.hardware.units import Basis


@dataclass(frozen=True)
class LinkPreset:
    """Powers and losses of a kind of hardware.

    Parameters
    ----------
    name : str
        Its name.
    figures : mapping
        The figures by name, as texts with units.
    bases : mapping
        What each of them rests on.

    Examples
    --------
    >>> from popsnet.hardware import LINKS
    >>> LINKS["silicon"].figures["sensitivity"], LINKS["silicon"].bases["sensitivity"].kind
    ('-9.7dBm', 'source')
    """

    name: str
    figures: Mapping[str, str]
    bases: Mapping[str, Basis]


_LOSSES = {"margin": "3dB", "connectors": "2dB", "excess": "0.3dB"}
_LOSS_BASES = {
    "margin": Basis("assumption", "a customary margin for ageing, temperature and penalties"),
    "connectors": Basis("assumption", "a few connectors and splices"),
    "excess": Basis("assumption", "0.3 dB for every stage of 2 × 2 couplers"),
}
_XGS_PON = Basis(
    "source",
    "XGS-PON FGW User Manual Q_PPS_DM_018_V1.3, page 32: classes N1, N2, E1 of ITU-T G.9807.1, "
    "BER 1e-3",
    "",
)

LINKS = {
    one.name: one
    for one in (
        LinkPreset(
            "pon",
            {"transmit": "4dBm", "sensitivity": "-28dBm", **_LOSSES},
            {"transmit": _XGS_PON, "sensitivity": _XGS_PON, **_LOSS_BASES},
        ),
        LinkPreset(
            "silicon",
            {"transmit": "10dBm", "sensitivity": "-9.7dBm", **_LOSSES},
            {
                "transmit": Basis("assumption", "10 mW reach the fibre"),
                "sensitivity": Basis(
                    "source",
                    "Silicon Photonics Transmitter with SOA and Semiconductor Mode-Locked Laser, "
                    "Scientific Reports 7, 13857 (2017), figure 13: 25 Gb/s",
                    "https://pmc.ncbi.nlm.nih.gov/articles/PMC5654767/figure/Fig13",
                ),
                **_LOSS_BASES,
            },
        ),
        LinkPreset(
            "coherent",
            {"transmit": "10dBm", "sensitivity": "-29.7dBm", **_LOSSES},
            {
                "transmit": Basis("assumption", "10 mW reach the fibre"),
                "sensitivity": Basis(
                    "assumption",
                    "20 dB below silicon, after: unamplified coherent links provide over 20 dB "
                    "higher loss budget than direct detection at 400 Gb/s per fibre (Multi-Tb/s-"
                    "per-Fiber Coherent Co-Packaged Optical Interfaces for Data Center Switches)",
                    "https://www.scilit.net/publications/a6e28edc62b41ced067fa813500f57ed",
                ),
                **_LOSS_BASES,
            },
        ),
    )
}
"""Kinds of hardware for power budgets: 10 Gb/s passive optical networks, silicon, coherent."""

_PULSE = Basis(
    "source",
    "PULSE: Optical Circuit Switched Data Center Architecture Operating at Nanosecond Timescales "
    "(J. Lightwave Technol. 2020), abstract",
    "https://arxiv.org/abs/2002.04077",
)
_SIRIUS = Basis(
    "source",
    "Sirius: A Flat Datacenter Network with Nanosecond Optical Switching (SIGCOMM 2020), abstract",
    "https://doi.org/10.1145/3387514.3406221",
)
_SHALE = Basis(
    "source",
    "shale-simulator, src/main.cpp: the default of --slot-length",
    "https://github.com/reconfigurable-networks/shale-simulator",
)

TIMINGS = {
    one.name: one
    for one in (
        Timing(
            "20ns", "0.1ns", "100Gbps", name="pulse",
            bases={
                "slot": _PULSE,
                "guard": Basis(
                    "assumption", 'the abstract says "reconfiguration time down to O(100ps)"',
                    _PULSE.address,
                ),
                "rate": Basis(
                    "assumption", "the abstract has 25.6 Pb/s and 260k channels, 98 Gb/s for each",
                    _PULSE.address,
                ),
            },
        ),
        Timing(
            "100ns", "3.84ns", "50Gbps", name="sirius",
            bases={
                "slot": Basis("assumption", "its abstract states no slot length"),
                "guard": _SIRIUS,
                "rate": _SIRIUS,
            },
        ),
        Timing(
            "5.632ns", "0.512ns", "100Gbps", name="shale",
            bases={
                "slot": _SHALE,
                "guard": Basis("assumption", "what 64 bytes at 100 Gb/s, 5.12 ns, leave of a slot"),
                "rate": Basis("assumption", "the simulator counts payloads in slots, not in bits"),
            },
        ),
    )
}  # fmt: skip
"""Slots of three proposals, without fibre."""

_Preset = TypeVar("_Preset")


def find_preset(name: str, preset: str, presets: Mapping[str, _Preset]) -> _Preset:
    """Return the preset of that name.

    Parameters
    ----------
    name : str
        The name of the parameter, for error messages.
    preset : str
        The name of the preset.
    presets : mapping
        The presets.

    Raises
    ------
    InputError
        If there is no such preset.

    Examples
    --------
    >>> from popsnet.hardware import TIMINGS, find_preset
    >>> find_preset("timing", "sirius", TIMINGS).payload_bits
    4808.0
    """
    require_text(name, preset)
    if preset not in presets:
        raise InputError(
            f"{name} = {preset:.40}: there is no such preset.{did_you_mean(preset, presets)} Give "
            f"one of: {', '.join(presets)}."
        )
    return presets[preset]
