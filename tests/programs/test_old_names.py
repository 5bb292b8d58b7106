"""What users' files pass, receive or import has new names, and works under the old ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Network, Slot
from popsnet.base.errors import Rule
from popsnet.programs.facts import Explanation, Words
from popsnet.programs.router import find_router
from popsnet.theory import sorting

DIRECT = """
from popsnet.programs.schedulers.{name} import {name}
from popsnet.traffic import register_scheduler


@register_scheduler("mapped", summary="{name}", {fact}=True, paths="two hops")
def mapped(network, public, coins, memory, {keyword}=None):
    assert {keyword} is not None and {keyword}.couplers.sum() == network.couplers - 1
    yield from {name}(network, public, coins, memory, {keyword})
"""


@pytest.mark.parametrize(
    ("fact", "keyword"), [("uses_fault_map", "fault_map"), ("takes_map", "known")]
)
def test_a_scheduler_takes_the_map_of_faults(fact: str, keyword: str, tmp_path: Path) -> None:
    file = tmp_path / "mapped.py"
    file.write_text(DIRECT.format(name="vlb", fact=fact, keyword=keyword))
    run = popsnet.simulate(
        3, 3, scheduler=str(file), load=0.05, slots=300, faults="coupler:0-1", known_faults=True
    )
    assert run.delivered > 0


ROUTER = """
from popsnet import Slot, register
from popsnet.programs import Variant, Words
from popsnet.programs.router import get_router

direct = get_router("direct").variant("standard").route


def parse(text):
    return Variant(direct, name=text)


@register("delayed", summary="", slots="", buffers=2, {fact}=parse, words=Words("Direct."))
def delayed(network, destination, coins, memory):
    yield from direct(network, destination, coins, memory)
"""


@pytest.mark.parametrize("fact", ["parse_variant", "schedules"])
def test_a_router_parses_its_variants(fact: str, tmp_path: Path) -> None:
    file = tmp_path / "delayed.py"
    file.write_text(ROUTER.format(fact=fact))
    router = find_router(str(file))
    assert router.parse_variant is router.schedules is not None
    assert router.choose_variant("any text", Network(2, 2)) == "any text"


def test_old_names_are_the_same_things() -> None:
    slot = Slot.broadcast(
        np.array([0]), 2, np.array([0, 0, 0, 0]), contents=np.array([[1, 2]]), bits=8
    )
    assert slot.numbers_a_message == slot.numbers_per_message == 2
    assert Words is Explanation
    assert Rule["DELIVERS_HOME"] is Rule.DELIVERS_ONCE
    assert Rule.DELIVERS_HOME.value == Rule.DELIVERS_ONCE.value
    assert sorting.Examined is sorting.NetworkExamination
    assert sorting.Certified is sorting.CertifiedSort
