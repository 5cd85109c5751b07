"""A DuckDB file as a source: recognised once, then measured and searched namespace by namespace."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from workbench.index.adapters.detect import Detection, detect
from workbench.index.adapters.labels_kept import labelled
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach, translate
from workbench.index.schema import refuse_unknown_version
from workbench.index.table import DuckDBNamespace

if TYPE_CHECKING:
    from workbench.index.model import Namespace
    from workbench.index.opening import Attachment

CONTAINER = "duckdb"

_SPECIFIC_FIRST = ("workbench", "llamaindex", "langchain", "plain-table")
_NAMED = 5


class DuckDBSource:
    """Implements model.IndexSource over one DuckDB file."""

    def __init__(self, attachment: Attachment, detection: Detection) -> None:
        self._attachment = attachment
        self._namespaces = tuple(DuckDBNamespace(attachment, mapping) for mapping in detection.mappings)
        self._remarks = detection.remarks
        found = {mapping.adapter for mapping in detection.mappings}
        self._adapter = next((name for name in _SPECIFIC_FIRST if name in found), "workbench")

    @property
    def path(self) -> str:
        """As the user gave it."""
        return self._attachment.path

    @property
    def container(self) -> str:
        """Always duckdb."""
        return CONTAINER

    @property
    def adapter(self) -> str:
        """The most specific adapter of its namespaces."""
        return self._adapter

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said beside the file, and what it holds that cannot be read yet."""
        return (*self._attachment.notes, *self._remarks)

    def namespaces(self) -> tuple[Namespace, ...]:
        """All namespaces, empty ones too, in the order of the file."""
        return self._namespaces

    def hold(self) -> AbstractContextManager[None]:
        """Keep the lease for the length of the block."""
        return self._attachment.hold()

    def held(self) -> bool:
        """Whether a writer is shut out at this moment."""
        return self._attachment.held()

    def changed(self) -> bool:
        """Whether the file was rewritten since the namespaces were recognised."""
        return self._attachment.changed()

    def close(self) -> None:
        """Give up lease and connection. Safe to call twice."""
        self._attachment.close()

    def __enter__(self) -> DuckDBSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_duckdb_source(
    path: str | os.PathLike[str], known_model: Callable[[str], bool] = lambda model: False
) -> DuckDBSource:
    """Open a DuckDB file read-only and recognise its namespaces.

    ``known_model`` says whether a string is the id of an embedding model, which helps to find the column that names
    them. Raises SourceError for a file that cannot be opened or holds no namespace, with what it holds instead, and for
    a native one of a version that is not known.
    """
    attachment = attach(path)
    try:
        with attachment.hold(), attachment.cursor() as cursor:
            refuse_unknown_version(cursor, attachment.path)
            detection = detect(cursor, known_model)
            if not detection.native:
                mappings = labelled(cursor, attachment.path, detection.mappings)
                detection = replace(detection, mappings=mappings)
        if not detection.mappings and not detection.native:
            raise _nothing_found(attachment.path, detection)
        if not detection.mappings and detection.remarks:
            raise _nothing_left(attachment.path, detection)
    except duckdb.Error as error:
        attachment.close()
        raise translate(error, attachment.path) from error
    except BaseException:
        attachment.close()
        raise
    return DuckDBSource(attachment, detection)


def _nothing_left(path: str, detection: Detection) -> SourceError:
    """Refuse a native file all of whose namespaces are broken: an empty index would look as if nothing were wrong."""
    why = "; ".join(detection.remarks[:_NAMED])
    return SourceError(
        Problem.DAMAGED,
        f"{path} is a workbench index, and its registry does not fit its tables ({why}); restore it from a copy",
        container=CONTAINER,
    )


def _nothing_found(path: str, detection: Detection) -> SourceError:
    if detection.unreadable:
        return SourceError(
            Problem.NOT_READABLE_YET,
            f"{path} holds no vectors that can be read yet: {'; '.join(detection.remarks[:_NAMED])}",
            container=CONTAINER,
        )
    if not detection.tables:
        what = "is a DuckDB file without a table; give the file that the vectors were written to"
    else:
        named = ", ".join(detection.tables[:_NAMED])
        more = f" and {len(detection.tables) - _NAMED} more" if len(detection.tables) > _NAMED else ""
        way_out = "give the file that the vectors were written to"
        if detection.texts:
            way_out = f"it keeps texts in {detection.texts[0]}, so give the file or folder that holds their vectors"
        what = f"is a DuckDB file without vectors (tables: {named}{more}); {way_out}"
    return SourceError(Problem.NOT_AN_INDEX, f"{path} {what}", container=CONTAINER)
