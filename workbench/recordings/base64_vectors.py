"""Vectors written as base64 of little-endian float32, told from pictures, keys and random bytes."""

from __future__ import annotations

import base64
import binascii
import math
import struct

_FEWEST = 64
_FEWEST_WITH_HINT = 16
_TINY = 1e-20
_LARGEST = 1e3
_SMALLEST_NORM, _LARGEST_NORM = 1e-3, 1e4


def as_float32(text: str, *, dims: int | None = None) -> list[float] | None:
    """Decode a vector, or give None for what is none; ``dims`` is a length that the recording itself states.

    Everything must hold: strict base64 of whole floats, enough of them, all finite and none large, a plausible norm,
    and hardly a value so small that only other data would hold it.
    """
    fewest = _FEWEST if dims is None else _FEWEST_WITH_HINT
    if len(text) % 4 or len(text) < fewest * 4 * 4 // 3 or not text.isascii():
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    count = len(data) // 4
    if len(data) % 4 or count < fewest or (dims is not None and count != dims):
        return None
    floats = list(struct.unpack(f"<{count}f", data))
    if not all(map(math.isfinite, floats)) or max(map(abs, floats)) > _LARGEST:
        return None
    if not _SMALLEST_NORM < math.hypot(*floats) < _LARGEST_NORM:
        return None
    nonzero = [each for each in floats if each]
    tiny = sum(1 for each in nonzero if abs(each) < _TINY)
    return floats if tiny * 100 <= len(nonzero) else None
