"""The command ``popsnet``, and ``python -m popsnet``."""

import sys


def main() -> None:
    """Run the command line; a lack of memory or Ctrl-C during imports ends it quietly."""
    from popsnet.base.errors import lacks_memory

    try:
        from popsnet.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
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
