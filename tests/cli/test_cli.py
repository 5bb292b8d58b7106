from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import popsnet
from popsnet import route
from popsnet.base import system
from popsnet.base.compiled import choose_cache
from popsnet.cli.output import flags, in_flags
from tests.conftest import Cli
from tests.each import each

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "popsnet"

RUN_KEYS = [
    "run",
    "slots",
    "slots_delivered",
    "steps",
    "delivered",
    "lost",
    "collisions",
    "destroyed",
    "messages",
    "peak_buffers",
    "control_bits",
    "capped",
    "seconds",
    "slots_known",
]


def test_json_has_the_documented_form(cli: Cli) -> None:
    finished = cli("route", 8, 8, "--runs", 3, "--seed", 5, "--permutation-seed", 6, "--json")
    assert (finished.code, finished.err) == (0, "")
    result = json.loads(finished.out)
    assert list(result) == [
        "network", "router", "variant", "engine", "permutation", "seed", "permutation_seed",
        "runs", "lost", "capped", "seconds", "popsnet_version", "outcomes", "summary", "ok",
    ]  # fmt: skip
    assert result["network"] == {"d": 8, "g": 8, "n": 64, "wavelengths": 1}
    assert (result["runs"], result["popsnet_version"]) == (3, popsnet.__version__)
    assert (result["router"], result["variant"], result["engine"]) == (
        "mei-rizzi",
        "published",
        "slots",
    )
    assert (result["seed"], result["permutation_seed"], result["permutation"]) == (5, 6, "random")
    assert [list(run) for run in result["outcomes"]] == [RUN_KEYS] * 3
    assert (result["lost"], result["capped"], result["ok"]) == (0, 0, True)
    summary = {one["count"]: one for one in result["summary"]}
    assert list(summary) == [
        "slots", "slots_delivered", "steps", "messages", "collisions", "destroyed", "lost",
        "peak_buffers", "control_bits",
    ]  # fmt: skip
    for clock in ("slots", "slots_delivered"):
        slots = [run[clock] for run in result["outcomes"]]
        assert summary[clock] == {
            "count": clock,
            "mean": pytest.approx(np.mean(slots)),
            "sd": pytest.approx(np.std(slots, ddof=1)),
            "min": min(slots),
            "max": max(slots),
        }


def test_both_clocks_are_told(cli: Cli) -> None:
    """What is idealized is at home after slot 2 of its last step."""
    base = ("route", 8, 4, "--variant", "idealized")
    for engine in ("slots", "fused"):
        (run,) = json.loads(cli(*base, "--engine", engine, "--json").out)["outcomes"]
        assert run["slots"] == run["slots_known"] == run["slots_delivered"] + 3
        assert run["control_bits"] == 0
        (run,) = json.loads(cli(*base, "--engine", engine, "--max-steps", 1, "--json").out)[
            "outcomes"
        ]
        assert (run["slots"], run["slots_delivered"], run["slots_known"]) == (5, 2, None)
    text = cli("route", 8, 8).out
    assert "slots until the last delivery           25\n" in text
    assert "largest control message (bits)           1\n" in text


def without_seconds(text: str) -> object:
    result = json.loads(text)
    for one in (result, *result["outcomes"]):
        del one["seconds"]
    return result


def test_the_text_points_to_the_viewer(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    assert "See it: popsnet view 8 8\n" in cli("route", 8, 8).out
    np.save(tmp_path / "a p.npy", np.arange(16))
    chosen = ("--router", "relay:S", "--seed", 3, "--permutation", tmp_path / "a p.npy")
    finished = cli("route", 4, 4, *chosen, "--permutation-seed", 2, "--max-steps", 9)
    (pointer,) = re.findall(r"^See it: popsnet (.*)$", finished.out, re.MULTILINE)
    assert shlex.split(pointer) == [
        "view", "4", "4", "--router", "relay:S", "--permutation", str(tmp_path / "a p.npy"),
        "--seed", "3", "--permutation-seed", "2", "--max-steps", "9",
    ]  # fmt: skip
    page = tmp_path / "page.html"
    assert cli(*shlex.split(pointer), "--out", page).code == 0
    assert "See it" not in cli("route", 8, 4, "--variant", "idealized").out
    assert "See it" not in cli("route", 64, 64).out


def test_the_same_seeds_give_the_same_result_and_others_do_not(cli: Cli) -> None:
    base = ("route", 16, 16, "--runs", 4, "--json")
    one = without_seconds(cli(*base).out)
    assert one == without_seconds(cli(*base).out)
    for other in (("--seed", 1), ("--permutation-seed", 1)):
        result = without_seconds(cli(*base, *other).out)
        assert result["outcomes"] != one["outcomes"]  # type: ignore[index]


def test_more_runs_continue_the_same_runs(cli: Cli) -> None:
    few = json.loads(cli("route", 8, 8, "--runs", 2, "--json").out)["outcomes"]
    many = json.loads(cli("route", 8, 8, "--runs", 5, "--json").out)["outcomes"]
    assert [run["messages"] for run in few] == [run["messages"] for run in many[:2]]


def test_text_shows_survivors_of_a_single_run(cli: Cli) -> None:
    finished = cli("route", 8, 8)
    run = route(8, 8)[0].outcome
    assert finished.code == 0
    for step, pending in enumerate(run.survivors, start=1):
        assert re.search(rf"^ +{step} +\d+ +{pending}$", finished.out, re.MULTILINE)
    assert "Every packet was delivered." in finished.out
    assert re.search(r"^Routed in \d+\.\d\d s\.$", finished.out, re.MULTILINE)
    steps = json.loads(cli("route", 8, 8, "--json").out)["steps"]
    assert [one["pending"] for one in steps] == list(run.survivors)
    assert sum(one["delivered"] for one in steps) == 64


def test_text_shows_spread_and_caps_of_several_runs(cli: Cli) -> None:
    finished = cli("route", 16, 16, "--runs", 3, "--max-steps", 2)
    assert finished.err == "3 runs were stopped by --max-steps 2; raise it to let them end.\n"
    assert re.search(r"^slots +≥ 10\.00 +0\.00 +10 +≥ 10 *$", finished.out, re.MULTILINE)
    assert "capped runs: 3" in finished.out
    assert "packets not delivered" in finished.out


def test_a_single_run_has_no_spread(cli: Cli) -> None:
    slots = json.loads(cli("route", 4, 4, "--json").out)["summary"][0]
    assert (slots["count"], slots["sd"]) == ("slots", None)


def test_csv_has_a_row_per_run(cli: Cli) -> None:
    finished = cli("route", 4, 4, "--runs", 3, "--csv")
    rows = list(csv.DictReader(finished.out.splitlines()))
    assert [int(row["slots"]) for row in rows] == route(4, 4, runs=3).slots.tolist()
    about = ["d", "g", "n", "wavelengths", "seed", "permutation_seed", "popsnet_version"]
    assert list(rows[0]) == about + RUN_KEYS
    assert finished.err == "Not in the CSV: summary; --json has all tables.\n"
    assert "give one of them" in cli("route", 4, 4, "--csv", "--json").err


def test_permutations_come_from_files(cli: Cli, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.arange(16)[::-1])
    finished = cli("route", 4, 4, "--permutation", tmp_path / "p.npy", "--trace", tmp_path / "t")
    assert finished.code == 0
    header = json.loads((tmp_path / "t").read_text().splitlines()[0])
    assert header["destination"] == list(range(15, -1, -1))


BAD = {
    "d of zero": (("route", 0, 4), "d = 0"),
    "g of zero": (("route", 4, 0), "g = 0"),
    "negative d": (("route", -2, 4), "d = -2: the number of processors"),
    "negative g": (("route", 4, -2), "g = -2: the number of groups must be at least 1"),
    "not a number": (("route", "four", 4), "D = 'four' is not an integer."),
    "small groups": (("route", 4, 5), "needs d >= g. It is the default router; --router relay"),
    "small groups to view": (("view", 4, 5), "popsnet plan 4 5 compares the routers."),
    "small groups for a variant": (
        ("route", 4, 5, "--variant", "idealized"),
        "needs d >= g. Use --router relay, which runs on any network.",
    ),
    "unknown router": (("route", 4, 4, "--router", "nope"), "no router 'nope'"),
    "unknown variant": (("route", 4, 4, "--variant", "nope"), "no variant 'nope'"),
    "unknown engine": (
        ("route", 4, 4, "--engine", "nope"),
        "--engine 'nope': there is no such engine. Distributions with other engines must be "
        "installed. Give one of auto, objects, slots, fused.",
    ),
    "objects has no direct": (
        ("route", 4, 4, "--router", "direct", "--engine", "objects"),
        "does not run direct (standard)",
    ),
    "unknown permutation": (("route", 4, 4, "--permutation", "nope"), "no permutation 'nope'"),
    "no such file": (("route", 4, 4, "--permutation", "no.csv"), "no.csv cannot be read"),
    "no runs": (("route", 4, 4, "--runs", 0), "--runs 0"),
    "no steps": (("route", 4, 4, "--max-steps", 0), "--max-steps 0"),
    "negative seed": (("route", 4, 4, "--seed", -1), "--seed -1"),
    "large seed": (
        ("route", 4, 4, "--permutation-seed", 2**64),
        "--permutation-seed 18446744073709551616",
    ),
    "trace of many": (("route", 4, 4, "--runs", 2, "--trace", "t"), "--runs 1"),
    "trace nowhere": (("route", 4, 4, "--trace", "/no/such/folder/t"), "no folder"),
    "a name too long": (("route", 4, 4, "--trace", "t" * 300), "cannot be used as the name"),
    "a long file name": (("route", 4, 4, "--permutation", "t" * 300 + ".csv"), "cannot be read"),
    "digits without end": (("route", "9" * 3000, "9" * 3000), "at most 2^63 - 1"),
    "a number as option": (("check", "-5"), "-5"),
    "trace to a folder": (("route", 4, 4, "--trace", "/"), "is a folder"),
    "too large": (("route", 10**6, 10**6), "at most 2^38 processors"),
    "too many groups": (("route", 70000, 70000), "Use --engine fused and --permutation keyed"),
    "objects has one variant": (
        ("route", 8, 4, "--variant", "idealized", "--engine", "objects"),
        "does not run mei-rizzi (idealized)",
    ),
    "no trace of what is idealized": (
        ("route", 8, 4, "--variant", "idealized", "--trace", "t"),
        "statistics only",
    ),
    "no trace without messages": (
        ("route", 8, 8, "--engine", "fused", "--trace", "t"),
        "executes no messages, so it cannot write a trace",
    ),
    "too few runs for a shard": (("paper", "--runs", 5), "--runs 5: it must be a multiple of ten"),
    "a network not in the paper": (
        ("paper", "--max-n", 3),
        "--max-n 3: it must be from 4 to 16,777,",
    ),
    "a file for a folder": (
        ("paper", "--out", "/dev/null"),
        "/dev/null exists and is not a folder",
    ),
    "no folder in a file": (("paper", "--out", "/dev/null/x"), "cannot be used as a folder"),
    "unknown option": (("route", 4, 4, "--rnus", 3), "--rnus"),
    "no command": (("rout",), "rout"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_with_code_2_and_a_reason(
    kind: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, complaint = BAD[kind]
    finished = cli(*arguments)
    assert finished.code == 2
    assert complaint in finished.err
    assert finished.out == ""
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_in_memory_is_refused_before_any_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "available_memory", lambda: 10**6)
    finished = cli("route", 1024, 1024)
    assert finished.code == 1
    assert "with engine slots; 1 MB are available here" in finished.err
    monkeypatch.setattr(system, "available_memory", lambda: 3 * 10**9)
    finished = cli("route", 8192, 8192, "--engine", "slots")
    assert finished.code == 1
    assert "Use --engine fused and --permutation keyed, which need about 8" in finished.err


def test_what_is_idealized_is_said_to_be(cli: Cli) -> None:
    for engine in ("slots", "fused"):
        finished = cli("route", 12, 4, "--variant", "idealized", "--engine", engine)
        assert finished.code == 0
        assert "Variant idealized is idealized: these are statistics, not routes." in finished.out
    assert "statistics" not in cli("route", 4, 4).out


def test_runs_done_together_share_their_time(cli: Cli) -> None:
    runs = json.loads(cli("route", 8, 8, "--runs", 50, "--engine", "fused", "--json").out)[
        "outcomes"
    ]
    assert len({run["seconds"] for run in runs}) == 1
    assert runs[0]["seconds"] > 0


def test_auto_says_what_it_chose(cli: Cli) -> None:
    for arguments, engine in (
        (("route", 8, 8), "slots"),
        (("route", 4, 4, "--runs", 257), "fused"),
        (("route", 4, 4, "--runs", 257, "--router", "direct"), "slots"),
    ):
        assert f"engine {engine}" in cli(*arguments).out
    assert json.loads(cli("route", 8, 8, "--json").out)["engine"] == "slots"


def test_a_router_of_ones_own_from_a_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(
        "from popsnet import Slot, register\n"
        "@register('broken-on-purpose', summary='', slots='', buffers=1)\n"
        "def broken(network, destination, coins, memory):\n"
        "    yield Slot(senders=[0, 0], groups=[0, 1], packets=[0, 0])\n"
    )
    finished = cli("route", 4, 4, "--router", path, "--trace", tmp_path / "t")
    assert finished.code == 1
    assert "slot 1, processor 0: it sends twice" in finished.err
    assert not (tmp_path / "t").exists()
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".part"] == []


@pytest.mark.parametrize("text", [b"x = '\0'\n", b"\x93\xff\x00\x01", b"\xff"])
def test_a_router_that_is_not_a_text_file(text: bytes, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "binary.py"
    path.write_bytes(text)
    finished = cli("route", 4, 4, "--router", path)
    assert finished.code == 2
    assert finished.err == f"Error: {path} is not a text file; give a Python program.\n"


def test_references_name_pages_that_exist(cli: Cli) -> None:
    for command in (("routers",), ("theory", 64, 64)):
        named = re.findall(r"docs/[\w./-]+", cli(*command, "--json").out)
        assert [name for name in named if not (ROOT / name).is_file()] == []
        assert named


def test_a_router_that_leaves_packets_behind_fails(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "early.py"
    path.write_text(
        "from popsnet import Slot, register\n"
        "@register('early-on-purpose', summary='', slots='', buffers=1)\n"
        "def early(network, destination, coins, memory):\n"
        "    yield Slot()\n"
    )
    for _ in range(2):  # a file may be loaded again
        finished = cli("route", 4, 4, "--router", path)
        assert finished.code == 1
        assert "FAILED: 16 packets not delivered; 0 lost." in finished.out


def test_a_trace_takes_the_place_of_what_a_link_points_to(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert cli("route", 4, 4, "--trace", tmp_path / "link").code == 0
    assert (tmp_path / "link").is_symlink()
    assert cli("check", tmp_path / "target").code == 0


def test_a_slot_is_recorded_as_it_was_even_if_the_router_uses_its_arrays_again(
    cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "frugal.py"
    path.write_text(
        "import numpy as np\n"
        "from popsnet import Slot, register\n"
        "@register('frugal', summary='', slots='n', buffers=2)\n"
        "def frugal(network, destination, coins, memory):\n"
        "    everybody, listened = np.arange(network.n), np.zeros(network.n, dtype=np.int64)\n"
        "    sender, groups = np.zeros(1, dtype=np.int64), np.arange(network.g)\n"
        "    for i in range(network.n):\n"
        "        sender[0], listened[:] = i, i // network.d\n"
        "        inbox = yield Slot(senders=sender, groups=groups, packets=sender,\n"
        "            fanout=np.array([network.g]), listeners=everybody, listened=listened)\n"
        "        memory.drop(sender, sender)\n"
        "        mine = inbox.destinations == inbox.receivers\n"
        "        memory.deliver(inbox.receivers[mine], inbox.packets[mine])\n"
    )
    trace = tmp_path / "t"
    assert cli("route", 4, 4, "--router", path, "--trace", trace).code == 0
    assert cli("check", trace).code == 0


def test_names_with_brackets_are_printed_as_they_are(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "a[b]"
    folder.mkdir()
    np.save(folder / "[red]p.npy", np.arange(16))
    finished = cli("route", 4, 4, "--permutation", folder / "[red]p.npy")
    assert finished.code == 0
    assert "a[b]/[red]p.npy" in finished.out


@each("line", ["route 4 4 --runs 3", "routers", "doctor"])
def test_output_goes_where_there_are_no_signs_for_it(
    line: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    with monkeypatch.context() as patch, io.TextIOWrapper(written, encoding="ascii") as ascii_only:
        patch.setattr(sys, "stdout", ascii_only)
        assert cli(*line.split()).code == 0
        assert len(written.getvalue()) > 200


def test_output_goes_where_nobody_reads() -> None:
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            [COMMAND, "route", "4", "4", "--json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert finished.returncode == 74
    assert finished.stderr == ("Error: The output could not be written: No space left on device.\n")
    reader = f"{COMMAND} route 4 4 --runs 5000 --engine fused --json | head -1"
    finished = subprocess.run(reader, shell=True, capture_output=True, text=True)
    assert (finished.stdout, finished.stderr) == ("{\n", "")


def test_routers_and_doctor_report(cli: Cli) -> None:
    text, listed = cli("routers"), cli("routers", "--json")
    assert text.code == listed.code == 0
    named = {router["name"]: router for router in json.loads(listed.out)["routers"]}
    assert named["mei-rizzi"]["engines"] == ["objects", "slots", "fused"]
    assert named["direct"]["slots"] == "max(d, g), always"
    assert all(name in text.out for name in named)
    text, found = cli("doctor"), cli("doctor", "--json")
    assert text.code == found.code == 0
    assert all(one["ok"] for one in json.loads(found.out)["findings"] if one["needed"])


def test_the_doctor_notices_what_is_missing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("matplotlib", "jinja2", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    finished = cli("doctor")
    assert finished.code == 0
    shown = " ".join(finished.out.split())
    for extra in ("plots", "paper", "parquet"):
        assert f"pip install 'popsnet[{extra}]'" in shown
        assert f"pip install '.[{extra}]' in a clone." in shown
    assert "Needed for figures." in shown
    assert f"kept in {choose_cache(Path(popsnet.__file__).parent).folder}" in shown
    for name in ("scipy", "lazy_loader"):
        assert re.search(rf"^{name} +ok ", finished.out, re.MULTILINE)
    monkeypatch.setattr("popsnet.cli.about._NEEDED", ("a_library_that_is_not",))
    finished = cli("doctor")
    assert finished.code == 1
    assert "FAILED: needed and not working: a_library_that_is_not." in finished.out


def test_check_has_json(cli: Cli, tmp_path: Path) -> None:
    cli("route", 4, 4, "--trace", tmp_path / "t")
    result = json.loads(cli("check", tmp_path / "t", "--json").out)
    assert (result["ok"], result["delivered"], result["violations"]) == (True, 16, [])
    assert (result["network"], result["lost"]) == ({"d": 4, "g": 4, "n": 16, "wavelengths": 1}, [])


def test_check_lists_what_is_wrong(cli: Cli, tmp_path: Path) -> None:
    lines = route(4, 4)[0].trace().splitlines()
    (tmp_path / "t").write_text("\n".join([*lines[:1], *lines[2:], ""]))
    finished, listed = cli("check", tmp_path / "t"), cli("check", tmp_path / "t", "--csv")
    result = json.loads(cli("check", tmp_path / "t", "--json").out)
    assert finished.code == listed.code == 1
    assert not result["ok"]
    count, few = result["violation_count"], len(result["violations"])
    assert f"FAILED: {count:,} violations" in finished.out
    assert (f"… and {count - few:,} more" in finished.out) == (count > few)
    rows = list(csv.DictReader(listed.out.splitlines()))
    assert list(rows[0]) == ["line", "slot", "processor", "rule"]
    assert [row["rule"] for row in rows] == [one["rule"] for one in result["violations"]]
    for row in rows:
        assert row["rule"][:40] in finished.out
    cli("route", 4, 4, "--trace", tmp_path / "good")
    assert cli("check", tmp_path / "good", "--csv").out == "line,slot,processor,rule\n"


def test_help_and_version(cli: Cli) -> None:
    for command in ([], ["route"], ["check"], ["paper"], ["routers"], ["doctor"]):
        assert cli(*command, "--help").code == 0
    assert cli("--version").out.startswith("popsnet ")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['popsnet', '--help']\n"
        "from popsnet.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'matplotlib', 'numba') if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout.splitlines()[-1] == "[]"


def test_the_installed_command_and_the_module_run() -> None:
    for command in ([str(COMMAND)], [sys.executable, "-m", "popsnet"]):
        finished = subprocess.run(
            [*command, "route", "4", "4", "--json"], capture_output=True, text=True, check=True
        )
        assert json.loads(finished.stdout)["lost"] == 0


def interrupt(*arguments: str, after: float) -> subprocess.CompletedProcess[str]:
    """Interrupt the command once it has computed for so many seconds, however busy others are."""
    process = subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    used = psutil.Process(process.pid).cpu_times
    while process.poll() is None and sum(used()[:2]) < after:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def test_an_interrupt_reports_what_is_finished() -> None:
    for seconds in (2, 4, 8, 16, 32):  # what is to be compiled first takes long
        finished = interrupt("route", "64", "64", "--runs", "1000000", "--json", after=seconds)
        assert finished.returncode == 130
        if finished.stdout:
            break
    done = len(json.loads(finished.stdout)["outcomes"])
    assert 0 < done < 1000000
    assert f"Interrupted: {done} of 1000000 runs were finished." in finished.stderr


@pytest.mark.program
def test_an_interrupt_ends_a_long_compiled_run_at_once() -> None:
    """A million packets that all collide for ever, on one coupler."""
    arguments = ("route", "1048576", "1", "--variant", "idealized", "--engine", "fused")
    finished = interrupt(*arguments, "--max-steps", "1000000", after=3)
    assert finished.returncode == 130
    assert "Interrupted: 0 of 1 runs" in finished.stderr


@pytest.mark.program
def test_an_interrupted_trace_leaves_no_file_behind(tmp_path: Path) -> None:
    finished = interrupt("route", "512", "512", "--trace", str(tmp_path / "t"), after=2)
    assert finished.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_adds_its_flags() -> None:
    flags.set({name: f"--{name.replace('_', '-')}" for name in ("engine", "max_steps", "runs")})
    assert in_flags("max_steps = 0: no.", "max_steps") == "--max-steps 0: no."
    assert in_flags("survive = True: no.", "survive") == "survive = True: no."
    assert in_flags("s.toml, grid 1: runs = 0: no.", "runs") == "s.toml, grid 1: runs = 0: no."
    assert in_flags("Use engine='a' and runs=3, not engine='b c'.", others=["engine", "d"]) == (
        "Use --engine a and runs=3, not --engine b c."
    )


def test_parameters_that_are_no_options_of_the_command_stay(cli: Cli) -> None:
    cli("route", 2, 2)
    assert in_flags("runs = 0: d = 2.", "runs") == "--runs 0: d = 2."
    cli("check", "none.jsonl")
    assert in_flags("runs = 0: d = 2.", "runs") == "runs = 0: d = 2."


def test_errors_name_the_options_of_the_command(cli: Cli, tmp_path: Path) -> None:
    assert "Error: --engine 'no': there" in cli("route", 2, 2, "--engine", "no").err
    assert "Use --engine slots" in cli("route", 2, 2, "--router", "aks", "--engine", "fused").err
    assert "Error: --shards 3 chooses" in cli("results", "verify", "--all", "--shards", 3).err
    lines = "[[grid]]\nrouters = 'direct'\nd = 2\ng = 2\nmax_steps = 0\n"
    path = tmp_path / "s.toml"
    path.write_text(lines)
    assert "max_steps = 0" in cli("sweep", path).err
