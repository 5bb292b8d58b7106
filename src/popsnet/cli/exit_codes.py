"""How a command ends: its exit codes, all of them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command, with their meaning as ``meaning``."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Keep the meaning beside the number."""
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code

    DONE = 0, "The command did what was asked."
    FAILED = 1, "A check failed, a router broke a rule, packets are missing, or memory ran out."
    BAD_INPUT = 2, "An argument, an option or a file cannot be used."
    CANNOT_WRITE = 74, "The output could not be written, for example to a full disk."
    INTERRUPTED = 130, "Interrupted by Ctrl-C; finished work is reported and kept."
    BROKEN_PIPE = 141, "The program that read the output closed it."
    TERMINATED = 143, "Ended by SIGTERM, in the same way as by Ctrl-C."
