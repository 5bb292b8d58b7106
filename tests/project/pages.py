"""Execute a page of the documents from top to bottom; CONTRIBUTING.md has the rules.

``python -m tests.project.pages PAGE...`` executes pages and writes what their commands print now
into their ``console`` blocks and doctests.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from popsnet.cli.main import main
from popsnet.programs import register
from popsnet.programs.router import all_routers
from popsnet.traffic import all_schedulers
from tests.conftest import Cli, Finished

ROOT = Path(__file__).parents[2]
WIDTH = 80
"""Columns of the terminal in which the commands of a page are run."""

_OPENING = re.compile(
    r"(?P<indent> *)(?P<fence>`{3,})(?P<language>\{[\w:-]+\}|[\w-]*) *(?P<rest>.*)"
)
_NOTE = re.compile(r"<!-- (not run|exit code): (.+?) -->")
_TITLE = re.compile(r'title="([^"]+)"')
_DURATION = re.compile(r"\bin [\d.,]+ (?:ms|s|min)\b")


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    """The line of its opening fence, from 1."""
    language: str
    title: str
    """The file that it is saved as, or an empty text."""
    text: str
    notes: dict[str, str]
    """What comments before it say, by "not run" and "exit code"."""


def pages() -> list[Path]:
    """Every page whose blocks are executed."""
    documents = sorted((ROOT / "docs").rglob("*.md"))
    written = [one.relative_to(ROOT) for one in documents if one.read_text("utf-8").count("\n") > 1]
    return [Path("README.md"), Path("CONTRIBUTING.md"), *written]  # others have only a title


def blocks(text: str, language: str | None = None) -> list[Block]:
    """Return the fenced blocks of a page, or those of one language, in order."""
    found: list[Block] = []
    notes: dict[str, str] = {}
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if opening := _OPENING.fullmatch(line):
            inside = list(_until(opening["fence"], lines, number))
            title = _TITLE.search(opening["rest"])
            body = "".join(one.removeprefix(opening["indent"]) + "\n" for one in inside)
            name = title[1] if title else ""
            found.append(Block(number, opening["language"], name, body, notes))
        if line.strip():
            notes = dict(_NOTE.findall(line))
    return [block for block in found if language in (None, block.language)]


def _until(fence: str, lines: Iterator[tuple[int, str]], opened: int) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == fence:
            return
        yield line
    raise ValueError(f"the block of line {opened} has no end")


def words_of_svg(path: Path) -> list[str]:
    """Return the texts of a figure, in order of the alphabet: the same for every matplotlib.

    Texts that are drawn as paths are in comments.
    """
    svg = path.read_text(encoding="utf-8")
    found = re.findall(r"<text.*?</text>|<!--.*?-->", svg, re.DOTALL)
    return sorted(" ".join(re.sub(r"<!--|-->|<[^>]*>", "", one).split()) for one in found)


def joined(text: str) -> list[str]:
    """Return the lines of a text; a line that ends with a backslash is continued by the next."""
    return re.sub(r"\\\n(?:> )?\s*", "", text).splitlines()


class Page:
    """A page that is being executed, in the present folder.

    Parameters
    ----------
    text
        The page.
    cli
        Calls the command line in this process.
    folder
        An empty folder outside of the present one, for a ``popsnet`` that shells find.
    """

    def __init__(self, text: str, cli: Cli, folder: Path) -> None:
        self.blocks = blocks(text)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._cli = cli
        self._path = f"{_command(folder)}{os.pathsep}{os.environ['PATH']}"

    def execute(self) -> None:
        """Execute every block; the first that does not do what the page says is an error."""
        executed: dict[str, Callable[[Block], None]] = {
            "python": self._python,
            "console": self._console,
            "sh": self._sh,
        }
        for block in self.blocks:
            if "not run" in block.notes:
                continue
            if block.title:
                _save(block)
            elif block.language in executed:
                executed[block.language](block)
            elif not block.language.startswith("{"):  # a directive of the site
                assert block.language in NOT_EXECUTED, f"line {block.line}: {_UNKNOWN}"

    def _python(self, block: Block) -> None:
        where = f"line {block.line} of the page"
        if ">>>" in block.text:
            self._doctest(block, where)
        else:
            exec(compile("\n" * block.line + block.text, where, "exec"), self.names)

    def _doctest(self, block: Block, where: str) -> None:
        asked = doctest.DocTestParser().get_doctest(
            block.text, self.names, where, where, block.line
        )
        said: list[str] = []
        runner = _Runner(_Checker(), verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(asked, out=said.append, clear_globs=False)
        self.names.update(asked.globs)
        self._report(runner, "".join(said))

    def _report(self, runner: _Runner, said: str) -> None:
        assert not runner.failures, said

    def _console(self, block: Block) -> None:
        for sample in re.split(r"^\$ ", "\n".join(joined(block.text)), flags=re.MULTILINE)[1:]:
            command, _, shown = sample.partition("\n")
            refused = shown.startswith("Error: ")
            finished = self._run(command)
            code = int(block.notes.get("exit code", 2 if refused else 0))
            assert finished.code == code, (command, finished.code, finished.out + finished.err)
            if shown.strip():
                self._compare(block, command, shown, finished.err if refused else finished.out)

    def _compare(self, block: Block, command: str, shown: str, printed: str) -> None:
        require_same(command, shown, printed)

    def _sh(self, block: Block) -> None:
        code = int(block.notes.get("exit code", 0))
        for line in joined(block.text):
            if line.startswith(("popsnet ", "printf ")):
                finished = self._run(line)
                assert finished.code == code, (line, finished.code, finished.err)

    def _run(self, command: str) -> Finished:
        words = shlex.split(command, comments=True)
        if words[0] != "popsnet" or {"|", ">", ">>", "<", "&&", ";"} & set(words):
            environment = {**os.environ, "PATH": self._path}
            done = subprocess.run(
                ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment
            )
            return Finished(done.returncode, done.stdout, done.stderr)
        with routers_kept():
            return self._cli(*words[1:])


NOT_EXECUTED = {"text", "json", "toml", "csv", "bibtex", "html", "markdown", "yaml"}
"""Languages of blocks that are shown, unless a title makes files of them."""

_UNKNOWN = (
    "name the block's language: python, console or sh for what is run, text or another of "
    f"{', '.join(sorted(NOT_EXECUTED))} for what is not"
)


class _Runner(doctest.DocTestRunner):
    """Keeps what examples printed that did not print what they should."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.wrong: list[tuple[doctest.Example, str]] = []

    def report_failure(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        super().report_failure(out, test, example, got)
        self.wrong.append((example, got))


class _Checker(doctest.OutputChecker):
    """Compares what examples print, but for the time that something took."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_timeless(want), _timeless(got), optionflags)


def _timeless(text: str) -> str:
    return _DURATION.sub("in some time", text)


def require_same(command: str, shown: str, printed: str) -> None:
    """Compare what a page shows with what is printed; a line ``...`` stands for any lines."""
    expected, got = (
        [line.rstrip() for line in _timeless(text).rstrip().splitlines()]
        for text in (shown, printed)
    )
    if "..." not in expected:
        assert got == expected, f"{command} prints\n{printed}"
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected
    )
    text = "".join(line + "\n" for line in got)
    assert re.fullmatch(pattern, text), f"{command} prints\n{printed}"


def _save(block: Block) -> None:
    path = Path(block.title)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def _command(folder: Path) -> Path:
    """Make an executable ``popsnet`` in a folder, for pipes and redirections."""
    script = folder / "popsnet"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m popsnet "$@"\n')
    script.chmod(0o755)
    return folder


@contextmanager
def routers_kept() -> Iterator[None]:
    """Afterwards the register is as before, as in a program of its own."""
    all_routers(), all_schedulers()  # those that ship stay
    kept = dict(register._PROGRAMS)
    try:
        yield
    finally:
        register._PROGRAMS.clear()
        register._PROGRAMS.update(kept)


class _Renewed(Page):
    """A page whose ``console`` blocks and doctests get what is printed now."""

    def __init__(self, text: str, cli: Cli, folder: Path) -> None:
        super().__init__(text, cli, folder)
        self.text = text

    def _compare(self, block: Block, command: str, shown: str, printed: str) -> None:
        try:
            require_same(command, shown, printed)
        except AssertionError:
            printed = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
            # A command may go on behind a backslash, on the next line.
            pattern = r"(?:\s*\\\n)?\s+".join(map(re.escape, command.split()))
            written = re.search(rf"\$ {pattern}\n", self.text)
            asked = f"$ {command}\n" if written is None else written[0]
            self._replace(asked, shown.rstrip("\n") + "\n", printed)

    def _report(self, runner: _Runner, said: str) -> None:
        assert runner.failures == len(runner.wrong), said  # an error, not another output
        for example, got in runner.wrong:
            source = "\n... ".join(example.source.splitlines())
            self._replace(f">>> {source}\n", example.want, got)

    def _replace(self, asked: str, old: str, new: str) -> None:
        assert asked + old in self.text, f"edit this by hand:\n{asked}{new}"
        self.text = self.text.replace(asked + old, asked + new, 1)


def _call(*arguments: object) -> Finished:
    """Call the command line in this process."""
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(one, encoding="utf-8", write_through=True) for one in raw)
    sys.argv = ["popsnet", *map(str, arguments)]
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    texts = (one.getvalue().decode() for one in raw)
    return Finished(code if isinstance(code, int) else int(code is not None), *texts)


def renew(path: Path) -> None:
    """Execute a page and write what its commands print now into it."""
    page = path.resolve()
    with TemporaryDirectory() as name, chdir(name), routers_kept():
        folder, programs = Path(name, "page"), Path(name, "programs")
        prepare(folder, programs)
        with chdir(folder):
            renewed = _Renewed(page.read_text(encoding="utf-8"), _call, programs)
            try:
                renewed.execute()
            finally:
                page.write_text(renewed.text, encoding="utf-8")


def prepare(folder: Path, programs: Path) -> None:
    """Make the folders that a page is executed in."""
    (folder / "docs").mkdir(parents=True)
    programs.mkdir()
    (folder / "docs/examples").symlink_to(ROOT / "docs/examples")


if __name__ == "__main__":
    os.environ |= {"COLUMNS": str(WIDTH), "MPLBACKEND": "agg"}
    webbrowser.open = lambda *_, **__: False  # no page opens a window
    for given in sys.argv[1:]:
        renew(Path(given))
