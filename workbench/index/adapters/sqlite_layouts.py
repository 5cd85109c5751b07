"""SQLite files of other programs: told apart by their tables, so that a refusal can name what they seem to be."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.index.model import Problem, SourceError

_VEC0 = re.compile(r"\bUSING\s+vec0\s*\(", re.IGNORECASE)
_BLOB = re.compile(r"\bBLOB\b", re.IGNORECASE)

_BY_TABLES = (
    ({"collections", "segments", "embedding_metadata"}, "the database inside a Chroma folder"),
    ({"content_vectors", "vectors_vec"}, "an index of qmd"),
    ({"collections", "embeddings"}, "an embeddings database of llm"),
    ({"documents", "sections", "objects"}, "a database of txtai"),
    ({"af_vectors"}, "an index of agentfootprint with other columns than those that are known"),
)


def other_layout(path: str, tables: Mapping[str, str]) -> SourceError:
    """Refuse a SQLite file that is no index of the seed library. ``tables`` maps each name to its CREATE statement."""
    named = next((name for needed, name in _BY_TABLES if needed <= tables.keys()), None)
    if named is None and any(_VEC0.search(sql) for sql in tables.values()):
        named = "an index of sqlite-vec"
    if named is not None:
        return _refused(path, f"seems to be {named}, a layout that is not readable yet", Problem.NOT_READABLE_YET)
    if any(_BLOB.search(sql) for sql in tables.values()):
        said = "is a SQLite file of an unknown layout; vectors kept as BLOBs are not readable yet"
        return _refused(path, said, Problem.NOT_READABLE_YET)
    said = "is a SQLite file without vectors" if tables else "is a SQLite file without tables"
    return _refused(path, said, Problem.NOT_AN_INDEX)


def _refused(path: str, said: str, problem: Problem) -> SourceError:
    return SourceError(
        problem, f"{path} {said}; give a DuckDB file, or a SQLite file of agentfootprint", container="sqlite"
    )
