"""``python -m popsnet``: the command line."""

from popsnet.cli.main import main

main()
