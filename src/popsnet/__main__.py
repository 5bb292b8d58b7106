"""The command ``popsnet``, and ``python -m popsnet``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while its modules are still imported ends it quietly, too."""
    try:
        from popsnet.cli.main import main as run

        run()
    except KeyboardInterrupt:
        from popsnet.cli.exit_codes import ExitCode

        print("Interrupted.", file=sys.stderr)
        sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
