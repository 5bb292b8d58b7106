"""The command ``popsnet``, and ``python -m popsnet``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C or a lack of memory during imports ends it quietly, too."""
    from popsnet.errors import SizeError, lacks_memory

    try:
        from popsnet.system import prepare_libraries

        prepare_libraries()
        from popsnet.cli.main import main as run

        run()
    except KeyboardInterrupt:
        from popsnet.cli.exit_codes import ExitCode

        print("Interrupted.", file=sys.stderr)
        sys.exit(ExitCode.INTERRUPTED)
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


if __name__ == "__main__":
    main()
