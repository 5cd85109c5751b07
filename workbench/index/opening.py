"""The only door to index files: what a path is, and opening it so that nothing runs and nothing is left behind."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from typing import BinaryIO

import duckdb

from workbench.index import leases, private_folder, sniffing
from workbench.index.attachment import Attachment
from workbench.index.model import Sniffed
from workbench.index.refusals import no_private_folder, translate
from workbench.index.sqlite_file import SqliteFile

__all__ = ["Attachment", "SqliteFile", "attach", "create", "open_sqlite", "sniff", "translate"]


def sniff(path: str | os.PathLike[str]) -> Sniffed:
    """Say by its content what a path is: ``duckdb`` or ``sqlite``.

    Raises SourceError for everything else, with the container it is if that is known. A file that this process has
    attached is not opened again.
    """
    located = sniffing.locate(path)
    with leases.borrowed(located.key) as lease:
        container = lease.container(located)
    found = located.stat
    return Sniffed(container, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def attach(path: str | os.PathLike[str], *, read_only: bool = True) -> Attachment:
    """Open a DuckDB file, safely and leased; ``read_only=False`` for our own native store. Raises SourceError."""
    return Attachment(path, read_only=read_only)


def open_sqlite(path: str | os.PathLike[str]) -> SqliteFile:
    """Open a SQLite file, leaving nothing beside it. Raises SourceError."""
    return SqliteFile(path)


def create(path: str | os.PathLike[str], *, storage_version: str) -> None:
    """Make a new, empty DuckDB file, all of it at once.

    Raises FileExistsError when something is there, or when a ``.wal`` of an earlier file would be replayed into it;
    SourceError when the path is a URL or empty, or the folder is missing or may not be written.
    """
    leases.checked_version(storage_version)
    shown = os.fsdecode(os.fspath(path))
    sniffing.check_name(shown, shown)
    target = os.path.abspath(shown)
    for taken in (target, f"{target}.wal"):
        if os.path.lexists(taken):
            raise FileExistsError(f"{taken} exists; choose another name, or move it away")
    content = _empty_database(storage_version, shown)
    try:
        _write_new(target, content)
    except FileExistsError:
        raise FileExistsError(f"{shown} exists; choose another name, or move it away") from None
    except OSError as error:
        raise translate(error, shown) from None


def _empty_database(storage_version: str, shown: str) -> bytes:
    try:
        folder = private_folder.make(private_folder.COPIES)
    except OSError as error:
        raise no_private_folder(shown, error, "duckdb") from None
    try:
        made = folder / "new.duckdb"
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"ATTACH ? AS made (STORAGE_VERSION '{storage_version}')", [str(made)])
            connection.execute("DETACH made")
        return made.read_bytes()
    finally:
        private_folder.remove(folder)


def _write_new(target: str, content: bytes) -> None:
    """Give ``target`` its content in one step, never over an existing file; a kill at any moment leaves all or nothing.

    Where the system has files without a name, the content gets its name when it is complete; else it is written aside.
    """
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed:
        try:
            descriptor = os.open(os.path.dirname(target), unnamed | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                raise
        else:
            with open(descriptor, "wb") as file:
                _fill(file, content)
                # A directory descriptor makes this the call that follows the link in /proc to the file itself.
                os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)
            return
    aside = Path(f"{target}.{secrets.token_hex(4)}.new")
    with open(aside, "xb") as file:
        try:
            _fill(file, content)
            os.link(aside, target)
        finally:
            aside.unlink()


def _fill(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
