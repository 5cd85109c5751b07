"""A query vector from a file: one JSON list of numbers, or a `.npy` of one dimension. Nothing in it is ever run."""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_BYTES = 16 * 1024 * 1024
_NPY = b"\x93NUMPY"


def read_vector(path: str) -> NDArray[np.float64]:
    """Read a vector, shape (length,).

    Raises ValueError, one sentence: not there, not a regular file, too big, no list of numbers, not of one dimension.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise ValueError(f"{path} is no regular file; give a JSON list of numbers, or a .npy of one dimension")
    with os.fdopen(descriptor, "rb") as file:
        if found.st_size > _LARGEST_BYTES:
            raise ValueError(f"{path} is {found.st_size:,} bytes, and a vector file may have {_LARGEST_BYTES:,}")
        is_npy = file.read(len(_NPY)) == _NPY
        file.seek(0)
        return _from_npy(path, file, found.st_size) if is_npy else _from_json(path, file.read(_LARGEST_BYTES))


def _from_npy(path: str, file: IO[bytes], size: int) -> NDArray[np.float64]:
    import numpy as np

    try:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        # Checked before anything is read: a header can claim more numbers than there is memory.
        plain = dtype.kind in "fiu" and not dtype.hasobject
        if len(shape) != 1 or not plain or not 0 <= shape[0] * dtype.itemsize <= size:
            raise ValueError
        numbers = np.frombuffer(file.read(shape[0] * dtype.itemsize), dtype, shape[0])
    except Exception:  # the header is parsed as Python, and what a hostile one can raise is nowhere listed
        raise ValueError(f"{path} is no .npy of one dimension that holds plain numbers") from None
    return _vector(path, numbers.astype(np.float64))


def _from_json(path: str, data: bytes) -> NDArray[np.float64]:
    import numpy as np

    try:
        numbers = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON list of numbers: {error.msg} at line {error.lineno}") from None
    if not isinstance(numbers, list) or not all(type(each) in (int, float) for each in numbers):
        raise ValueError(f"{path} is JSON, but no list of numbers")
    return _vector(path, np.array([float(each) for each in numbers], dtype=np.float64))


def _vector(path: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    if numbers.size == 0:
        raise ValueError(f"{path} holds an empty list, no vector")
    return numbers
