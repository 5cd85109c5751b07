"""Every sentence about a path that cannot be read: what, why, and what to do."""

from __future__ import annotations

import errno
import os
import re
import sqlite3

import duckdb

from workbench.index import private_folder
from workbench.index.model import LockHolder, Problem, SourceError

_HOLDER = re.compile(r"lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
_VERSIONS = re.compile(r"only read versions between (\d+) and (\d+)")
_PREFIX = re.compile(r"^[A-Z][A-Za-z ]*Error: ")

_FILE_ERRORS = (
    duckdb.IOException,
    duckdb.SerializationException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.OutOfMemoryException,
)

_TOO_BIG = "too big"
_SQLITE_FILE_ERRORS = ("malformed", "disk image", "not a database", "disk I/O", "locked", "unable to open", _TOO_BIG)


def translate(error: BaseException, path: str, *, container: str = "duckdb") -> SourceError:
    """Say in one sentence why a driver could not read ``path``; for errors at opening and at any later scan.

    ``path`` is named as the user gave it. Takes duckdb.Error, sqlite3.Error, OSError; a SourceError is returned as is.
    """
    if isinstance(error, SourceError):
        return error
    if isinstance(error, sqlite3.Error):
        return _from_sqlite(error, path)
    if isinstance(error, OSError):
        return _from_system(error, path)
    return _from_duckdb(error, path, container)


def concerns_the_file(error: duckdb.Error) -> bool:
    """Whether an error raised by a query says something about the file, and not about the query.

    Damage is raised as the bare ``duckdb.Error``; a class of its own says what is wrong with a statement or a value.
    """
    return isinstance(error, _FILE_ERRORS) or type(error) is duckdb.Error


def concerns_a_sqlite_file(error: sqlite3.Error) -> bool:
    """Whether an error raised by a query says something about the file, and not about the query."""
    return any(words in str(error) for words in _SQLITE_FILE_ERRORS)


def locked(path: str, words: str) -> SourceError:
    """Name who holds the file, as the driver says it."""
    found = _HOLDER.search(words)
    holder = LockHolder(found["program"], int(found["pid"])) if found else None
    who = f"{holder.program} (process {holder.pid})" if holder else "another program"
    how = "reads it, so it cannot be written now" if "read-only mode" in words else "has it open for writing"
    return SourceError(
        Problem.LOCKED,
        f"{path} is locked: {who} {how}; the file itself is fine: wait until that program closes it, "
        "or inspect a copy of it",
        container="duckdb",
        holder=holder,
    )


def busy_here(path: str, why: str) -> SourceError:
    """Refuse to open a file twice in one process, which would drop the first one's lock."""
    return SourceError(
        Problem.LOCKED,
        f"{path} is {why} in this same process, and opening it a second time would break that one's lock; "
        "the file itself is fine: close it there first",
        container="duckdb",
    )


def no_duckdb(path: str, container: str | None = "sqlite") -> SourceError:
    """Refuse a file that is now another kind of file than it was taken for."""
    return SourceError(
        Problem.NOT_AN_INDEX,
        f"{path} is a SQLite file, not a DuckDB file; read it with open_source, or open it again when "
        "it was another file before",
        container=container,
    )


def too_new(path: str, version: int, newest: int) -> SourceError:
    """Refuse a storage version that the library cannot read."""
    return SourceError(
        Problem.TOO_NEW,
        f"{path} was written by a newer DuckDB (storage version {version}, read here up to {newest}); "
        "upgrade workbench, or have its producer write it with an older STORAGE_VERSION",
        container="duckdb",
    )


def truncated(path: str) -> SourceError:
    """Refuse a file that ends before its last block."""
    return SourceError(
        Problem.TRUNCATED,
        f"{path} is cut short: it begins as a DuckDB file and ends before all of its blocks; "
        "copy it again from where it came, or restore it",
        container="duckdb",
    )


def damaged(path: str, words: str, container: str = "duckdb") -> SourceError:
    """Refuse a file whose blocks do not match their checksums, or whose log cannot be replayed."""
    what = "the .wal beside it does not fit or cannot be replayed" if "WAL" in words else "a block does not read back"
    remedy = (
        "open it once with the program that wrote it, or move the .wal aside and lose what it holds"
        if "WAL" in words
        else "restore it from a copy, or build it again"
    )
    return SourceError(Problem.DAMAGED, f"{path} is damaged: {what}; {remedy}{_said(words)}", container=container)


def encrypted(path: str) -> SourceError:
    """Refuse a file that needs a key."""
    return SourceError(
        Problem.ENCRYPTED,
        f"{path} is an encrypted DuckDB file, and no key can be given here; inspect a decrypted copy of it",
        container="duckdb",
    )


def denied(path: str, container: str | None = None) -> SourceError:
    """Refuse a path that this user may not read."""
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{path} cannot be read: permission denied; ask for read permission, or inspect a copy that you may read",
        container=container,
    )


def unwritable(path: str, why: str, container: str | None = None) -> SourceError:
    """Refuse to write where this user, or this disk, does not let anything be written."""
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{path} cannot be written: {why}; make file and folder writable, or work on a copy where you may write",
        container=container,
    )


def missing(path: str) -> SourceError:
    """Refuse a path where nothing is."""
    return SourceError(Problem.MISSING, f"{path} does not exist; check the spelling and the folder you are in")


def being_written(path: str, container: str) -> SourceError:
    """Refuse a file that changes faster than it can be read."""
    return SourceError(
        Problem.BEING_WRITTEN,
        f"{path} is being written by another program, and no consistent state of it could be read; "
        "try again when that program is idle",
        container=container,
    )


def no_private_folder(path: str, error: OSError, container: str) -> SourceError:
    """Refuse what needs a folder of ours for a moment, when none can be made or filled."""
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{path} needs room in the cache folder {private_folder.cache_folder()} for a moment, and there is none; free "
        f"some space there, or make it writable{_said(error.strerror or str(error))}",
        container=container,
    )


def _from_duckdb(error: BaseException, path: str, container: str) -> SourceError:
    words = str(error)
    versions = _VERSIONS.search(words)
    if "Could not set lock on file" in words:
        return locked(path, words)
    if "Unique file handle conflict" in words or "with a different configuration" in words:
        return busy_here(path, "already open")
    if versions or "newer version" in words:
        return SourceError(
            Problem.TOO_NEW,
            f"{path} was written by a newer DuckDB; upgrade workbench, or have its producer write it with an older "
            f"STORAGE_VERSION{_said(words)}",
            container=container,
        )
    if "read enough bytes" in words:
        return truncated(path)
    if "encrypt" in words:
        return encrypted(path)
    if "Read-only file system" in words:
        return unwritable(path, "read-only file system", container)
    if "Permission denied" in words:
        readable = os.access(path, os.R_OK)
        return unwritable(path, "permission denied", container) if readable else denied(path, container)
    if "not a valid DuckDB database file" in words:
        return SourceError(Problem.NOT_AN_INDEX, f"{path} is no DuckDB file; check what wrote it", container=None)
    if "database does not exist" in words:
        return missing(path)
    if "extension" in words or "unknown index type" in words:
        return SourceError(
            Problem.NOT_READABLE_YET,
            f"{path} needs a DuckDB extension that is not used here; export the table without it{_said(words)}",
            container=container,
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return SourceError(
            Problem.NOT_READABLE_YET,
            f"{path} needs more memory for this question than is allowed here; keep vectors of many thousand elements "
            f"in a list (FLOAT[]) instead of a fixed array, or free some disk space for temporary data{_said(words)}",
            container=container,
        )
    return damaged(path, words, container)


def _from_sqlite(error: sqlite3.Error, path: str) -> SourceError:
    words = str(error)
    if "malformed" in words or "disk image" in words or "not a database" in words or "disk I/O" in words:
        return damaged(path, words, "sqlite")
    if "locked" in words or "busy" in words:
        return being_written(path, "sqlite")
    if "unable to open" in words:
        return denied(path, "sqlite")
    if _TOO_BIG in words:
        return SourceError(
            Problem.NOT_READABLE_YET,
            f"{path} holds a single text or vector that is larger than is read here; split that row, or leave it out "
            "of a copy",
            container="sqlite",
        )
    return SourceError(
        Problem.DAMAGED,
        f"{path} is a SQLite file that cannot be read; check it with the program that wrote it{_said(words)}",
        container="sqlite",
    )


def _from_system(error: OSError, path: str) -> SourceError:
    if error.errno == errno.EROFS:
        return unwritable(path, "read-only file system")
    if isinstance(error, PermissionError):
        new = not os.path.lexists(path) and os.access(os.path.dirname(os.path.abspath(path)), os.X_OK)
        return unwritable(path, "permission denied") if new else denied(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return missing(path)
    return SourceError(
        Problem.NOT_READABLE_YET,
        f"{path} cannot be read; check the disk and the path{_said(error.strerror or str(error))}",
    )


def _said(words: str) -> str:
    """Return the driver's words as the last part of a sentence: first line only, without its class name."""
    line = _PREFIX.sub("", words.splitlines()[0]).strip() if words else ""
    return f" ({line[:200]})" if line else ""
