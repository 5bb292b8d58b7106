"""Rows of an SQLite file, read page by page without SQLite, which refuses a damaged file.

The tables of a store have no row numbers, so each is a tree of pages whose cells are rows, in
leaves and above them. Every page that looks like one of these is read, wherever it belongs: the
first page, which has the schema, and the links between pages are not needed. What cannot be read is
left out. Rows of pages that are no longer in use are found as well, so the caller must check what
it gets. The format is described at https://www.sqlite.org/fileformat.html.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]

MAGIC = b"SQLite format 3\0"
USUAL_PAGE_SIZE = 4096
_MOST_PAYLOAD = 2**24
_HEADERS = {b"\x0a": (8, 0), b"\x02": (12, 4)}
"""Bytes before the list of cells, and bytes of a cell before its row.

By the kind of the page, which is a leaf, or a page above leaves with numbers of other pages.
"""
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_WAL_HEADER, _FRAME_HEADER = 32, 24


class Pages:
    """The pages of a file, with those that its write-ahead log replaces.

    Parameters
    ----------
    path : Path
        The file; a log is the file with ``-wal`` after its name.
    size : int
        Bytes per page.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        self._file = path.open("rb")
        self._bytes = path.stat().st_size
        self._replaced = dict(_logged(path.with_name(f"{path.name}-wal"), size))
        self.count = max([-(-self._bytes // size), *self._replaced])

    def __enter__(self) -> Pages:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def page(self, number: int) -> bytes:
        """Return a page, which is shorter where the file ends; pages count from 1."""
        if number in self._replaced:
            return self._replaced[number]
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size)

    def rows(self, done: Callable[[int], None] = lambda page: None) -> Iterator[Row]:
        """Yield the rows of all pages; ``done`` is called with the number of each page."""
        for number in range(2, self.count + 1):
            page = self.page(number)
            if page[:1] in _HEADERS:
                header, pointer = _HEADERS[page[:1]]
                end = min(header + 2 * int.from_bytes(page[3:5]), len(page) - 1)
                for i in range(header, end, 2):
                    start = int.from_bytes(page[i : i + 2])
                    try:
                        yield _row(self._payload(page, start + pointer))
                    except (ValueError, IndexError):  # a damaged cell
                        continue
            done(number)

    def _payload(self, page: bytes, start: int) -> bytes:
        """Return the bytes of a row, the rest of which may be on other pages."""
        length, start = _varint(page, start)
        if length > _MOST_PAYLOAD:
            raise ValueError
        local = _local_bytes(length, self.size)
        parts = [page[start : start + local]]
        following = int.from_bytes(page[start + local : start + local + 4])
        left = length - local
        while left > 0:
            if not 2 <= following <= self.count:
                raise ValueError
            page = self.page(following)
            parts.append(page[4 : 4 + left])
            following, left = int.from_bytes(page[:4]), left - (self.size - 4)
        return b"".join(parts)


def page_sizes(path: Path) -> list[int]:
    """Return the sizes that pages may have: what the file states, and the usual one."""
    with path.open("rb") as file:
        stated = int.from_bytes(file.read(18)[16:18])
    stated = 65536 if stated == 1 else stated
    is_size = stated >= 512 and stated.bit_count() == 1
    return list(dict.fromkeys([*([stated] if is_size else []), USUAL_PAGE_SIZE]))


def stated_pages(path: Path, size: int) -> int:
    """Return how many pages the file should have, if its first page can be believed."""
    with path.open("rb") as file:
        header = file.read(32)
    believed = header.startswith(MAGIC) and page_sizes(path)[0] == size
    return int.from_bytes(header[28:32]) if believed else 0


def _logged(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the pages of a write-ahead log up to its last commit, later ones last."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        header = file.read(_WAL_HEADER)
        if len(header) < _WAL_HEADER or int.from_bytes(header[8:12]) != size:
            return
        waiting: list[tuple[int, bytes]] = []
        while len(frame := file.read(_FRAME_HEADER + size)) == _FRAME_HEADER + size:
            if frame[8:16] != header[16:24]:  # of an earlier use of the log
                return
            waiting.append((int.from_bytes(frame[:4]), frame[_FRAME_HEADER:]))
            if any(frame[4:8]):  # a commit
                yield from waiting
                waiting = []


def _local_bytes(length: int, size: int) -> int:
    """Return how many bytes of a row are on the page of its cell."""
    most, least = (size - 12) * 64 // 255 - 23, (size - 12) * 32 // 255 - 23
    if length <= most:
        return length
    local = least + (length - least) % (size - 4)
    return local if local <= most else least


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return an integer of one to nine bytes, and where it ends."""
    value = 0
    for i in range(start, start + 8):
        value = value << 7 | data[i] & 0x7F
        if data[i] < 0x80:
            return value, i + 1
    return value << 8 | data[start + 8], start + 9


def _row(payload: bytes) -> Row:
    """Return the values of a row."""
    end, at = _varint(payload, 0)
    if end > len(payload):
        raise ValueError
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, at = _value(payload, kind, at)
        values.append(value)
    if at != len(payload):
        raise ValueError
    return tuple(values)


def _value(payload: bytes, kind: int, at: int) -> tuple[Any, int]:
    """Return a value of this kind, and where it ends."""
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), at
    length = _INTEGER_BYTES[kind] if kind < 7 else 8 if kind == 7 else (kind - 12) // 2
    data = payload[at : at + length]
    if kind in (10, 11) or len(data) != length:
        raise ValueError
    if kind == 7:
        return struct.unpack(">d", data)[0], at + 8
    if kind < 7:
        return int.from_bytes(data, signed=True), at + length
    return (data.decode() if kind % 2 else data), at + length
