"""A router states its own facts, and nothing else knows a router by name."""

from __future__ import annotations

import ast
import gzip
import importlib
import json
import re
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import popsnet
import popsnet.programs.routers
from popsnet import Coins, Experiment, InputError, Memory, Network, check_trace, compare, recommend
from popsnet.cli.options import complete_router
from popsnet.model.slot import Ints, Slots
from popsnet.programs.facts import Claims, Expectation, Explanation
from popsnet.programs.router import Router, Variant, all_routers, find_router, register, unregister
from popsnet.runs.route import route
from popsnet.studies.comparisons.recommendation import forecast
from popsnet.trace import Event
from popsnet.trace.reader import read_trace
from popsnet.trace.viewer import Page, Recording
from tests.conftest import Cli
from tests.each import each
from tests.programs.routers.explained import explains

SOURCE = Path(popsnet.__file__).parent

SHIPPED = tuple(all_routers())
"""As long as no test has registered routers of its own."""

CAROUSEL = '''
"""carousel: one hop, a group at a time."""

from popsnet.programs.routers.direct import direct, direct_slots
from popsnet.programs.facts import Claims, Expectation, Explanation
from popsnet.programs.router import register
from popsnet.theory.bounds import Bound


@register(
    "carousel",
    summary="one hop, a group at a time",
    slots="max(d, g), always",
    buffers=2,
    claims=Claims(
        Expectation(direct_slots, exact=True, reason="formula: as direct"),
        (
            Bound("round and round", "upper", "max(d, g)", "always", "any d, g", "folklore",
                  slots=direct_slots),
        ),
    ),
    words=Explanation(
        lambda network: f"Round {network.g} groups.", {"to *": "One hop, nothing can collide."}
    ),
)
def carousel(network, destination, coins, memory):
    return direct(network, destination, coins, memory)
'''


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    """A router of its own file, imported in the package of routers, as those that ship are."""
    (tmp_path / "carousel.py").write_text(CAROUSEL)
    monkeypatch.setattr(
        popsnet.programs.routers, "__path__", [*popsnet.programs.routers.__path__, str(tmp_path)]
    )
    importlib.invalidate_caches()
    importlib.import_module("popsnet.programs.routers.carousel")
    yield find_router("carousel")
    unregister("carousel")
    del sys.modules["popsnet.programs.routers.carousel"]
    delattr(popsnet.programs.routers, "carousel")


@pytest.mark.usefixtures("one_more")
def test_a_new_router_is_known_everywhere(cli: Cli) -> None:
    best = recommend(2, 2)
    assert (best.router, best.slots, best.best.reason) == ("carousel", 2.0, "formula: as direct")
    assert "carousel" in {row.router.name for row in compare(2, 2, runs=1).done}
    assert re.search(r"carousel +one hop, a group at a time", cli("routers").out)
    assert json.loads(cli("plan", 2, 2, "--json").out)["router"] == "carousel"
    bounds = json.loads(cli("theory", 3, 2, "--json").out)["bounds"]
    assert {row["name"]: row["slots"] for row in bounds}["round and round"] == 3
    assert complete_router("car") == ["carousel"]
    with pytest.raises(InputError, match=r"Did you mean 'carousel'\? Give one of: .*carousel"):
        find_router("carrousel")


@pytest.mark.usefixtures("one_more")
@pytest.mark.parametrize("asked", ["", "+or"])
def test_a_new_router_explains_itself(asked: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    route(3, 2, router="carousel", variant=f"standard{asked}", trace=path)
    assert check_trace(path).ok
    header = read_trace(path).header
    assert header.explanation.startswith("Round 2 groups.")
    assert ("whether they have their packets" in header.explanation) == bool(asked)
    assert header.phases["to *"] == "One hop, nothing can collide."
    page = Page.of([Recording.read(path)])
    (data,) = re.findall(r'"gzip": "([^"]*)"', page.html)
    assert gzip.decompress(b64decode(data)) == path.read_bytes()


def test_a_router_of_a_file_is_advised_when_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CAROUSEL)
    given = find_router(file)
    found = forecast(given, Network(2, 3))
    assert found is not None
    assert (found.slots, found.exact) == (3.0, True)
    assert recommend(2, 2).router != "carousel"
    assert recommend(2, 2, routers=[file, "direct", "offline"]).router == "carousel"
    assert "carousel" not in {row.router.name for row in compare(2, 2, runs=1).done}
    (compared,) = compare(2, 2, routers=[given], runs=1).done
    assert compared.expected == forecast(given, Network(2, 2))


def in_place(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Deliver nothing."""
    return
    yield


def test_a_router_that_states_nothing_is_not_advised() -> None:
    assert forecast(find_router(in_place), Network(2, 2)) is None
    for routers in ([], [in_place], ["offline"]):
        with pytest.raises(InputError, match="none of them is on-line"):
            recommend(2, 2, routers=routers)
    with pytest.raises(InputError, match="nothing to compare"):
        compare(2, 2, routers=[])


def test_a_router_may_not_expect_what_is_no_number() -> None:
    claims = Claims(Expectation(lambda network: float("nan"), exact=True, reason=""))
    router = Router("odd", "", "", 1, {"standard": Variant(in_place)}, claims=claims)
    with pytest.raises(InputError, match="odd expects nan slots"):
        forecast(router, Network(2, 2))


def test_the_summary_explains_where_nothing_else_does() -> None:
    router = find_router(in_place)
    assert router.words_on(Network(2, 2), "standard") == {"explanation": "Deliver nothing."}
    silent = Router("silent", "", "", 1, {"standard": Variant(in_place)})
    assert silent.words_on(Network(2, 2), "standard") == {}
    asked = silent.words_on(Network(2, 2), "standard+or")
    assert asked["explanation"].startswith("After every step")


def test_words_are_text() -> None:
    with pytest.raises(InputError, match="7 is not a string"):
        Explanation(phases={"*": 7}).on(Network(2, 2))  # type: ignore[dict-item]
    with pytest.raises(InputError, match="None is not a string"):
        Explanation(lambda network: None).on(Network(2, 2))  # type: ignore[arg-type,return-value]


def test_a_variant_has_the_words_of_the_first_unless_it_has_its_own() -> None:
    words, other = Explanation("First."), Explanation("Other.")
    register("worded", summary="", slots="", buffers=1, words=words)(in_place)
    popsnet.register_variant("worded", "second")(in_place)
    popsnet.register_variant("worded", "third", words=other)(in_place)
    router = find_router("worded")
    unregister("worded")
    assert [variant.words for variant in router.variants.values()] == [words, words, other]


SHAPES = ((1, 1), (1, 4), (4, 1), (2, 5), (4, 4), (6, 3), (5, 2), (8, 1))
SCHEDULES = (
    "S", "P2 P1", "P(3,2) P1 F", "F", "S R2", "S T2", "P1 Q", "| X2 P1", "XY(2,2)", "XY(1,3)",
    "survive: V(3,2) VF V2",
)  # fmt: skip


def experiments(router: Router) -> Iterator[Experiment]:
    """Every variant, alone and with termination detection, where it applies."""
    for d, g in SHAPES:
        for name in (*router.variants, *(SCHEDULES if router.parse_variant else ())):
            for asked in ("", "+or"):
                try:
                    yield Experiment(d, g, router=router, variant=name + asked, max_steps=9)
                except InputError:  # it does not apply, or gives statistics only
                    continue


@each("router", SHIPPED)
def test_every_phase_is_explained_and_every_pattern_is_used(router: Router) -> None:
    stated: set[str] = set()
    used: set[str] = set()
    for experiment in experiments(router):
        words = router.words_on(experiment.network, experiment.resolved_variant)
        assert 0 < len(words["explanation"]) <= 2000
        assert len(words["phases"]) <= 200
        stated |= words["phases"].keys()
        events: list[Event] = []
        route(experiment, engine="slots", observers=[events.append])
        for phase in {event.phase for event in events}:
            found = [pattern for pattern in words["phases"] if explains(pattern, phase)]
            assert found, (experiment, phase)
            used.add(found[0])
    assert stated == used
    assert all(len(pattern) <= 200 for pattern in stated)


@each("router", SHIPPED)
def test_every_router_that_ships_states_its_facts(router: Router) -> None:
    assert router.claims.expected is not None
    assert router.claims.bounds
    assert all(bound.kind == "upper" for bound in router.claims.bounds)


EXCEPTIONS = {
    "base/citation.py": "the authors of the paper",
    "cli/limits.py": "the exact chains are of two routers, and the default router is rigid",
    "cli/options.py": "the default router",
    "cli/view.py": "the two routers that are shown",
    "engines": "other engines are of two routers, and a scheduler is called relay",
    "experiment/experiment.py": "the default router",
    "paper": "the paper's own comparison",
    "plots/performance.py": "the exact chain of relay counts stages",
    "programs/schedulers": "a scheduler is called relay, too",
    "runs/expected_tails.py": "the exact chains and the tail bounds are of two routers",
    "runs/schedule.py": "a schedule is executed as the router that makes schedules",
    "studies/adversaries/oblivious/paths.py": "a path system is called direct",
    "studies/comparisons/prediction.py": "the fluid limits and the tail bounds are of two routers",
    "sweeps/sweep.py": "the default router",
    "theory/exact": "the exact chains are of two routers",
}
"""Where a router is named outside of ``programs/router*``, and why."""

PLAIN_WORDS = {"direct", "relay", "offline"}
"""Names that are words of the field as well: only a whole string is the router."""


def names_in(text: str) -> set[str]:
    """The routers that a string names."""
    names = {router.name for router in SHIPPED}
    words = set(re.findall(r"[\w-]+", text)) & (names - PLAIN_WORDS)
    return words | ({text} & names)


def strings_of(module: Path) -> Iterator[str]:
    """The strings of a module, but for its docstrings."""
    if module.suffix == ".js":
        yield from re.findall(r"""["'`]([^"'`\n]*)["'`]""", module.read_text())
        return
    tree = ast.parse(module.read_text())
    documents = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in documents and type(node.value) is str:
            yield node.value


def test_no_other_module_knows_a_router_by_name() -> None:
    naming = set()
    for module in (*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")):
        path = module.relative_to(SOURCE)
        shown = path.as_posix()
        if not shown.startswith("programs/router") and any(map(names_in, strings_of(module))):
            naming.add(
                next((exception for exception in EXCEPTIONS if shown.startswith(exception)), shown)
            )
    assert naming == set(EXCEPTIONS)


@each(
    ("make", "complaint"),
    [
        (lambda: Expectation(7, True, "r"), "slots = 7: give a function"),  # type: ignore[arg-type]
        (lambda: Claims(5), "expected = 5: give an Expectation"),  # type: ignore[arg-type]
        (lambda: Claims(None, (3,)), "bounds must be"),  # type: ignore[arg-type]
        (lambda: Explanation("a", ["x"]), "phases = "),  # type: ignore[arg-type]
        (lambda: Explanation("a", {5: "x"}), "phases = "),  # type: ignore[dict-item]
        (lambda: Explanation("a", conflict_graph="z"), "conflict_graph = 'z'"),  # type: ignore[arg-type]
        (lambda: Explanation(lambda network: 1 / 0).on(Network(2, 2)), "fails on POPS"),  # type: ignore[arg-type, return-value]
    ],
)
def test_facts_of_the_wrong_type_are_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()


@pytest.mark.parametrize(
    ("fact", "code"),
    [
        ("claims=None", "plan"),
        ("words='no'", "route"),
        ("claims=Claims(Expectation(lambda n: 1 / 0, True, 'r'))", ""),
    ],
)
def test_a_file_with_wrong_facts_is_refused(cli: Cli, tmp_path: Path, fact: str, code: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from popsnet import register\nfrom popsnet.programs.routers.direct import direct\n"
        "from popsnet.programs.facts import Claims, Expectation\n"
        f"register('mine', summary='s', slots='s', buffers=2, {fact})(direct)\n"
    )
    finished = cli("compare", 3, 3, "--runs", 1, "--router", path)
    assert (finished.code, finished.out) == (2, "")
    assert "mine" in finished.err
