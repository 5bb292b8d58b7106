"""What the processor can do with bits and Numba has no word for."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from popsnet.compiled import compiled

LANES = 8
"""Numbers that ``pack`` takes at a time."""

__all__ = ["LANES", "lowest_bit", "ones", "pack"]


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _population(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _packed(
    context: Any, flags: Any, numbers: Any, k: Any, out: Any, s: Any
) -> Any:  # fmt: skip
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        data = {
            at: context.make_array(kinds[at])(context, builder, arguments[at]).data
            for at in (0, 1, 3)
        }
        some = builder.load(_lanes(builder, data[0], arguments[2], 8), align=1)
        ones = ir.Constant(some.type, [1] * LANES)
        alone = builder.icmp_unsigned("==", some, ones)
        values = builder.load(_lanes(builder, data[1], arguments[2], 32), align=4)
        bits = builder.bitcast(alone, ir.IntType(LANES))
        if "+avx2" in context.codegen()._tm_features.split(","):
            _permute(builder, values, bits, _lanes(builder, data[3], arguments[4], 32))
        else:
            _one_by_one(builder, values, alone, data[3], arguments[4])
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    u64 = types.uint64
    return u64(flags, numbers, u64, out, u64), generate


def _lanes(builder: Any, data: Any, index: Any, width: int) -> Any:
    """A pointer to the numbers from an index on, as one vector."""
    vector = ir.VectorType(ir.IntType(width), LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _permute(builder: Any, values: Any, bits: Any, out: Any) -> None:
    """Bring the chosen lanes to the front: which go where is looked up."""
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
    found = builder.load(builder.bitcast(place, ir.VectorType(byte, LANES).as_pointer()), align=1)
    function = builder.module.declare_intrinsic(
        "llvm.x86.avx2.permd", (), ir.FunctionType(indices, [indices, indices])
    )
    builder.store(builder.call(function, [values, builder.zext(found, indices)]), out, align=4)


def _one_by_one(builder: Any, values: Any, alone: Any, data: Any, at: Any) -> None:
    """Write every lane, and move on behind those that are chosen."""
    data = builder.bitcast(data, values.type.element.as_pointer())
    for lane in range(LANES):
        index = ir.Constant(ir.IntType(32), lane)
        builder.store(builder.extract_element(values, index), builder.gep(data, [at]))
        moved = builder.zext(builder.extract_element(alone, index), ir.IntType(64))
        at = builder.add(at, moved)


_count_trailing_zeros = cast("Any", intrinsic)(_trailing_zeros)
_count_ones = cast("Any", intrinsic)(_population)
pack = cast("Any", intrinsic)(_packed)
"""``pack(flags, numbers, k, out, s)``: of eight 32-bit numbers from the k-th on, write those whose
flag is 1 from out[s] on, and return how many; out has room for eight."""


@compiled(inline=True)
def lowest_bit(word: np.uint64) -> int:
    """The position of the lowest bit that is set in a word that is not 0."""
    return _count_trailing_zeros(word)  # type: ignore[no-any-return]


@compiled(inline=True)
def ones(word: np.uint64) -> np.uint64:
    """How many bits are set in a word."""
    return _count_ones(word)  # type: ignore[no-any-return]
