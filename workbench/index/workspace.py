"""Several DuckDB files on one sealed connection: how rows go from one into another, at most one of them written.

The files are taken out of this process's leases for that time, since opening an inode twice would drop its lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import duckdb

from workbench.core.job import Cancelled, Job
from workbench.index import leases, private_folder, refusals, sniffing
from workbench.index.blocks import Blocks
from workbench.index.schema import ROW_GROUP_SIZE
from workbench.index.sniffing import Located

_MEGABYTES = 1_000


class Access(Enum):
    """What is done with a file."""

    READ = "read"
    WRITE = "write"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a workspace: its catalogue name there, and what is done with it.

    ``storage_version`` (such as ``v1.2.0``) and ``block_size`` (bytes, a power of two) are for a new file.
    """

    alias: str
    path: str | os.PathLike[str]
    access: Access = Access.READ
    storage_version: str = "v1.2.0"
    block_size: int | None = None


class Workspace:
    """A connection with several files attached by alias; tables are named ``alias.main.t``, nothing is USEd."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, shown: str) -> None:
        self._connection = connection
        self._shown = shown
        self._blocks = Blocks[duckdb.DuckDBPyConnection]()

    @contextmanager
    def cursor(self, job: Job | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor; cancelling the job interrupts it and raises Cancelled. Errors pass as they are."""
        with self._blocks.begin() as block:
            try:
                with block.using(self._connection.cursor(), job) as cursor:
                    yield cursor
            except duckdb.Error:
                if block.interrupted or (job is not None and job.cancelled):
                    raise Cancelled from None
                raise

    def detach(self, alias: str) -> None:
        """Close one file, so that all of it is on the disk; the others stay open."""
        self._connection.execute(f'DETACH "{alias}"')


@contextmanager
def together(*members: Member) -> Iterator[Workspace]:
    """Attach the files to one connection for the length of the block.

    Raises:
        SourceError: a file is missing, damaged, or held by another program (named) against what is asked.
    """
    with ExitStack() as stack:
        located = [_taken(stack, member) for member in members]
        spill = private_folder.reserve(private_folder.SPILL)
        stack.callback(private_folder.remove, spill)
        connection = duckdb.connect(":memory:", config=leases.config(_MEGABYTES, str(spill)))
        stack.callback(connection.close)
        reals = [found.real if isinstance(found, Located) else found for found in located]
        leases.seal(connection, reals)
        for member, found, real in zip(members, located, reals, strict=True):
            _attach(connection, member, real)
            if isinstance(found, Located) and _key(real) != found.key:
                raise refusals.being_written(os.fsdecode(os.fspath(member.path)), "duckdb")
        yield Workspace(connection, reals[0])


def storage_version(cursor: duckdb.DuckDBPyConnection, alias: str) -> str:
    """Say for which DuckDB an attached file was written, such as ``v1.2.0``."""
    rows: list[Any] = cursor.execute(
        "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = ?", [alias]
    ).fetchall()
    said = str(rows[0][0]) if rows and rows[0][0] is not None else ""
    return said.split("+")[0] or "v1.2.0"


def block_size(cursor: duckdb.DuckDBPyConnection, alias: str) -> int | None:
    """Say in blocks of how many bytes an attached file is written."""
    rows = cursor.execute("SELECT block_size FROM pragma_database_size() WHERE database_name = ?", [alias]).fetchall()
    return int(rows[0][0]) if rows and rows[0][0] else None


def _taken(stack: ExitStack, member: Member) -> Located | str:
    shown = os.fsdecode(os.fspath(member.path))
    if member.access is Access.NEW:
        sniffing.check_name(shown, shown)
        real = os.path.abspath(shown)
        if os.path.lexists(real) or os.path.lexists(leases.log_path(real, leases.WAL)):
            raise FileExistsError(f"{shown} exists; choose another name, or move it away")
        return real
    located = sniffing.locate(shown)
    lease = stack.enter_context(leases.borrowed(located.key))
    stack.enter_context(lease.lent(located))
    return located


def _attach(connection: duckdb.DuckDBPyConnection, member: Member, real: str) -> None:
    options: Sequence[str] = ("TYPE duckdb", "READ_ONLY")
    if member.access is not Access.READ:
        options = ("TYPE duckdb", f"ROW_GROUP_SIZE {ROW_GROUP_SIZE}")
    if member.access is Access.NEW:
        options = (*options, f"STORAGE_VERSION '{leases.checked_version(member.storage_version)}'")
        if member.block_size is not None:
            options = (*options, f"BLOCK_SIZE {int(member.block_size)}")
    try:
        connection.execute(f'ATTACH ? AS "{member.alias}" ({", ".join(options)})', [real])
    except duckdb.Error as error:
        raise refusals.translate(error, os.fsdecode(os.fspath(member.path))) from None


def _key(real: str) -> tuple[int, int]:
    found = os.stat(real)
    return found.st_dev, found.st_ino
