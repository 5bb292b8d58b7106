"""Bits and quotients: instructions of the processor that Numba does not offer."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import U32, U64

LANES = 8
"""The numbers that ``pack`` takes at a time."""

_1, _TOP, _FULL = np.uint64(1), np.uint64(2**63), np.uint64(2**64 - 1)


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _population(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _flags_set(context: Any, flags: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature, arguments, 0)
        some = builder.load(_lanes(builder, data, arguments[1], 8), align=1)
        alone = builder.icmp_unsigned("==", some, ir.Constant(some.type, [1] * LANES))
        return builder.zext(builder.bitcast(alone, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(flags, types.uint64), generate


def _packed(context: Any, chosen: Any, numbers: Any, k: Any, out: Any, s: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = _data(context, builder, signature, arguments, 1)
        out = _data(context, builder, signature, arguments, 3)
        values = builder.load(_lanes(builder, numbers, arguments[2], 32), align=4)
        bits = builder.trunc(arguments[0], ir.IntType(LANES))
        if "+avx2" in context.codegen().magic_tuple()[2].split(","):
            _permute(builder, values, bits, _lanes(builder, out, arguments[4], 32))
        else:
            _one_by_one(builder, values, bits, out, arguments[4])
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    u64 = types.uint64
    return u64(u64, numbers, u64, out, u64), generate


def _data(context: Any, builder: Any, signature: Any, arguments: Any, at: int) -> Any:
    """Return a pointer to the numbers of an array."""
    return context.make_array(signature.args[at])(context, builder, arguments[at]).data


def _lanes(builder: Any, data: Any, index: Any, width: int) -> Any:
    """Return a pointer to the numbers from an index on, as one vector."""
    vector = ir.VectorType(ir.IntType(width), LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _permute(builder: Any, values: Any, bits: Any, out: Any) -> None:
    """Bring the chosen lanes to the front by a table lookup."""
    byte, word = ir.IntType(8), ir.IntType(32)
    indices, row = ir.VectorType(word, LANES), ir.ArrayType(byte, LANES)
    name = "popsnet.chosen_lanes"
    table = builder.module.globals.get(name)
    if table is None:
        chosen = [[i for i in range(LANES) if mask >> i & 1] for mask in range(2**LANES)]
        rows = [ir.Constant(row, (some + [0] * LANES)[:LANES]) for some in chosen]
        kind = ir.ArrayType(row, 2**LANES)
        table = ir.GlobalVariable(builder.module, kind, name)
        table.initializer, table.global_constant = ir.Constant(kind, rows), True
        table.linkage = "internal"
    zero, which = ir.Constant(ir.IntType(64), 0), builder.zext(bits, ir.IntType(64))
    place = builder.gep(table, [zero, which])
    lanes = builder.load(builder.bitcast(place, ir.VectorType(byte, LANES).as_pointer()), align=1)
    function = builder.module.declare_intrinsic(
        "llvm.x86.avx2.permd", (), ir.FunctionType(indices, [indices, indices])
    )
    builder.store(builder.call(function, [values, builder.zext(lanes, indices)]), out, align=4)


def _one_by_one(builder: Any, values: Any, bits: Any, data: Any, at: Any) -> None:
    """Write every lane, and advance after those that are chosen."""
    data = builder.bitcast(data, values.type.element.as_pointer())
    chosen = builder.bitcast(bits, ir.VectorType(ir.IntType(1), LANES))
    for lane in range(LANES):
        index = ir.Constant(ir.IntType(32), lane)
        builder.store(builder.extract_element(values, index), builder.gep(data, [at]))
        moved = builder.zext(builder.extract_element(chosen, index), ir.IntType(64))
        at = builder.add(at, moved)


def _added(context: Any, numbers: Any, k: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(_data(context, builder, signature, arguments, 0), [arguments[1]])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(numbers, types.int64, types.int64), generate


def _loaded(context: Any, numbers: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(_data(context, builder, signature, arguments, 0), [arguments[1]])
        if context.codegen().magic_tuple()[0].startswith("x86_64"):
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), nothing), [])
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(numbers, types.int64), generate


lowest_bit = cast("Any", intrinsic)(_trailing_zeros)
"""``lowest_bit(word)``: the position of the lowest set bit of a word that is not 0."""

ones = cast("Any", intrinsic)(_population)
"""``ones(word)``: the number of set bits of a word."""

flags_set = cast("Any", intrinsic)(_flags_set)
"""``flags_set(flags, k)``: a bit for each of eight flags from the k-th on, set if it is 1."""

pack = cast("Any", intrinsic)(_packed)
"""``pack(chosen, numbers, k, out, s)``: of eight 32-bit numbers from the k-th on, write those whose
bit is set from out[s] on, and return how many. Eight places of ``out`` are written."""

add_shared = cast("Any", intrinsic)(_added)
"""``add_shared(numbers, k, value)``: add to a number that other threads change, too, and return its
old value. Other threads that see the sum also see what this thread wrote before."""

load_shared = cast("Any", intrinsic)(_loaded)
"""``load_shared(numbers, k)``: read such a number in a loop that waits for it."""


@compiled
def unpack(bits: U64, words: int, numbers: U32) -> int:
    """Write the positions of the set bits of some words, and return how many there are."""
    s = 0
    for w in range(words):
        rest = bits[w]
        if rest == _FULL:  # all of them, as in the first step
            for bit in range(64):
                numbers[s + bit] = w * 64 + bit
            s += 64
            continue
        while rest != 0:
            numbers[s] = w * 64 + lowest_bit(rest)
            rest &= rest - _1
            s += 1
    return s


def divisor_of(number: int) -> tuple[int, int]:
    """Return a divisor for :func:`divide`, exact below 2^31 (Granlund and Montgomery, 1994)."""
    shift = 31 + (number - 1).bit_length()
    return (1 << shift) // number + 1, shift


@compiled(inline=True)
def divide(value: np.uint64, by: tuple[int, int] | tuple[np.uint64, np.uint64]) -> np.uint64:
    """Return the quotient by the number that ``by`` stands for."""
    return (value * np.uint64(by[0])) >> np.uint64(by[1])


@compiled(inline=True)
def remainder(value: np.uint64, divisor: np.uint64, reciprocal: float) -> np.uint64:
    """Return value mod divisor for values below 2^52, by a product with 1 / divisor."""
    rest = value - np.uint64(float(value) * reciprocal) * divisor
    rest += divisor * np.uint64(rest > _TOP)  # the quotient was one too large, or
    rest -= divisor * np.uint64(rest >= divisor)  # one too small
    return rest
