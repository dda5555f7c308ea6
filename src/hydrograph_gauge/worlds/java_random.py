"""Java's `java.util.Random`, exact to the bit, so that seeds of published generators give their streams.

It is a linear congruential generator of 48 bits, which Java specifies in full, down to the order of the draws inside of
each method. Draws depend on those before them; worlds of our own use the stateless ones of `draws` instead.

>>> random = JavaRandom(1430236808)  # of YABench's experiments 3 and 4
>>> random.next_int_below(1000)
31
"""

from __future__ import annotations

import math
import struct

import numpy as np

from hydrograph_gauge.worlds.hashing import NumberArray

_MULTIPLIER, _INCREMENT, _BITS = 0x5DEECE66D, 0xB, 48
_MASK = (1 << _BITS) - 1
_INT_BITS = 31
_INT_END = 1 << _INT_BITS


class JavaRandom:
    """Sequence of draws of `new java.util.Random(seed)`; each method is the one of the same name in Java."""

    __slots__ = ("_kept", "_state")

    def __init__(self, seed: int) -> None:
        """Begin the sequence of a seed, a signed number of 64 bits."""
        self._state = (seed ^ _MULTIPLIER) & _MASK
        self._kept: float | None = None  # of the two numbers that next_gaussian draws at a time

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return self._state >> (_BITS - bits)

    def next_int(self) -> int:
        """Return a signed number of 32 bits."""
        return _signed(self._next(32), 32)

    def next_int_below(self, bound: int) -> int:
        """Return a number from [0, bound); Java's `nextInt(bound)`."""
        _check_bound(bound)
        drawn = self._next(_INT_BITS)
        if bound & (bound - 1) == 0:
            return bound * drawn >> _INT_BITS
        while drawn - drawn % bound + bound > _INT_END:
            drawn = self._next(_INT_BITS)
        return drawn % bound

    def next_ints_below(self, bound: int, count: int) -> NumberArray:
        """Return what `count` calls of `next_int_below` return, at once.

        >>> some, same = JavaRandom(7), JavaRandom(7)
        >>> some.next_ints_below(100, 3).tolist() == [same.next_int_below(100) for _ in range(3)]
        True
        """
        _check_bound(bound)
        parts: list[NumberArray] = []
        while count > 0:
            states = _follow(self._state, count)
            drawn = (states >> np.uint64(_BITS - _INT_BITS)).astype(np.int64)
            if bound & (bound - 1) == 0:
                values = bound * drawn >> _INT_BITS
            else:  # a draw in the incomplete last cycle of the bound is dropped, and the next one taken instead
                values = (drawn % bound)[drawn - drawn % bound + bound <= _INT_END]
            parts.append(values)
            self._state = int(states[-1])
            count -= len(values)
        result: NumberArray = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return result

    def next_long(self) -> int:
        """Return a signed number of 64 bits, of which only 2**48 exist."""
        high = self.next_int()
        return _signed(((high << 32) + self.next_int()) % 2**64, 64)

    def next_boolean(self) -> bool:
        """Return true or false."""
        return self._next(1) != 0

    def next_float(self) -> float:
        """Return a number from [0, 1), one of 2**24."""
        return self._next(24) * 2.0**-24

    def next_double(self) -> float:
        """Return a number from [0, 1), one of 2**53."""
        high = self._next(26)
        return ((high << 27) + self._next(27)) * 2.0**-53

    def next_gaussian(self) -> float:
        """Return a number of mean 0 and standard deviation 1, by Marsaglia's polar method."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        while True:
            x, y = 2 * self.next_double() - 1, 2 * self.next_double() - 1
            square = x * x + y * y
            if 0 < square < 1:
                break
        scale = math.sqrt(-2 * strict_log(square) / square)
        self._kept = y * scale
        return x * scale


def _check_bound(bound: int) -> None:
    if not 0 < bound < _INT_END:
        raise ValueError(f"expected a bound from 1 to {_INT_END - 1}, got {bound}")


def _signed(bits: int, size: int) -> int:
    return bits - (1 << size) if bits >> (size - 1) else bits


def _follow(state: int, count: int) -> NumberArray:
    """Return the `count` states after this one; each round doubles their number, since k steps are one of its kind."""
    states = np.empty(count, np.uint64)
    states[0] = (state * _MULTIPLIER + _INCREMENT) & _MASK
    known, factor, summand = 1, _MULTIPLIER, _INCREMENT
    while known < count:
        some = min(known, count - known)
        states[known : known + some] = states[:some] * np.uint64(factor) + np.uint64(summand) & np.uint64(_MASK)
        summand = (summand * factor + summand) & _MASK
        factor = factor * factor & _MASK
        known += some
    return states


_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_LOG_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


def strict_log(x: float) -> float:
    """Return the logarithm of a positive normal number as Java's `StrictMath.log`, which is that of fdlibm.

    The mathematical libraries of machines differ in the last bit, and `nextGaussian` is specified with this one.

    >>> strict_log(1.0), strict_log(0.5) == -math.log(2)
    (0.0, True)
    """
    if not 2.0**-1022 <= x < math.inf:
        raise ValueError(f"expected a positive normal number, got {x!r}")
    (bits,) = struct.unpack("<Q", struct.pack("<d", x))
    high = bits >> 32
    exponent, high = (high >> 20) - 1023, high & 0xFFFFF
    # x = 2**exponent * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)
    carry = (high + 0x95F64) & 0x100000
    exponent += carry >> 20
    bits = (high | (carry ^ 0x3FF00000)) << 32 | bits & 0xFFFFFFFF
    f: float = struct.unpack("<d", struct.pack("<Q", bits))[0] - 1.0
    k = float(exponent)
    if 0xFFFFF & (2 + high) < 3:  # f is so small that a short series is exact
        rest = f * f * (0.5 - 0.33333333333333333 * f)
        if f == 0:
            return k * _LN2_HIGH + k * _LN2_LOW
        return f - rest if exponent == 0 else k * _LN2_HIGH - ((rest - k * _LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_LOG_EVEN[0] + w * (_LOG_EVEN[1] + w * _LOG_EVEN[2]))
    odd = z * (_LOG_ODD[0] + w * (_LOG_ODD[1] + w * (_LOG_ODD[2] + w * _LOG_ODD[3])))
    rest = odd + even
    if high - 0x6147A | 0x6B851 - high > 0:
        half = 0.5 * f * f
        if exponent == 0:
            return f - (half - s * (half + rest))
        return k * _LN2_HIGH - ((half - (s * (half + rest) + k * _LN2_LOW)) - f)
    if exponent == 0:
        return f - s * (f - rest)
    return k * _LN2_HIGH - ((s * (f - rest) - k * _LN2_LOW) - f)
