"""A recording: a run to be played, which is its trace and what to call it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

from popsnet.errors import InputError, TraceFormatError
from popsnet.trace.reader import Header, TraceReader

MOST_TEXT = 64_000_000
"""Bytes of traces on one page; a browser holds several times as much."""


class Recording(NamedTuple):
    """A trace with the name that the page gives it."""

    name: str
    text: str
    file: str = ""
    """Where it comes from; added to the name where another run has the same."""

    @classmethod
    def of(cls, text: str, file: str = "") -> Recording:
        """A recording named after its router and variant."""
        header = cls(file or "the trace", text).header()
        return cls(f"{header.router} ({header.variant})", text, file)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """The trace in a file, of which only the header is looked at."""
        try:
            size = path.stat().st_size
            if size > MOST_TEXT:
                raise too_long(f"{path} has {size:,} bytes, and a page has room for {MOST_TEXT:,}")
            text = path.read_bytes().decode("utf-8-sig", errors="replace")
        except OSError as error:
            raise TraceFormatError(f"{path} cannot be read: {error.strerror}.") from error
        return cls.of(text, path.name)

    @property
    def label(self) -> str:
        """What to call it in an error: its name, and the file if it comes from one."""
        return f"{self.file}, {self.name}" if self.file else self.name

    def header(self) -> Header:
        """What the first line says."""
        return TraceReader(self.name, io.BytesIO(self.encoded())).header

    def encoded(self) -> bytes:
        """The text as bytes; half a character, which no file can hold, becomes a question mark."""
        return self.text.encode(errors="replace")


def too_long(what: str) -> InputError:
    """The error for more text than there is room for."""
    return InputError(f"{what}; show fewer runs, a smaller network or fewer steps.")
