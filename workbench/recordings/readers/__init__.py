"""The readers of recordings, in the order in which they are asked; the generic one takes what is left."""

from __future__ import annotations

from workbench.recordings.model import Reader
from workbench.recordings.readers.generic import GenericReader

READERS: tuple[Reader, ...] = (GenericReader(),)
"""Every reader; the first that recognises a document reads it."""
