"""Compressed and UTF-16 text as a plain file of UTF-8, a MiB at a time, with an end to what a bomb may unpack to."""

from __future__ import annotations

import codecs
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workbench.recordings.model import RecordingError, Unreadable

if TYPE_CHECKING:
    from backports import zstd
elif sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PIECE = 1 << 20
_MOST_BYTES = 8 << 30
_TRUSTED_BYTES = 64 << 20
_MOST_RATIO = 250
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Unpacked:
    """How many bytes came out, at which byte of the file unpacking had to stop (None: at its end), whether by limit."""

    size: int
    cut_at: int | None
    limited: bool = False


class _Broken(Exception):
    """The compressed bytes are damaged."""


class _TooWide(_Broken):
    """They refer back further than is kept in memory."""


class _Decompressor(Protocol):
    @property
    def ended(self) -> bool: ...
    @property
    def hungry(self) -> bool: ...
    @property
    def left(self) -> bytes: ...
    def feed(self, data: bytes) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def hungry(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def left(self) -> bytes:
        return self._inner.unused_data

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inner.decompress(self._inner.unconsumed_tail + data, _PIECE)
        except zlib.error as error:
            raise _Broken from error


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor()

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def hungry(self) -> bool:
        return self._inner.needs_input

    @property
    def left(self) -> bytes:
        return self._inner.unused_data

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inner.decompress(data, _PIECE)
        except (zstd.ZstdError, MemoryError) as error:
            raise (_TooWide if "too much memory" in str(error) else _Broken) from error


def recognise(head: bytes) -> str | None:
    """Name the compression that the first bytes declare."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def unpack(
    name: str,
    packing: str,
    source: int,
    into: int,
    *,
    limit: int | None = None,
    checkpoint: Callable[[], object] | None = None,
) -> Unpacked:
    """Unpack a file into another, as far as its data goes or, with a ``limit``, hardly further than so many bytes.

    ``checkpoint`` is called again and again, and may raise.

    Raises RecordingError when it unpacks to absurdly more than it is (a bomb), when that needs more memory than is
    given to it, or when nothing comes out of it.
    """
    whole = os.fstat(source).st_size
    written, at = 0, 0
    inner = _new(packing)
    cut_at: int | None = None
    data = b""
    while True:
        if limit is not None and written > limit:
            return Unpacked(written, None, limited=True)
        if checkpoint is not None:
            checkpoint()
        if inner.hungry and not data:
            data = os.pread(source, _PIECE, at)
            at += len(data)
            if not data:
                cut_at = whole
                break
        try:
            out = inner.feed(data)
        except _TooWide:
            raise RecordingError(
                Unreadable.NOT_READABLE_YET,
                f"{name} was packed with a window of more than 128 MiB, which is not kept in memory; unpack it with "
                "zstd -d --long=31 and give the result",
            ) from None
        except _Broken:
            cut_at = max(0, at - len(data))
            break
        data = b""
        written += len(out)
        _write(into, out)
        if written > _MOST_BYTES or (written > _TRUSTED_BYTES and written > whole * _MOST_RATIO):
            raise RecordingError(
                Unreadable.NOT_READABLE_YET,
                f"{name} unpacks to more than {written // (1 << 20):,} MiB from {whole:,} bytes, and was left alone; "
                f"if that is right, unpack it yourself and give the result",
            )
        if inner.ended:
            data = inner.left or os.pread(source, _PIECE, at)
            at += 0 if inner.left else len(data)
            data = data.lstrip(b"\0")
            if recognise(data) != packing:
                cut_at = at - len(data) if data else None
                break
            inner = _new(packing)
    if not written and cut_at is None:
        raise RecordingError(Unreadable.EMPTY, f"{name} unpacks to nothing, so nothing was recorded; give another file")
    if not written:
        raise RecordingError(
            Unreadable.TRUNCATED if cut_at == whole else Unreadable.DAMAGED,
            f"{name} is {packing} data of which nothing can be unpacked; get a whole copy",
        )
    return Unpacked(written, cut_at)


def transcode(pieces: Iterable[bytes], encoding: str, into: int) -> int:
    """Write text of another encoding as UTF-8 and give how many bytes that took; what is no text becomes U+FFFD."""
    return sum(_write(into, text.encode("utf-8")) for text in _decoded(pieces, encoding))


def _decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    first = True
    for piece in pieces:
        text = decoder.decode(piece)
        yield text.removeprefix("\ufeff") if first else text
        first = first and not text
    yield decoder.decode(b"", True)


def _new(packing: str) -> _Decompressor:
    return _Gzip() if packing == "gzip" else _Zstd()


def _write(descriptor: int, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(data)
