"""A text of any size in pieces that are JSON each, proven as they are cut, with one of them in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.recordings.cutting import Cutter
from workbench.recordings.document import FileDocument
from workbench.recordings.line_pieces import Lines
from workbench.recordings.model import Note, RecordingError, Unreadable
from workbench.recordings.piece import Piece, Proof, Prove
from workbench.recordings.spans import Form

_LARGER_THAN_ANY_WINDOW = 8 << 20


def pieces_of(
    document: FileDocument,
    notes: list[Note],
    prove: Prove[Proof],
    *,
    lines_together: bool = True,
    long_texts_apart: bool = True,
) -> Iterator[Piece[Proof]]:
    """Cut the text of a document; the pieces in their order, without what was added around them, are the text.

    Of JSON Lines and values one after another, damaged ones are left out and noted. Raises RecordingError when the
    text is no JSON, which may be found out only after some pieces.

    Args:
        document: what to cut.
        notes: gets what is damaged.
        prove: is asked about guesses.
        lines_together: whether many lines may be one piece, or each must be one.
        long_texts_apart: whether a string of many MB may be glue.
    """
    if document.form == Form.TEXT:
        raise RecordingError(
            Unreadable.NOT_A_RECORDING,
            f"{document.name} is neither JSON nor JSON Lines, and only those are summarised; export it as one of them",
        )
    _keep_freed_memory()
    if document.form == Form.JSONL:
        pieces = Lines(document, notes, prove, together=lines_together, long_texts_apart=long_texts_apart).pieces()
    else:
        pieces = Cutter(document, document.span, notes, prove, long_texts_apart=long_texts_apart).pieces()
    yield from pieces
    document.check_unchanged()


def _keep_freed_memory() -> None:
    """Make glibc keep freed blocks of a window's size for the next one: it learns that from one larger block.

    Else each window's pages are given back and faulted in again, a fifth of all time. Elsewhere it does nothing.
    """
    bytes(_LARGER_THAN_ANY_WINDOW)
