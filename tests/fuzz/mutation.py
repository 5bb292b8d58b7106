"""Mutations: how one input is made of another.

Some change bytes without regard to their meaning. Others know lines, numbers, keys, JSON or tables
of SQLite, and leave most of the form in place, so that the meaning is reached as well.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from random import Random
from typing import Any, TypeAlias

MOST_BYTES = 1_000_000
"""An input is cut to this length, or it would take longer than thousands of others."""

NUMBERS = (
    "0", "-0", "1", "-1", "2", "3", "7", "1.0", "0.5", "-1.5", "1e3", "1e400", "-1e400", "1e-400",
    "NaN", "-Infinity", "Infinity", "nan", "inf", "2147483647", "2147483648", "-2147483649",
    "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "1" + "0" * 400, "-1" + "0" * 400,
    "9" * 4300, "1" * 4301, "007", "+3", "1_0", "0x10", "0b1", "1e1", " 4 ", "٣", "²", "Ⅷ", "½",
    "１", "۴۲",
)  # fmt: skip
"""Numbers at the ends of ranges, some too large for any, and signs that some readers accept."""

TOKENS = (
    b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\r\n", b"\r", b"\n", b"\n\n", b"\x0b",
    b"\x0c", b"\x1a", b"\x1b[2J", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0",
    b"\xed\xa0\x80", b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\\u001b[31m", b"\xc0\x80",
    b"\xf0\x9f\x9a\x80",
    b"\xff", b"null", b"true", b"false", b"NaN", b"[]", b"{}", b"[[]]", b'""', b"''", b'"', b"'",
    b",", b",,", b":", b";", b"\t", b" ", b"#", b"\\", b"/", b"|", b"(", b")", b"[", b"]", b"{",
    b"}", b"=", b"%", b"%s", b"{0}", b"</script>", b"<!--", b"<b>", b"@@DATA@@", b"-", b"--", b"+",
    b"*", b"..", b"1979-05-27T07:32:00Z", b"relay:S", b"shift:1", b"\xd9\xa3", b"\xc2\xb2",
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 15, 16, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, -0.0,
    1.0, float("inf"), float("nan"), "", "0", "packet", "ack", "control", "\ud800", "\0", "\x1b[2J",
    "</script><script>", [], {}, [[]], [0], [0, 0], [0, [0], "packet", 0], {"slot": 1}, "x" * 5000,
)  # fmt: skip

Mutation: TypeAlias = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""Takes the input, random numbers, and other inputs of its kind; returns a new input."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_KEY = re.compile(rb'"?\w{1,30}"?\s{0,9}[:=]\s*')


def mutated(data: bytes, rng: Random, others: Sequence[bytes], own: Sequence[Mutation]) -> bytes:
    """Change an input once or a few times, half of the time by mutations that its kind adds."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
        mutations = own if own and rng.random() < 0.5 else MUTATIONS
        data = rng.choice(mutations)(data, rng, others)[:MOST_BYTES]
    return data


def _span(data: bytes, rng: Random, most: int = 40) -> tuple[int, int]:
    begin = rng.randint(0, len(data))
    return begin, min(begin + rng.randint(1, most), len(data))


def _flip(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _random_bytes(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    begin, end = _span(data, rng, 4)
    return data[:begin] + rng.randbytes(rng.randint(1, 6)) + data[end:]


def _delete(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    begin, end = _span(data, rng)
    return data[:begin] + data[end:]


def _double(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    begin, end = _span(data, rng)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 2, 100)) + data[end:]


def _cut(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _token(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    begin = rng.choice((0, len(data), *[rng.randint(0, len(data))] * 4))
    end = begin + rng.choice((0, 0, 1, 3))
    return data[:begin] + rng.choice(TOKENS) + data[end:]


def _some(pattern: re.Pattern[bytes], data: bytes, rng: Random) -> re.Match[bytes] | None:
    """Return a place where a pattern is found, near a random one: all would take long."""
    for _ in range(3):
        begin = rng.randint(0, max(len(data) - 1, 0))
        if found := pattern.search(data, begin, begin + 2_000):
            return found
    return pattern.search(data, 0, 2_000)


def _number(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace a number by an extreme one, by its neighbour, or by another number of the input."""
    place, other = _some(_NUMBER, data, rng), _some(_NUMBER, data, rng)
    if place is None or other is None:
        return data + rng.choice(NUMBERS).encode()
    new = rng.choice(NUMBERS).encode()
    if rng.random() < 0.5:
        new = other[0]
    elif rng.random() < 0.3 and place[0].isdigit() and len(place[0]) < 18:
        new = str(int(place[0]) + rng.choice((-1, 1))).encode()
    return data[: place.start()] + new + data[place.end() :]


def _key(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Give a key twice, or under the name of another."""
    one, other = _some(_KEY, data, rng), _some(_KEY, data, rng)
    if one is None or other is None:
        return _token(data, rng, others)
    between = rng.choice((b"1, ", b"[], ", b"null, ", b"1\n", b'""\n'))
    new = other[0] if rng.random() < 0.5 else one[0] + between + one[0]
    return data[: one.start()] + new + data[one.end() :]


def _lines(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Repeat, remove, swap, join or move lines, or take one of another input."""
    lines = data.splitlines(keepends=True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines.insert(i, lines[j])
        case 1:
            del lines[i]
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            lines[i] = lines[i].rstrip(b"\r\n")
        case 4:
            lines.insert(i, rng.choice((b"\n", b" \n", b"\t\r\n", b"\0\n")))
        case _:
            lines[i] = rng.choice(rng.choice(others).splitlines(keepends=True) or [b""])
    return b"".join(lines)


def _long_line(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    begin = rng.randint(0, len(data))
    unit = rng.choice((b"0", b"1,", b" ", b"a", b'"a",', b"[0,0],", b"P1 ", b"\t", b"\xff"))
    return data[:begin] + unit * rng.choice((300, 5_000, 100_000)) + data[begin:]


def _nested(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    depth = rng.choice((3, 200, 1_000, 5_000, 100_000))
    left, right = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"{a=", b"}")))
    place = _some(_NUMBER, data, rng) or re.match(b"", data)
    assert place is not None
    inside = left * depth + place[0] + right * rng.choice((depth, 0, depth - 1))
    return data[: place.start()] + inside + data[place.end() :]


def _splice(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _encoded(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Write the text in another encoding, or with other ends of lines."""
    text = data.decode("utf-8", "replace")
    match rng.randrange(4):
        case 0:
            code = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7"))
            return text.encode(code, "replace")
        case 1:
            return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8")))
        case 2:
            return text.translate({48 + i: 0x0660 + i for i in range(10)}).encode()
        case _:
            return text.swapcase().encode("latin-1", "replace")


def small_number(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace a number by a small one."""
    place = _some(_NUMBER, data, rng)
    if place is None:
        return data
    return data[: place.start()] + str(rng.randrange(-1, 7)).encode() + data[place.end() :]


def swap_numbers(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Let two numbers change their places."""
    one, other = _some(_NUMBER, data, rng), _some(_NUMBER, data, rng)
    if one is None or other is None or one.start() == other.start():
        return data
    one, other = sorted((one, other), key=lambda found: found.start())
    between = data[one.end() : other.start()]
    return data[: one.start()] + other[0] + between + one[0] + data[other.end() :]


def setting(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace a value of TOML by one that its key may have, or by any other."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    key = lines[i].partition(b"=")[0].strip().decode("utf-8", "replace")
    if key in _SETTINGS:
        values = _SETTINGS[key]
    else:
        key, values = rng.choice(list(_SETTINGS.items()))
    value = rng.choice(values if rng.random() < 0.7 else _STRANGE)
    lines[i : i + (b"=" in lines[i])] = [f"{key} = {value}".encode()]
    return b"\n".join(lines)


_NAMES = ('"relay"', '["relay", "relay:S"]', '"relay:P1 F"', '["direct", "mei-rizzi"]', '"offline"')
_SETTINGS = {
    "label": ('""', '"x"', "'é'"),
    "shapes": ("[[2, 2]]", "[[1, 3], [3, 1]]", "[[2, 2], [2, 2]]", "[[1, 1]]"),
    "d": ("1", "2", "[1, 2]", "[4]"),
    "g": ("1", "2", "[2, 4]", "[3, 3]"),
    "n": ("4", "16", "[4, 16]", "12"),
    "ratio": ("1", "4", '"1/4"', '[1, "4/1"]', '["3", 3]', '"1/0"', '"2/2"'),
    "routers": _NAMES,
    "variants": ('"published"', '"S"', '["P2 P1", "XY(2,2)"]', "[]"),
    "permutations": ('"random"', '["shift:1", "shift:d"]', '"keyed"', '"tornado"', '"x.csv"'),
    "runs": ("1", "9", "10", "11", "10000000"),
    "seed": ("0", "7", "18446744073709551615"),
    "permutation_seed": ("0", "7", "18446744073709551615"),
    "max_steps": ("1", "2", "1000", "1000000"),
    "skip_inapplicable": ("true", "false"),
}
_STRANGE = (
    "0", "-1", "[]", "[1, 2]", "[[]]", "[[1, 2, 3]]", "nan", "inf", "1.0", "18446744073709551616",
    "9223372036854775807", "1" + "0" * 400, '""', '"input.toml"', '"x.py"', '"\\u0000"', "{}",
    '"\\u0000.npy"', "{a = 1}", "[{}]", "1979-05-27", "07:32:00", "0x10", "true", '"1"', *_NAMES,
)  # fmt: skip


def stage(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Put a stage of relay, or a bar, between or in place of others."""
    words = data.split(b" ")
    i = rng.randrange(len(words) + 1)
    words[i : i + rng.randrange(2)] = [rng.choice(_STAGES)]
    return b" ".join(words)


_STAGES = (
    b"P1", b"P2", b"P(1,2)", b"P(2, 1 ,3)", b"S", b"F", b"R1", b"R3", b"XY(2,2)", b"XY(1,4)", b"|",
    b"P", b"R", b"XY", b"S1", b"F(1)", b"R(1,2)", b"XY(2)", b"P()", b"XY()", b"P0", b"R0", b"\n",
    b"XY(0,1)", b"\t", b"P65536", b"P65537", b"PS", b"p1", b"P1,", b"P(1,)", b"P(,)", b"P+1",
    b"P-1", b"P 1", b"P1.0", b"P1_0", b"T4", b"T", b"Q", b"Q1", b"X2", b"X17",
)  # fmt: skip


def json_tree(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change a value somewhere in the JSON of a line; the line remains JSON."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    try:
        tree = [json.loads(lines[i])]
        around, key = rng.choice(_places(tree))
        if rng.random() < 0.4:
            around[key] = rng.choice(VALUES)
        elif isinstance(around, dict):
            around[rng.choice((*around, "extra"))] = around.pop(key)
        else:
            _change_list(around, key, rng)
        lines[i] = json.dumps(tree[0] if tree else None).encode()
    except (ValueError, RecursionError):  # not JSON, or too deep
        return data
    return b"\n".join(lines)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every container of a tree with each of its keys."""
    found, left = [], [tree]
    while left:
        one = left.pop()
        inside = list(one.items() if isinstance(one, dict) else enumerate(one))
        found += [(one, key) for key, _ in inside]
        left += [value for _, value in inside if isinstance(value, dict | list)]
    return found


def _change_list(around: list[Any], i: int, rng: Random) -> None:
    match rng.randrange(4):
        case 0:
            around.insert(i, around[i])
        case 1:
            del around[i]
        case 2:
            around[i] = rng.choice(around)
        case _:
            if type(around[i]) is int:
                around[i] += rng.choice((-1, 1))
            else:
                rng.shuffle(around)


def database(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change a cell, a row or a table of an SQLite file by a statement of SQL."""
    try:
        with closing(sqlite3.connect(":memory:")) as base:
            base.deserialize(data)
            _change_database(base, rng)
            base.commit()
            return base.serialize()
    except (sqlite3.Error, ArithmeticError, LookupError, MemoryError, ValueError):
        return data  # not a database any more, or an empty one


def _change_database(base: sqlite3.Connection, rng: Random) -> None:
    master = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    table = rng.choice([name for (name,) in base.execute(master)] or ["none"])
    columns = [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]
    first, second, *_ = columns
    rows = list(base.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2'))
    row, column = rng.choice(rows), rng.randrange(len(columns))
    where, key = f'WHERE "{first}" IS ? AND "{second}" IS ?', row[:2]
    match rng.randrange(8):
        case 0:
            base.execute(f'DELETE FROM "{table}" {where}', key)
        case 1:
            base.execute(f'DROP TABLE "{table}"')
        case 2:
            base.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{columns[column]}" TO other')
        case 3:
            pragma = rng.choice(("user_version", "application_id"))
            base.execute(f"PRAGMA {pragma} = {rng.choice((0, 1, 2, 3, 4, 99, -1))}")
        case 4:
            base.execute("PRAGMA writable_schema = ON")
            base.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
        case _:
            update = f'UPDATE "{table}" SET "{columns[column]}" = ? {where}'
            base.execute(update, [_cell(row[column], rng), *key])


def _cell(old: Any, rng: Random) -> Any:
    if rng.random() < 0.5:
        return rng.choice(_CELLS)
    text = old if isinstance(old, bytes) else str(old).encode()
    new = mutated(text, rng, [text], ())
    return new if isinstance(old, bytes) else new.decode("utf-8", "replace")


_CELLS: tuple[Any, ...] = (
    None, 0, -1, 1, 2**40, 2**63 - 1, 0.5, float("inf"), "", "x", "é\0", b"\xff", b"", "[]", "{}",
    "9" * 5000, '[["a", 1]]', '{"1": -1}', "[[1, 10]]",
)  # fmt: skip

MUTATIONS: tuple[Mutation, ...] = (
    _flip, _random_bytes, _delete, _double, _cut, _token, _token, _number, _number, _number, _key,
    _lines, _lines, _long_line, _nested, _splice, _encoded,
)  # fmt: skip
