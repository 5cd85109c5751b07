"""Names that the scripts of this folder share: which text is embedded by what, and where the vectors are kept."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
VECTORS = HERE / "vectors.npz"
MINILM = "onnx:all-MiniLM-L6-v2:int8"
WORDLLAMA = "wordllama"
BY_MINILM = ("handbook", "letters.md")
"""The letters are embedded by both: their table is the one whose model was changed half way."""
BY_WORDLLAMA = ("almanac.md", "logbook.md", "visitors.md", "letters.md", "recipes.md", "postcards.md")
