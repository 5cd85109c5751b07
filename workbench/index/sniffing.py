"""What a path is, by its first bytes, before any database library sees it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import stat
import struct
from dataclasses import dataclass

from workbench.index import refusals
from workbench.index.model import Problem, SourceError

HEAD_BYTES = 16_384
"""Enough for the headers, and for the first keys of a JSON document."""

NEWEST_STORAGE = 999
"""The storage version that this release line of DuckDB writes by default; it reads no newer one."""

_DUCKDB_HEADERS = 12_288
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_DRIVER_PREFIX = re.compile(
    r"(md|motherduck|duckdb|sqlite|postgres|mysql|ducklake|quack|file|s3[an]?|gcs|gs|r2|hf|az|azure|abfss|https?):",
    re.I,
)
_NAMED_BY_MAGIC = (
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\x93NUMPY", "a numpy array"),
    (b"ARROW1", "Arrow data"),
    (b"\x89HDF", "HDF5 data"),
    (b"\x7fELF", "a program"),
)
_RECORDING_KEYS = frozenset(
    (
        *("snapshot", "commitLog", "events", "resourceSpans", "scopeSpans", "instrumentationLibrarySpans"),
        *("interactions", "http_interactions", "spanContext", "span_kind", "trace", "trace_id", "traceId"),
        *("parent_span_id", "dotted_order", "run_type", "observations", "parentUuid", "sessionId", "session_id"),
        *("session_meta", "custom_id", "eval_id", "event_type", "embedding", "embeddings", "embedding_dict"),
    )
)
_LOG_KEYS = frozenset(("leg", "outcome", "call.id"))
_LOG_RECORDS = re.compile(rb'"record"\s*:\s*"(attempt|config|namespace|write|transition|reset|start)"')
_KEY = re.compile(rb'"([^"\\]{1,64})"\s*:')


@dataclass(frozen=True, slots=True)
class Located:
    """A regular file that is there: its name as given, its real absolute path, and its stat."""

    shown: str
    real: str
    stat: os.stat_result

    @property
    def key(self) -> tuple[int, int]:
        """Device and inode: the same for every name of one file."""
        return self.stat.st_dev, self.stat.st_ino


def locate(path: str | os.PathLike[str], *, shown: str | None = None) -> Located:
    """Find the regular file that a path names, without opening anything; messages name it as ``shown``.

    Raises SourceError: url, missing, not-a-file, directory (or the container that a folder is), not-readable-yet.
    """
    given = os.fsdecode(os.fspath(path))
    absolute = os.path.abspath(given)
    shown = shown or given
    check_name(given, shown)
    try:
        real = os.path.realpath(absolute)
        found = os.stat(real)
    except ValueError:  # a NUL in the name
        raise refusals.missing(shown) from None
    except OSError as error:
        raise _not_found(shown, absolute, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise _folder(shown, real)
    if not stat.S_ISREG(found.st_mode):
        kind = _kind(found.st_mode)
        raise SourceError(Problem.NOT_A_FILE, f"{shown} is {kind}, not a file, and is not opened; give a file's path")
    return Located(shown, real, found)


def check_name(given: str, shown: str) -> None:
    """Refuse what names no local file, whether or not one is there; raises SourceError (missing, url)."""
    if not given:
        raise SourceError(
            Problem.MISSING, "an empty path names no file; give one, or find out which variable or argument is empty"
        )
    # A name like md:x is only a name when such a file lies there; a real URL never is one.
    if _URL.match(given) or (_DRIVER_PREFIX.match(given) and not os.path.lexists(os.path.abspath(given))):
        raise SourceError(
            Problem.URL, f"{shown} is a URL, and only local files are read: copy it to this machine and give its path"
        )


def read_head(located: Located) -> bytes:
    """Read the first bytes of a located file; the caller has made sure that no lease of ours holds it.

    Where other code of this process has it open, its descriptor is read: closing one of our own would drop its lock.

    Raises SourceError (not-readable-yet without permission, being-written when the file was replaced meanwhile).
    """
    for descriptor in descriptors_here(located.key):
        with contextlib.suppress(OSError):  # open for writing only, or closed meanwhile
            head = os.pread(descriptor, HEAD_BYTES, 0)
            if descriptor in descriptors_here(located.key):
                return head
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        descriptor = os.open(located.real, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise refusals.translate(error, located.shown) from None
    try:
        opened = os.fstat(descriptor)
        if (opened.st_dev, opened.st_ino) != located.key:
            raise refusals.being_written(located.shown, "duckdb")
        return os.read(descriptor, HEAD_BYTES)
    except OSError as error:
        raise refusals.translate(error, located.shown) from None
    finally:
        os.close(descriptor)


def identify(located: Located, head: bytes) -> str:
    """Return the container that the first bytes declare: ``duckdb`` or ``sqlite``; raise SourceError for all else."""
    if not head:
        raise SourceError(
            Problem.EMPTY, f"{located.shown} is empty (0 bytes), so nothing was ever written to it; give another file"
        )
    if head[8:12] == b"DUCK":
        _check_duckdb(located, head)
        return "duckdb"
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    raise _no_index(located.shown, head)


def _check_duckdb(located: Located, head: bytes) -> None:
    if len(head) < 21 or located.stat.st_size < _DUCKDB_HEADERS:
        raise refusals.truncated(located.shown)
    if head[20] & 1:
        raise refusals.encrypted(located.shown)
    (version,) = struct.unpack_from("<Q", head, 12)
    if version > NEWEST_STORAGE:
        raise refusals.too_new(located.shown, version, NEWEST_STORAGE)
    if os.sep == "/" and "\\" in located.real:
        raise _unnameable(located.shown, "has a backslash in its path, which DuckDB takes for a slash")
    if _has_stray_bytes(located.real):
        raise _unnameable(located.shown, "has bytes in its path that are no UTF-8, which DuckDB cannot be given")


def _unnameable(shown: str, why: str) -> SourceError:
    return SourceError(Problem.NOT_READABLE_YET, f"{shown} {why}; rename the file or its folder", container="duckdb")


def _has_stray_bytes(name: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in name)


def _no_index(shown: str, head: bytes) -> SourceError:
    if head.startswith(b"PAR1"):
        return _later(shown, "a Parquet file", "parquet")
    if head.startswith(b"PK\x03\x04") and head[30:39] == b"_journal/":
        return _later(shown, "a recording (an inspect log)", "recording")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        container = _json_container(text)
        if container == "recording":
            return _recording(shown, "a recording")
        if container == "routing-log":
            return _later(shown, "a routing log", container)
        return _not_an_index(shown, "holds JSON")
    if text.startswith((b"interactions:", b"http_interactions:")):
        return _recording(shown, "a recording (a cassette)")
    for magic, name in _NAMED_BY_MAGIC:
        if head.startswith(magic):
            return _not_an_index(shown, f"holds {name}")
    return _not_an_index(shown, "holds text" if _is_text(head) else "holds data of an unknown kind")


def _not_an_index(shown: str, what: str) -> SourceError:
    return SourceError(
        Problem.NOT_AN_INDEX, f"{shown} {what}, not a vector index; give a DuckDB or SQLite file that holds vectors"
    )


def _later(shown: str, what: str, container: str) -> SourceError:
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{shown} is {what}, which is not readable yet; give a DuckDB file, or a SQLite file of agentfootprint",
        container=container,
    )


def _recording(shown: str, what: str) -> SourceError:
    path = shlex.quote(shown) if shown.isprintable() else "PATH"
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{shown} is {what}, and only indexes are opened here for now; read it with: workbench show {path}",
        container="recording",
    )


def _json_container(head: bytes) -> str | None:
    """Guess from the keys in the first bytes; a whole reader decides later."""
    keys = {key.decode("utf-8", "replace") for key in _KEY.findall(head)}
    if _LOG_RECORDS.search(head) or len(keys & _LOG_KEYS) >= 2:
        return "routing-log"
    if b'"agentfootprint.recording' in head or keys & _RECORDING_KEYS:
        return "recording"
    if {"log", "creator"} <= keys or {"log", "entries"} <= keys:  # HAR
        return "recording"
    return None


def _is_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and len(head) == HEAD_BYTES
    return True


def _folder(shown: str, real: str) -> SourceError:
    if os.path.isfile(os.path.join(real, "chroma.sqlite3")):
        return _later(shown, "a Chroma folder", "chroma")
    try:
        with os.scandir(real) as entries:
            lance = real.endswith(".lance") or any(e.name.endswith(".lance") and e.is_dir() for e in entries)
    except OSError as error:
        return refusals.translate(error, shown)
    if lance:
        return _later(shown, "a Lance folder", "lance")
    return SourceError(Problem.DIRECTORY, f"{shown} is a folder, not an index; give the files in it")


def _not_found(shown: str, absolute: str, error: OSError) -> SourceError:
    if error.errno in (errno.ELOOP, errno.ENOENT) and os.path.islink(absolute):
        why = "in a circle" if error.errno == errno.ELOOP else "to nothing"
        return SourceError(
            Problem.MISSING, f"{shown} is a link that leads {why}; give the file that it was meant to name"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
        return refusals.missing(shown)
    return refusals.translate(error, shown)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def descriptors_here(key: tuple[int, int]) -> tuple[int, ...]:
    """Return the descriptors that this process has open on an inode, by whatever code; empty where none can be told."""
    found = []
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return ()
    for name in names:
        try:
            opened = os.fstat(int(name))
        except (OSError, ValueError):
            continue
        if (opened.st_dev, opened.st_ino) == key:
            found.append(int(name))
    return tuple(found)
