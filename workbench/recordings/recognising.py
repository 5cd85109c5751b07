"""What a file is by its beginning: the format of a recording and the reason, without reading the rest."""

from __future__ import annotations

import os
from dataclasses import dataclass

from workbench.recordings.document import PREVIEW_BYTES, FileDocument
from workbench.recordings.model import RecordingError
from workbench.recordings.readers.generic import GenericReader


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format by name, and how it was recognised; ``generic`` when it is only some JSON."""

    format: str
    why: str
    generic: bool


def recognise(path: str | os.PathLike[str]) -> Recognised | None:
    """Tell the format of a recording by at most 256 KiB of it; None when it is none, or cannot be opened."""
    from workbench.recordings.readers import READERS

    try:
        document = FileDocument(path, limit=PREVIEW_BYTES)
    except RecordingError:
        return None
    try:
        for reader in READERS:
            why = reader.detect(document.head)
            if why is not None:
                return Recognised(reader.format, why, reader.format == GenericReader.format)
    finally:
        document.close()
    return None
