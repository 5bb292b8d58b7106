"""The command ``popsnet``, and ``python -m popsnet``."""

import atexit
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line; signals before and after the command end the process at once.

    They raise no exception, because imports and what Python does at its end would print it, or go
    on without what it has interrupted. A lack of memory during imports ends it quietly, too.
    """
    end_at_signals()
    atexit.register(_leave)  # the first one registered is the last one called
    from popsnet.errors import SizeError, lacks_memory

    try:
        from popsnet.system import prepare_libraries

        prepare_libraries()
        from popsnet.cli.main import main as run

        run()
    except SystemExit as end:
        end_at_signals(end.code if isinstance(end.code, int) else 1)  # the command has ended
        raise
    except SizeError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except (MemoryError, ImportError, OSError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        print(
            "Error: Memory ran out, perhaps while popsnet was being started. Allow it more memory, "
            "for example by a larger limit (ulimit -v).",
            file=sys.stderr,
        )
        sys.exit(1)


def end_at_signals(code: int | None = None) -> None:
    """Let signals end the process with a code, or with their own if the command has not begun."""

    def end(number: int, frame: FrameType | None) -> None:
        if code is None:
            try:
                os.write(2, b"Interrupted.\n")
            finally:
                os._exit(128 + number)
        os._exit(code)

    for one in _heeded():
        signal.signal(one, end)


def _leave() -> None:
    """Let no signal end Python while it ends; it would take the place of the exit code.

    As ``python -m``, Python would end itself by SIGINT if an interrupt came while a text was
    executed, as when a dataclass is made.
    """
    for one in _heeded():
        signal.signal(one, signal.SIG_IGN)
    if _interrupted:
        os._exit(_interrupted)


def _heeded() -> list[signal.Signals]:
    """Return the signals that were not ignored when the process was started."""
    both = signal.SIGINT, signal.SIGTERM
    return [one for one in both if signal.getsignal(one) != signal.SIG_IGN]


_interrupted = 0
"""The exit code of a command that was interrupted."""

if __name__ == "__main__":
    try:
        main()
    except SystemExit as end:
        _interrupted = int(end.code) if end.code in (130, 143) else 0
        raise
