"""Keeps the folders of the machine that made a file out of it; used by the scripts beside it."""

from __future__ import annotations

import re
import site
import sys
from pathlib import Path


def without_folders(text: str) -> str:
    """Replace where Python, its packages and these scripts are."""
    for folder in sorted({*site.getsitepackages(), str(Path(__file__).parent)}, key=len, reverse=True):
        text = text.replace(folder, "…")
    for folder in sorted({sys.prefix, sys.base_prefix}, key=len, reverse=True):
        text = text.replace(folder, "…")
    return re.sub(r"/[^ \"\\]*/lib/python3\.\d+", "…", text)
