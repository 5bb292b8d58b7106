"""Routers of files that end the program, never end, or are no routers: said, not obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popsnet import InputError, Network, all_routers, register, route
from popsnet.engines import Instance
from popsnet.programs.router import find_router
from popsnet.studies.adversaries.oblivious import observed_paths
from tests.conftest import Cli
from tests.each import sampled

ENDS = "    yield Slot()\n    sys.exit(0)\n"
ENDS_AT_ONCE = "    sys.exit(0)\n"
NEVER_ENDS = "    while True:\n        yield Slot()\n"
YIELDS_NOTHING = "    yield None\n"
RETURNS = "    return 5\n"


def written(folder: Path, body: str) -> Path:
    path = folder / "hostile.py"
    path.write_text(
        "import sys\nfrom popsnet import Slot, register\n"
        "@register('hostile', summary='', slots='', buffers=2)\n"
        f"def route(network, destination, coins, memory):\n{body}"
    )
    return path


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (ENDS, "router hostile raises SystemExit: 0"),
        (ENDS_AT_ONCE, "router hostile raises SystemExit: 0"),
        (YIELDS_NOTHING, "Router hostile yields None; a router yields slots"),
        (RETURNS, "Router 'hostile' returned 5; it must be a generator function: use yield."),
    ],
)
@pytest.mark.parametrize(
    "command",
    [("route",), ("route", "--detect"), ("adversary", "rigid"), ("adversary", "oblivious")],
    ids=" ".join,
)
def test_what_is_no_router_is_bad_input(
    cli: Cli, tmp_path: Path, command: tuple[str, ...], body: str, said: str
) -> None:
    finished = cli(*command, 2, 2, "--router", written(tmp_path, body))
    assert finished.code == 2
    assert said in finished.err


def test_a_router_that_never_ends_is_capped(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Instance, "most_slots", property(lambda instance: 50))
    path = written(tmp_path, NEVER_ENDS)
    (run,) = json.loads(cli("route", 2, 2, "--router", path, "--json").out)["outcomes"]
    assert (run["capped"], run["slots"]) == (True, 50)


def test_the_cap_is_on_the_slots_of_one_step(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Instance, "most_slots", property(lambda instance: 5))
    path = written(tmp_path, "    for slot in range(40):\n        yield Slot(step=slot // 4)\n")
    (run,) = json.loads(cli("route", 2, 2, "--router", path, "--json").out)["outcomes"]
    assert (run["capped"], run["slots"], run["steps"]) == (False, 40, 10)


def test_no_router_that_ships_is_capped_by_its_slots() -> None:
    aks = find_router("aks")
    for d, slots in ((64, 14_794), (1024, 832_634), (4096, 4_547_886)):  # aks_slots, repaired
        network = Network(d, 1)
        instance = Instance(network, aks, "standard", None, None, 1)  # type: ignore[arg-type]
        assert instance.most_slots > 2 * slots


def test_an_adversary_does_not_watch_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed_paths, "_MAX_SLOTS", 30)
    router = find_router(str(written(tmp_path, NEVER_ENDS)))
    with pytest.raises(InputError, match=r"0 of 4 packets .* stopped after 30 slots"):
        observed_paths.observe(router, "standard", Network(2, 2))


def test_a_router_that_sends_nothing_is_stopped(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.engines.slots._MOST_SILENT", 50)
    finished = cli("route", 2, 2, "--router", written(tmp_path, NEVER_ENDS))
    assert finished.code == 2
    assert "no message for 54 slots, and 0 of 4 packets are delivered" in finished.err


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("1", "slot 1: its step is 1, and it is the first slot"),
        ("5000", "slot 1: its step is 5000"),
        ("0, 2", "slot 2: its step is 2, and the slot before it has step 0"),
        ("0, 1.0", "slot 2: its step is 1.0"),
        ("0, 1, 0", "slot 3: its step is 0, and the slot before it has step 1"),
    ],
)
def test_steps_count_from_0_without_gaps(cli: Cli, tmp_path: Path, steps: str, said: str) -> None:
    body = f"    for step in [{steps}]:\n        yield Slot(step=step)\n"
    finished = cli("route", 2, 2, "--router", written(tmp_path, body))
    assert finished.code == 2
    assert said in finished.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("yield Slot(step=number)", "NameError: name 'number' is not defined"),
        ("yield Slot(senders=[0.5])", "ValueError: senders has dtype float64; it must be an array"),
        ("memory.drop([], 3)", "TypeError: object of type"),
    ],
)
def test_a_mistake_in_a_router_shows_its_own_lines_only(
    cli: Cli, tmp_path: Path, line: str, said: str
) -> None:
    path = written(tmp_path, f"    yield Slot()\n    {line}\n")
    finished = cli("route", 2, 2, "--router", path)
    shown = finished.err.splitlines()
    assert finished.code == 1
    assert shown[:3] == [
        "Error: router 'hostile' (hostile.py) failed:",
        f'  File "{path}", line 6, in route',
        f"    {line}",
    ]
    assert said in shown[3]
    assert shown[4:] == ["This was raised while router hostile ran."]


@pytest.mark.parametrize("first", ["", "    yield Slot()\n"], ids=["nowhere", "once"])
def test_a_forgotten_yield_is_guessed(cli: Cli, tmp_path: Path, first: str) -> None:
    body = f"{first}    inbox = Slot()\n    memory.deliver(inbox.receivers, inbox.packets)\n"
    finished = cli("route", 2, 2, "--router", written(tmp_path, body))
    assert finished.code == 1
    assert "'Slot' object has no attribute 'receivers'" in finished.err
    assert finished.err.splitlines()[-1].startswith("Did you forget yield?")


def test_two_files_of_one_name_are_both_named(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, NEVER_ENDS)
    other = tmp_path / "again.py"
    other.write_text(path.read_text())
    finished = cli("compare", 2, 2, "--router", path, "--router", other)
    assert finished.code == 2
    said = "again.py registers 'hostile', as hostile.py does; rename one of them."
    assert said in finished.err


def test_register_says_what_it_needs() -> None:
    with pytest.raises(InputError, match=r"summary=, slots= and buffers=; add slots=, buffers=\."):
        register("incomplete", summary="")(find_router("direct").variants["standard"].route)  # type: ignore[call-arg]


def test_an_error_outside_a_router_is_raised_as_it_is(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("popsnet.route", fail)
    with pytest.raises(ZeroDivisionError):
        cli("route", 2, 2)


@pytest.mark.parametrize("permutation", sampled(["random", "identity", "reversal"], 1))
@pytest.mark.parametrize("shape", [(64, 2), (16, 1), (1, 16), (12, 4), (8, 8)])
def test_no_router_that_ships_is_silent_for_long(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], permutation: str
) -> None:
    monkeypatch.setattr("popsnet.engines.slots._MOST_SILENT", 0)
    network = Network(*shape)
    for router in [router for router in all_routers() if not router.file]:
        if router.applies_to(network):
            route(network, router=router, permutation=permutation, engine="slots")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise BrokenPipeError", "BrokenPipeError"),
        ("raise OSError(28, 'No space')", "OSError: [Errno 28] No space"),
        ("open('/nowhere/at/all')", "FileNotFoundError"),
        ("next(iter(()))", "RuntimeError: generator raised StopIteration"),
        ("import typer; raise typer.Exit(0)", "Exit"),
        ("import typer; raise typer.BadParameter('hello')", "BadParameter: hello"),
    ],
)
@pytest.mark.parametrize("command", ["route", "compare"])
def test_what_a_router_raises_is_not_taken_for_something_of_ours(
    cli: Cli, tmp_path: Path, command: str, line: str, said: str
) -> None:
    path = written(tmp_path, f"    yield Slot()\n    {line}\n")
    finished = cli(command, 2, 2, "--router", path)
    assert finished.code == 1
    assert f'File "{path}", line 6, in route' in finished.err
    assert said in finished.err
