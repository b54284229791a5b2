"""A register type for numba: `lanes` numbers side by side, worked on by one instruction.

A `Vector` is an LLVM vector of float32, float64, int32, int64 or bool. Its values stay in registers
across a loop, and LLVM splits them into whatever the processor has (zmm, ymm, xmm; with one lane,
plain scalars). Nothing here reorders or contracts arithmetic, so a lane's result does not depend on
how many lanes stand beside it.

How many lanes, and of which float, is the *type* of an argument called `form` below: a tuple of
that many NumPy floats, made by `form_of`. A global would not do, since numba's disk cache does
not see the values of globals and would reuse code compiled for another width.

Memory is addressed in whole registers from the start of a contiguous array, NOT bounds checked:
`load(form, a, 3)` reads numbers 3 * lanes ... 4 * lanes - 1 of `a`, whatever its shape.
"""

# mypy: disable-error-code="misc, no-untyped-def, no-untyped-call, untyped-decorator"

import operator
from math import gcd
from typing import Any, Final

import numba.extending
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

intrinsic: Any = numba.extending.intrinsic


def form_of(dtype: Any, lanes: int) -> tuple[Any, ...]:
    """The argument that tells compiled code its float type and its number of lanes."""
    return (np.dtype(dtype).type(0),) * lanes


def register_of(form: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of a form's lanes that fills a register, for code that carries much along.

    >>> len(register_of(form_of(np.float32, 32))), len(register_of(form_of(np.float64, 12)))
    (16, 4)
    """
    return form[: gcd(len(form), WIDEST // form[0].itemsize)]


WIDEST: Final = 64
"""Bytes of a register, where they are widest; LLVM makes two of it elsewhere."""


class Vector(types.Type):
    """`lanes` values of the numba scalar type `dtype` in one LLVM vector."""

    def __init__(self, dtype: Any, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"Vector({dtype}, {lanes})")

    @property
    def key(self) -> tuple[Any, int]:
        """What makes two of these types the same."""
        return self.dtype, self.lanes

    @property
    def is_float(self) -> bool:
        """Whether the lanes hold floats."""
        return isinstance(self.dtype, types.Float)

    def of(self, dtype: Any) -> "Vector":
        """As many lanes of another type."""
        return Vector(dtype, self.lanes)

    @property
    def llvm(self) -> Any:
        """The LLVM type."""
        return ir.VectorType(_ELEMENT[self.dtype], self.lanes)


_ELEMENT: dict[Any, Any] = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
    types.boolean: ir.IntType(1),
}


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, vector.llvm)


def _real(form: Any) -> Vector:
    """The float register that a `form` argument stands for."""
    return Vector(form.dtype, form.count)


def _splat(builder: Any, value: Any, vector: Vector) -> Any:
    one = builder.insert_element(ir.Constant(vector.llvm, ir.Undefined), value, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), None)
    return builder.shuffle_vector(one, ir.Constant(vector.llvm, ir.Undefined), lanes)


def _call(builder: Any, name: str, vector: Vector, *args: Any) -> Any:
    """Call the LLVM intrinsic of that name for this register type."""
    element = f"{'f' if vector.is_float else 'i'}{vector.dtype.bitwidth}"
    kind = ir.FunctionType(vector.llvm, [arg.type for arg in args])
    function = cgutils.get_or_insert_function(
        builder.module, kind, f"llvm.{name}.v{vector.lanes}{element}"
    )
    return builder.call(function, args)


# Memory


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    base = context.make_array(array_type)(context, builder, array).data
    return builder.gep(base, [index])


def _register_address(context, builder, array_type, array, index, vector) -> Any:
    first = builder.mul(index, ir.Constant(index.type, vector.lanes))
    pointer = _address(context, builder, array_type, array, first)
    return builder.bitcast(pointer, vector.llvm.as_pointer())


@intrinsic
def load(typingctx, form, array, index):
    """Register number `index` of `array`."""
    vector = Vector(array.dtype, form.count)

    def code(context, builder, sig, args):
        place = builder.sext(args[2], ir.IntType(64)) if sig.args[2].bitwidth < 64 else args[2]
        pointer = _register_address(context, builder, sig.args[1], args[1], place, vector)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(form, array, index), code


@intrinsic
def store(typingctx, array, index, value):
    """Write `value` as register number `index` of `array`."""

    def code(context, builder, sig, args):
        pointer = _register_address(context, builder, sig.args[0], args[0], args[1], value)
        builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def peek(typingctx, array, index):
    """One number of `array`, without the wrap-around that `array[index]` adds for index < 0."""

    def code(context, builder, sig, args):
        return builder.load(_address(context, builder, sig.args[0], args[0], args[1]))

    return array.dtype(array, types.intp), code


@intrinsic
def poke(typingctx, array, index, value):
    """Set one number of `array`, likewise."""

    def code(context, builder, sig, args):
        number = context.cast(builder, args[2], value, array.dtype)
        builder.store(number, _address(context, builder, sig.args[0], args[0], args[1]))
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def prefetch(typingctx, array, index):
    """Have the number at `index` of `array` brought near, without waiting for it."""

    def code(context, builder, sig, args):
        byte = ir.IntType(8).as_pointer()
        place = builder.bitcast(_address(context, builder, sig.args[0], args[0], args[1]), byte)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [place, number(0), number(3), number(1)])  # a read, of data, soon
        return context.get_dummy_value()

    return types.void(array, types.intp), code


@intrinsic
def gather(typingctx, array, index):
    """array.flat[index] lane by lane, for an int32 register of indices."""
    vector = index.of(array.dtype)

    def code(context, builder, sig, args):
        value = ir.Constant(vector.llvm, ir.Undefined)
        for lane in range(vector.lanes):
            position = ir.IntType(32)(lane)
            place = builder.sext(builder.extract_element(args[1], position), ir.IntType(64))
            pointer = _address(context, builder, sig.args[0], args[0], place)
            value = builder.insert_element(value, builder.load(pointer), position)
        return value

    return vector(array, index), code


# Making registers


def _fill(vector: Vector, form: Any, value: Any) -> Any:
    def code(context, builder, sig, args):
        scalar = context.cast(builder, args[1], value, vector.dtype)
        return _splat(builder, scalar, vector)

    return vector(form, value), code


@intrinsic
def reals(typingctx, form, value):
    """The number `value` in every lane, as the form's float."""
    return _fill(_real(form), form, value)


@intrinsic
def floats(typingctx, form, value):
    """The number `value` in every lane, as float32 whatever the form."""
    return _fill(_real(form).of(types.float32), form, value)


@intrinsic
def ints(typingctx, form, value):
    """The number `value` in every lane, as int32."""
    return _fill(_real(form).of(types.int32), form, value)


# Arithmetic: the usual operators, `min` and `max`, between registers of one type, or a register of
# floats and a plain number, which is that number in every lane. `>>` is arithmetic.

# The names of llvmlite's instructions, for floats and for ints; "" where there is none.
_OPERATORS: dict[Any, tuple[str, str]] = {
    operator.add: ("fadd", "add"),
    operator.sub: ("fsub", "sub"),
    operator.mul: ("fmul", "mul"),
    operator.truediv: ("fdiv", ""),
    operator.and_: ("", "and_"),
    operator.or_: ("", "or_"),
    operator.xor: ("", "xor"),
    operator.lshift: ("", "shl"),
    operator.rshift: ("", "ashr"),
}
_COMPARISONS = {operator.lt: "<", operator.ge: ">=", operator.eq: "==", operator.ne: "!="}


def _define(symbol: Any, result: Any, emit: Any) -> None:
    """Make `a symbol b` work for two registers of one type, or for one and a plain number."""

    @infer_global(symbol)
    class _Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            registers = [one for one in args if isinstance(one, Vector)]
            others = [types.unliteral(one) for one in args if not isinstance(one, Vector)]
            if len(args) != 2 or not registers or registers[0] != registers[-1]:
                return None
            if others and not (registers[0].is_float and isinstance(others[0], types.Number)):
                return None
            return signature(result(registers[0]), *map(types.unliteral, args))

    def lower(context, builder, sig, args):
        vector = next(one for one in sig.args if isinstance(one, Vector))
        sides = [
            side
            if kind == vector
            else _splat(builder, context.cast(builder, side, kind, vector.dtype), vector)
            for kind, side in zip(sig.args, args, strict=True)
        ]
        return emit(builder, vector, *sides)

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        lower_builtin(symbol, *kinds)(lower)


def _arithmetic(names: tuple[str, str]) -> Any:
    def emit(builder, vector, a, b):
        return getattr(builder, names[0] if vector.is_float else names[1])(a, b)

    return emit


def _comparison(sign: str) -> Any:
    def emit(builder, vector, a, b):
        compare = builder.fcmp_ordered if vector.is_float else builder.icmp_signed
        return compare(sign, a, b)

    return emit


def _extreme(sign: str) -> Any:
    # Compare and select is one instruction; llvm.minnum's rules for NaN would cost more.
    def emit(builder, vector, a, b):
        return builder.select(builder.fcmp_ordered(sign, a, b), a, b)

    return emit


for _symbol, _names in _OPERATORS.items():
    _define(_symbol, lambda vector: vector, _arithmetic(_names))
for _symbol, _sign in _COMPARISONS.items():
    _define(_symbol, lambda vector: vector.of(types.boolean), _comparison(_sign))
for _symbol, _sign in {min: "<", max: ">"}.items():
    _define(_symbol, lambda vector: vector, _extreme(_sign))


@intrinsic
def unsigned_shift_right(typingctx, a, count):
    """`a >> count` with zeros coming in from the left; both are registers."""
    return a(a, count), lambda context, builder, sig, args: builder.lshr(*args)


@intrinsic
def rotate_left(typingctx, a, count):
    """The bits of `a` turned left by the plain number `count`."""

    def code(context, builder, sig, args):
        turn = _splat(builder, context.cast(builder, args[1], count, a.dtype), a)
        return _call(builder, "fshl", a, args[0], args[0], turn)

    return a(a, count), code


@intrinsic
def fma(typingctx, a, b, c):
    """a * b + c, rounded once."""
    return a(a, b, c), lambda context, builder, sig, args: _call(builder, "fma", a, *args)


@intrinsic
def minus_product(typingctx, a, b, c):
    """c - a * b, rounded once."""

    def code(context, builder, sig, args):
        return _call(builder, "fma", a, builder.fneg(args[0]), args[1], args[2])

    return a(a, b, c), code


def _unary(name: str) -> Any:
    def typed(typingctx, a):
        return a(a), lambda context, builder, sig, args: _call(builder, name, a, *args)

    return intrinsic(typed)


absolute = _unary("fabs")
floor = _unary("floor")
popcount = _unary("ctpop")  # the number of set bits in each lane


# Masks


@intrinsic
def select(typingctx, mask, yes, no):
    """`yes` in the lanes where the mask is set, else `no`."""
    return yes(mask, yes, no), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def any_lane(typingctx, mask):
    """Is the mask set in some lane? A plain bool."""

    def code(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(mask.lanes))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(mask), code


@intrinsic
def minus_one(typingctx, mask):
    """-1 (all bits) in the lanes where the mask is set, else 0, as int32."""
    result = mask.of(types.int32)
    return result(mask), lambda context, builder, sig, args: builder.sext(args[0], result.llvm)


# Conversions


def _convert(builder: Any, value: Any, old: Vector, new: Vector) -> Any:
    if old.dtype == new.dtype:
        return value
    if old.is_float and new.is_float:
        wider = new.dtype.bitwidth > old.dtype.bitwidth
        return (builder.fpext if wider else builder.fptrunc)(value, new.llvm)
    return (builder.fptosi if old.is_float else builder.sitofp)(value, new.llvm)


def _conversion(target: Any) -> Any:
    def typed(typingctx, form, a):
        result = target(form)
        code = lambda context, builder, sig, args: _convert(builder, args[1], a, result)  # noqa: E731
        return result(form, a), code

    return intrinsic(typed)


to_reals = _conversion(_real)
to_floats = _conversion(lambda form: _real(form).of(types.float32))
to_doubles = _conversion(lambda form: _real(form).of(types.float64))
to_ints = _conversion(lambda form: _real(form).of(types.int32))


@intrinsic
def bits_of(typingctx, a):
    """The bits of a float register as an int register of the same width."""
    result = a.of(types.int32 if a.dtype == types.float32 else types.int64)
    return result(a), lambda context, builder, sig, args: builder.bitcast(args[0], result.llvm)


@intrinsic
def float_from_bits(typingctx, a):
    """The float32 register that has these bits."""
    result = a.of(types.float32)
    return result(a), lambda context, builder, sig, args: builder.bitcast(args[0], result.llvm)
