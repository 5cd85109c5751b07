"""Makes SQLite files as the seed library writes them, and as it would never."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_COLUMNS = (
    "namespace TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, metadata TEXT, embedding BLOB, "
    "dims INTEGER NOT NULL, embedder_fp TEXT, version INTEGER NOT NULL, created_at INTEGER NOT NULL, "
    "updated_at INTEGER NOT NULL, last_accessed_at INTEGER NOT NULL, access_count INTEGER NOT NULL, ttl INTEGER, "
    "tier TEXT, source TEXT, source_uri TEXT, embedding_model TEXT"
)


@dataclass
class Row:
    """One row; ``vector`` as numbers, or as the very bytes of the blob."""

    id: str
    text: str = "a text"
    vector: Sequence[float] | bytes | None = (1.0, 0.0)
    namespace: str = "docs"
    fingerprint: str | None = "acme@2"
    ttl: int | None = None
    tier: str | None = None
    metadata: str | None = None
    value: str | None = None
    source_uri: str | None = None

    @property
    def blob(self) -> bytes | None:
        """The bytes of the vector as the seed stores them."""
        if self.vector is None or isinstance(self.vector, bytes):
            return self.vector
        with np.errstate(over="ignore"):
            return np.asarray(self.vector, "<f4").tobytes()


@dataclass
class Index:
    """A file to be: its rows, and what is recorded of namespaces."""

    rows: list[Row] = field(default_factory=list)
    records: dict[str, str] = field(default_factory=dict)
    schema_version: str | None = "1"
    keeps_records: bool = True
    primary_key: bool = True

    def write(self, path: Path) -> Path:
        """Write the file and give its path."""
        key = ", PRIMARY KEY (namespace, id)" if self.primary_key else ""
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE TABLE af_vectors ({_COLUMNS}{key}) STRICT")
        connection.execute("CREATE INDEX af_vectors_ns ON af_vectors(namespace)")
        if self.keeps_records:
            connection.execute("CREATE TABLE af_index_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
            meta = {} if self.schema_version is None else {"schema_version": self.schema_version}
            meta |= {f"fp:{name}": fingerprint for name, fingerprint in self.records.items()}
            connection.executemany("INSERT INTO af_index_meta VALUES (?, ?)", meta.items())
        for row in self.rows:
            value = json.dumps({"content": row.text}) if row.value is None else row.value
            dims = 0 if row.blob is None else len(row.blob) // 4
            connection.execute(
                "INSERT INTO af_vectors VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 0, ?, ?, NULL, ?, NULL)",
                (
                    row.namespace,
                    row.id,
                    value,
                    row.metadata,
                    row.blob,
                    dims,
                    row.fingerprint if row.blob else None,
                    row.ttl,
                    row.tier,
                    row.source_uri,
                ),
            )
        connection.commit()
        connection.close()
        return path
