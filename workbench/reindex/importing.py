"""Copying namespaces of any readable index into a native file: whole or not at all, and saying what did not fit.

A file that is not there is made aside and takes its name when all is in it; into one that is there each namespace goes
in one transaction. Rows are never lost: of a vector that cannot be kept the row is kept without it, and named.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_conflict, fingerprint_text, parse_fingerprint
from workbench.core.text import utf16_length
from workbench.index import leases, opening, private_folder, schema, sniffing
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.index.adapters.native import ADAPTER as NATIVE
from workbench.index.adapters.native import native_mappings
from workbench.index.duckdb_source import open_duckdb_source
from workbench.index.entry import PreparedEntry, as_float32
from workbench.index.model import Problem, SourceError
from workbench.index.schema import GENERATIONS, NAMESPACES, SCHEMA, first_row
from workbench.index.sql import qualified
from workbench.index.stored_rows import StoredRow, table_rows, value_rows
from workbench.index.table import DuckDBNamespace
from workbench.index.writing import BatchWriter, create_namespace, transaction
from workbench.reindex.leftovers import remove_file
from workbench.reindex.living import names_a_model
from workbench.reindex.model import ReindexError
from workbench.reindex.sibling import refuse_unfinished

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import IndexSource, Namespace

LISTED = 1_000
"""How many of the rows whose vector was left out are named."""

_INT64 = 2**63 - 1
_KEPT_OF_GENERATION = ("max_input_tokens", "ceiling_source", "tokenizer", "document_prefix", "query_prefix", "runtime")


class UnknownNamespaces(Exception):
    """Namespaces that were asked for and are not in the source; ``known`` are those that are."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known


@dataclass(slots=True)
class Imported:
    """What became of one namespace.

    Attributes:
        count: rows, all of the source's; ``vectors``: those with a vector now.
        fingerprint: what the namespace records now; None when it has no vector.
        left_out: rows whose vector could not be kept, with the reason; ``left_out_count`` are all of them.
        renamed: rows that had the id of an earlier one and got a number behind it.
        repaired: rows with bytes that are no text, which were replaced.
    """

    name: str
    count: int = 0
    vectors: int = 0
    fingerprint: str | None = None
    left_out: list[tuple[str, str]] = field(default_factory=list)
    left_out_count: int = 0
    renamed: int = 0
    repaired: int = 0

    @property
    def whole(self) -> bool:
        """Whether everything is as it was in the source."""
        return not (self.left_out_count or self.renamed or self.repaired)

    def leave_out(self, id: str, reason: str) -> None:
        """Note that a row was kept without its vector."""
        self.left_out_count += 1
        if len(self.left_out) < LISTED:
            self.left_out.append((id, reason))


def import_index(
    source_path: str,
    target: str,
    names: Sequence[str],
    now_ms: int,
    job: Job,
    on_namespace: Callable[[str, int], None] | None = None,
) -> tuple[Imported, ...]:
    """Copy namespaces (all, when none is named) into a native file; ``on_namespace`` hears of each before it begins.

    Raises:
        UnknownNamespaces: one of the names is not in the source.
        ReindexError: the target is the source, or has a namespace of that name; nothing was written.
        SourceError: the source cannot be read, or the target is no native index or held by another program.
        WriteError: the target could not be written; the namespace at hand is not in it.
        Cancelled: the job was given up; a new file was not made, into an existing one whole namespaces may have come.
    """
    if os.path.exists(target) and os.path.samefile(source_path, target):
        raise ReindexError(f"{target} is the source itself; name another file to import into")
    with _open(source_path) as source, source.hold():
        chosen = _chosen(source, names)
        with ExitStack() as stack:
            made = None if os.path.lexists(target) else stack.enter_context(_made_aside(target))
            attachment = stack.enter_context(contextlib.closing(opening.attach(made or target, read_only=False)))
            _prepare(attachment, target, [each.name for each in chosen])
            done = []
            for namespace in chosen:
                if on_namespace is not None:
                    on_namespace(namespace.name, namespace.count(job))
                done.append(_copied(source, namespace, attachment, now_ms, job))
            attachment.close()
            if made is not None:
                _name(made, target)
    return tuple(done)


def _open(path: str) -> IndexSource:
    refuse_unfinished(path)
    if opening.sniff(path).container == "sqlite":
        return open_sqlite_source(path)
    return open_duckdb_source(path, names_a_model)


def _chosen(source: IndexSource, names: Sequence[str]) -> list[Namespace]:
    found = {each.name: each for each in source.namespaces()}
    for name in names:
        if name not in found:
            raise UnknownNamespaces(name, tuple(found))
    return [found[name] for name in dict.fromkeys(names)] if names else list(found.values())


@contextlib.contextmanager
def _made_aside(target: str) -> Iterator[str]:
    """Make an empty native file beside the target; whatever is left of it at the end is removed."""
    sniffing.check_name(target, target)
    folder, name = os.path.split(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise SourceError(
            Problem.MISSING, f"{target} cannot be made: there is no folder {folder}; make it, or name another file"
        )
    _sweep(folder, name)
    aside = os.path.join(folder, f".{name}.importing-{os.getpid()}-{secrets.token_hex(4)}")
    if os.path.lexists(leases.log_path(os.path.abspath(target), leases.WAL)):
        raise ReindexError(f"beside {target} lies the log of an earlier file of that name; move it away")
    try:
        opening.create(aside, storage_version=schema.STORAGE_VERSION)
        yield aside
    finally:
        remove_file(aside)


def _sweep(folder: str, name: str) -> None:
    """Remove what imports into this name have left whose process was killed."""
    for path in glob.glob(f"{glob.escape(os.path.join(folder, f'.{name}.importing-'))}*"):
        pid = path.rpartition(".importing-")[2].partition("-")[0]
        if pid.isdecimal() and not private_folder.alive(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _name(made: str, target: str) -> None:
    """Give the complete file its name, never over another one."""
    descriptor = os.open(made, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(made, os.path.abspath(target))
    except FileExistsError:
        raise ReindexError(f"{target} was made by another program meanwhile; nothing was imported") from None


def _prepare(attachment: opening.Attachment, target: str, names: Sequence[str]) -> None:
    with attachment.cursor() as cursor:
        if schema.is_empty(cursor):
            with transaction(cursor):
                schema.create_registry(cursor)
        schema.require_native(cursor, target)
        for name in names:
            taken = first_row(cursor, f"SELECT 1 FROM {qualified(SCHEMA, NAMESPACES)} WHERE namespace = ?", [name])
            if taken is not None:
                raise ReindexError(
                    f"{target} has a namespace '{name}' already; import into another file, or leave it out with "
                    "--namespace"
                )


def _copied(
    source: IndexSource, namespace: Namespace, attachment: opening.Attachment, now_ms: int, job: Job
) -> Imported:
    """Copy one namespace in one transaction."""
    said = Imported(namespace.name)
    fingerprint = _fingerprint(namespace, job)
    total = namespace.count(job)
    doubled = namespace.duplicates(job).ids > 0
    taken = _Ids() if doubled else None
    with attachment.cursor(job) as cursor:
        with transaction(cursor):
            target = create_namespace(cursor, namespace.name, namespace.max_input_chars, now_ms)
            writer = BatchWriter(cursor, target, now_ms, provenance=True)
            for row in _rows(source, namespace, fingerprint, job):
                entry = _prepared(row, fingerprint, said, taken)
                writer.add(entry, None if fingerprint is None else fingerprint.id)
                said.count += 1
                said.vectors += entry.vector is not None
                if said.count % 1_000 == 0:
                    job.progress(said.count, max(total, said.count))
            count = writer.finish()
            if count != said.count:
                raise ReindexError(f"'{namespace.name}' gave {said.count:,} rows and {count:,} came in; nothing did")
            _keep_generation(cursor, target.generation, _of_generation(source, namespace))
            said.fingerprint = target.record
            if target.record is None and fingerprint is not None:
                said.fingerprint = _record(cursor, target.generation, fingerprint)
        with contextlib.suppress(duckdb.Error):
            cursor.execute("CHECKPOINT ix")
    return said


class _Ids:
    """Tells rows of one id apart: the first keeps it, the others get a number behind it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def own(self, id: str) -> str:
        """Give an id that no earlier row has."""
        name, number = id, 1
        while name in self._seen:
            number += 1
            name = f"{id} ({number})"
        self._seen.add(name)
        return name


def _fingerprint(namespace: Namespace, job: Job) -> Fingerprint | None:
    """Choose what the namespace will hold: what it records, when its vectors agree; else what most of them say."""
    counts = [(parse_fingerprint(each.fingerprint), each.count) for each in namespace.fingerprints(job)]
    recorded = namespace.recorded
    fits = recorded is not None and any(fingerprint_conflict(recorded, each) is None for each, _ in counts)
    if fits or not counts:
        return recorded
    dims = counts[0][0].dims
    return next((each for each, _ in counts if each.id is not None and each.dims == dims), counts[0][0])


def _rows(source: IndexSource, namespace: Namespace, fingerprint: Fingerprint | None, job: Job) -> Iterator[StoredRow]:
    dims = None if fingerprint is None else int(fingerprint.dims)
    if isinstance(namespace, DuckDBNamespace):
        with contextlib.closing(opening.attach(source.path)) as attachment, attachment.cursor(job) as cursor:
            yield from table_rows(cursor, namespace.mapping, dims, job)
    else:
        name = namespace.name
        with opening.open_sqlite(source.path) as file, file.cursor(job) as connection:
            key = name if name.isascii() else name.encode("utf-8", "surrogateescape")
            yield from value_rows(connection, key, job)


def _prepared(row: StoredRow, fingerprint: Fingerprint | None, said: Imported, taken: _Ids | None) -> PreparedEntry:
    """Make of a row what a native file keeps, noting what had to change."""
    texts = [_whole_text(each) for each in (row.id, row.text, row.metadata, row.source, row.tier)]
    id, text, metadata, source, tier = (each for each, _ in texts)
    said.repaired += any(repaired for _, repaired in texts)
    name = taken.own(str(id)) if taken is not None else str(id)
    said.renamed += name != id
    vector, reason = _usable(row, fingerprint)
    if reason is not None:
        said.leave_out(name, reason)
    data = b"" if text is None else text.encode()
    return PreparedEntry(
        id=name,
        text=text,  # type: ignore[arg-type]  # a row without a text stays one: NULL
        char_count=0 if text is None else utf16_length(text),
        byte_count=len(data),
        content_hash=_hash(data) if text is not None else None,  # type: ignore[arg-type]
        vector=vector,
        metadata=metadata,
        source_uri=source,
        tier=tier,
        expires_ms=_expiry(row.expires_ms),
        embedder_id=row.model,
        provenance=row.provenance,
    )


def _usable(
    row: StoredRow, fingerprint: Fingerprint | None
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float32]] | None, str | None]:
    """Give the vector as it is kept, or why it is not; zeros and NaN are kept, as the store keeps them."""
    if row.vector is None or fingerprint is None:
        return None, None
    if row.null_at is not None:
        return None, f"element {row.null_at} of the vector is NULL"
    if row.vector.size != fingerprint.dims:
        return None, f"the vector has {row.vector.size:,} numbers and not {int(fingerprint.dims):,}"
    if fingerprint_conflict(fingerprint, Fingerprint(row.model, int(row.vector.size))) is not None:
        return None, f"the vector is of {fingerprint_text(Fingerprint(row.model, int(row.vector.size)))}"
    return as_float32(row.vector, "the vector"), None


def _whole_text(text: str | None) -> tuple[str | None, bool]:
    """Give a text that UTF-8 can hold, and whether something had to be replaced."""
    if text is None or text.isascii():
        return text, False
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode(), True
    return text, False


def _hash(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _expiry(given: float | None) -> int | None:
    if given is None or not math.isfinite(given):
        return None
    return max(-_INT64, min(math.ceil(given), _INT64))


def _of_generation(source: IndexSource, namespace: Namespace) -> tuple[object, ...] | None:
    """Read how a native namespace was built, so that its copy says the same."""
    if namespace.adapter != NATIVE:
        return None
    with contextlib.closing(opening.attach(source.path)) as attachment, attachment.cursor() as cursor:
        found = next(iter(native_mappings(cursor, namespace.name)), None)
        if found is None:
            return None
        return first_row(
            cursor,
            f"SELECT {', '.join(f'g.{name}' for name in _KEPT_OF_GENERATION)} FROM {qualified(SCHEMA, NAMESPACES)} n"
            f" JOIN {qualified(SCHEMA, GENERATIONS)} g ON g.generation = n.active_generation WHERE n.namespace = ?",
            [namespace.name],
        )


def _record(cursor: duckdb.DuckDBPyConnection, generation: int, fingerprint: Fingerprint) -> str:
    """Record what a namespace without a vector was said to hold."""
    text = fingerprint_text(fingerprint)
    cursor.execute(
        f"UPDATE {qualified(SCHEMA, GENERATIONS)} SET embedder_fp = ?, dims = ? WHERE generation = ?",
        [text, int(fingerprint.dims), generation],
    )
    return text


def _keep_generation(cursor: duckdb.DuckDBPyConnection, generation: int, said: tuple[object, ...] | None) -> None:
    if said is not None:
        cursor.execute(
            f"UPDATE {qualified(SCHEMA, GENERATIONS)} SET {', '.join(f'{name} = ?' for name in _KEPT_OF_GENERATION)}"
            " WHERE generation = ?",
            [*said, generation],
        )
