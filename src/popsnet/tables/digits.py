"""Numbers in bytes, parsed and written by compiled code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled

_SPACE, _NEWLINE, _RETURN, _COMMA = 32, 10, 13, 44
_PLUS, _MINUS, _ZERO, _NINE = 43, 45, 48, 57
_MOST_DIGITS = 18


@compiled
def parse_digits(
    data: npt.NDArray[np.uint8],
    begin: int,
    separator: int,
    point: int,
    numbers: npt.NDArray[np.int64],
    places: npt.NDArray[np.int8],
) -> int:
    """Parse rows of numbers, and return how many there are, or -1 if something else is there.

    The number is ``numbers / 10**places``, and ``point`` the decimal sign. There may be spaces
    around numbers, and empty lines at the end.
    """
    i, size, row, columns = begin, len(data), 0, numbers.shape[1]
    while True:
        j = i
        while j < size and (data[j] == _SPACE or data[j] == _RETURN or data[j] == _NEWLINE):
            j += 1
        if j == size:
            return row
        for column in range(columns):
            spaces = i
            while i < size and data[i] == _SPACE:
                i += 1
            if separator == _SPACE and column > 0 and i == spaces:
                return -1
            if i == size:
                return -1
            sign = 1
            if data[i] == _MINUS or data[i] == _PLUS:
                sign = -1 if data[i] == _MINUS else 1
                i += 1
            number, first = 0, i
            while i < size and _ZERO <= data[i] <= _NINE:
                number = number * 10 + (int(data[i]) - _ZERO)
                i += 1
            digits = i - first
            if digits == 0 or digits > _MOST_DIGITS:
                return -1
            if i < size and data[i] == point:
                i += 1
                first = i
                while i < size and _ZERO <= data[i] <= _NINE:
                    number = number * 10 + (int(data[i]) - _ZERO)
                    i += 1
                if i == first or digits + i - first > _MOST_DIGITS:
                    return -1
                places[row, column] = i - first
            numbers[row, column] = sign * number
            if column < columns - 1 and separator != _SPACE:
                while i < size and data[i] == _SPACE:
                    i += 1
                if i == size or data[i] != separator:
                    return -1
                i += 1
        while i < size and data[i] == _SPACE:
            i += 1
        if i < size and data[i] == _RETURN:
            i += 1
        if i < size:
            if data[i] != _NEWLINE:
                return -1
            i += 1
        row += 1


@compiled
def format_digits(table: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> int:
    """Write rows of numbers with commas between them, and return how many bytes these are.

    A negative number is an empty cell. ``text`` must have room for 20 bytes per number.
    """
    end = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            if column > 0:
                text[end] = _COMMA
                end += 1
            number = table[row, column]
            if number < 0:
                continue
            digits, rest = 1, number // 10
            while rest > 0:
                digits += 1
                rest //= 10
            for place in range(end + digits - 1, end - 1, -1):
                text[place] = _ZERO + number % 10
                number //= 10
            end += digits
        text[end] = _NEWLINE
        end += 1
    return end
