"""Random arguments for learners: some valid, most invalid, a few hostile."""

import array
import collections
import decimal
import fractions
import types
import warnings

import numpy as np

HARD_NUMBERS = (
    *(0, 1, -1, 2, 7, 0.0, -0.0, 0.5, -0.7, 1e-8, 1e8, 5e-324, 2.3e-308, 1e-150, 1e38, 3.5e38, -1e150, 1e300),
    *(1.7976931348623157e308, -1.7976931348623157e308, float("nan"), float("inf"), -float("inf"), 2**53 + 1, 2**63, 2**64),
    *(-(2**63), 10**30, 10**400, -(10**400), True, False, 1j, complex("nan")),
    *(fractions.Fraction(1, 3), fractions.Fraction(10**400, 3), decimal.Decimal("0.1"), decimal.Decimal("NaN")),
    *(np.float32(0.1), np.float16(0.1), np.float64(0.2), np.longdouble("1e400"), np.int8(3), np.uint64(2**64 - 1)),
    *(np.bool_(True), np.complex64(1j), np.datetime64("NaT"), np.datetime64("2026-01-01"), np.timedelta64(3, "s")),
    *(np.float64("nan"), np.float32("inf"), np.str_("0.1"), np.bytes_(b"0.1")),
)
KINDS = ("f8", "f4", "f2", ">f8", "<f4", "i1", "i8", "u8", "?", "c16", "O", "U5", "S3", "M8[s]", "m8[s]", "g", "V8")


class HostileError(Exception):
    """Raised by hostile objects. It may propagate, but nothing may change."""


def _raise(*_args, **_options):
    raise HostileError("hostile")


def hostile(rng):
    """An object whose special methods raise or lie."""
    lies = {
        "raise": _raise,
        "none": lambda *_: None,
        "self": lambda this, *_: this,
        "nan": lambda *_: float("nan"),
        "huge": lambda *_: 10**400,
        "minus": lambda *_: -1,
        "text": lambda *_: "text",
        "true": lambda *_: True,
    }
    methods = (
        *("__array__", "__float__", "__index__", "__int__", "__len__", "__iter__", "__getitem__", "__eq__", "__hash__"),
        *("__bool__", "__array_interface__", "__array_struct__", "__buffer__", "__call__"),
        *(
            "keys",
            "items",
            "columns",
            "column_names",
            "shape",
            "dtype",
            "ndim",
            "tocsr",
            "__narwhals_dataframe__",
            "__dlpack__",
        ),
        *("value", "gradient", "__fspath__", "__class_getitem__", "__copy__", "__deepcopy__", "__ne__", "__abs__"),
    )
    chosen = rng.choice(len(methods), size=rng.integers(1, 5), replace=False)
    body = {methods[i]: lies[str(rng.choice(list(lies)))] for i in chosen}
    if "__getitem__" in body:  # NumPy would fill the memory with an endless sequence
        body["__getitem__"] = _raise
    if "__eq__" in body and "__hash__" not in body:
        body["__hash__"] = lambda this: 1
    base = (object, float, dict, list, int, collections.UserDict)[rng.integers(6)]
    return type("Hostile", (base,), body)()


class Vandal:
    """A key that empties its mapping when it is looked up."""

    def __init__(self, mapping, name):
        self.mapping, self.name = mapping, name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        self.mapping.clear()
        return False


def number(rng):
    if rng.random() < 0.5:
        return float(rng.normal())
    return HARD_NUMBERS[rng.integers(len(HARD_NUMBERS))]


def anything(rng, depth=0):
    """Any Python object."""
    pick = rng.integers(14)
    if pick < 3 or depth > 3:
        return number(rng)
    if pick == 3:
        return SINGLES[rng.integers(len(SINGLES))]
    if pick == 4:
        return hostile(rng)
    if pick == 5:
        return [anything(rng, depth + 1) for _ in range(rng.integers(5))]
    if pick == 6:
        return tuple(number(rng) for _ in range(rng.integers(6)))
    if pick == 7:
        return mapping(rng)
    if pick in (8, 9, 10):
        return table(rng, tuple(rng.integers(0, 5, size=rng.integers(0, 4))))
    if pick == 11:
        return spoilt(rng, rng.normal(size=3))
    return spoilt(rng, rng.normal(size=(4, 3)))


def spoilt(rng, good):
    """A good array with one hard number in it, or in another container."""
    pick = rng.integers(9)
    if pick < 3:
        spot = tuple(rng.integers(size) for size in good.shape)
        values = good.astype(object)
        values[spot] = number(rng) if pick else anything(rng, 3)
        return values.tolist() if pick == 2 else values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if pick == 3:
            return np.ma.masked_array(good, mask=rng.random(good.shape) < 0.3)
        if pick == 4:
            return np.matrix(good)
        if pick == 5:
            return array.array("d", good.ravel().tolist())
        if pick == 6:
            return memoryview(np.ascontiguousarray(good))
        if pick == 7:
            return np.repeat(good, 2, axis=0)[::-2]
    wide = np.zeros(good.shape[0], dtype=[("a", "f8", good.shape[1:]), ("b", "i1")])["a"]
    wide[...] = good
    return wide


def table(rng, shape):
    """An array of any type."""
    kind = str(rng.choice(KINDS))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "O":
            out = np.empty(shape, dtype=object)
            for place in np.ndindex(*shape):
                out[place] = number(rng)
            return out
        if kind == "V8":
            return np.zeros(shape, dtype=kind)
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3)
        return values.astype("i8").astype(kind) if kind[0] in "mM" else values.astype(kind)


def mapping(rng):
    """Feature names, some of them known to the models, with numbers or worse."""
    keys = ["a", "b", "c", "d", "new", "", 0, 1.5, None, ("a", 1), float("nan"), b"a", frozenset("a")]
    out = {}
    for i in rng.permutation(len(keys) if rng.random() < 0.2 else 3)[: rng.integers(0, 5)]:
        out[keys[i]] = float(rng.normal()) if rng.random() < 0.8 else anything(rng, 3)
    pick = rng.integers(12)
    if pick == 0:
        out[Vandal(out, "b")] = float(rng.normal())
    if pick == 1:
        return types.MappingProxyType(out)
    if pick == 2:
        return collections.UserDict(out)
    if pick == 3:
        return collections.OrderedDict(out)
    if pick == 4:
        return collections.defaultdict(_raise, out)
    return out


_LOOP: list = []
_LOOP.append(_LOOP)
SINGLES = (
    *(None, object(), object, int, type, Ellipsis, NotImplemented, "", "abc", "1.0", "float32", "skip", "raise", "squared"),
    *("complement", "\0", "\ud800", b"", b"1", bytearray(8), range(3), set(), {1, 2, 3}, frozenset(), slice(3)),
    *(
        len,
        _raise,
        print,
        lambda t: 0.9,
        lambda *_: None,
        ValueError("x"),
        warnings,
        iter([1.0, 2.0, 3.0]),
        [],
        (),
        {},
        _LOOP,
    ),
    *(
        np,
        np.float64,
        np.array(1.0),
        np.array(None),
        np.array("x"),
        np.empty((0, 0)),
        np.empty(0),
        np.zeros(3),
        np.ones((4, 3)),
    ),
    *(
        np.broadcast_to(1.0, (4, 3)),
        np.lib.stride_tricks.as_strided(np.zeros(1), (4, 3), (0, 0)),
        np.zeros((2, 0)),
        np.random,
    ),
)
