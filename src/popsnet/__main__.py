"""The command ``popsnet``, and ``python -m popsnet``."""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; signals before and after the command end the process at once."""
    _end_at_signals()
    from popsnet.cli.main import main as run

    try:
        run()
    except SystemExit as end:
        _end_at_signals(end.code if isinstance(end.code, int) else 1)  # the command has ended
        raise


def _end_at_signals(code: int | None = None) -> None:
    """End with a code, or with that of the signal; a signal that is ignored stays ignored.

    No exception is raised, because imports and what Python does at its exit may be anywhere.
    """

    def end(number: int, frame: FrameType | None) -> None:
        if code is None:
            try:
                os.write(2, b"Interrupted.\n")
            except OSError:  # there is no one to tell
                os._exit(128 + number)
        os._exit(128 + number if code is None else code)

    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) != signal.SIG_IGN:
            signal.signal(one, end)


if __name__ == "__main__":
    main()
