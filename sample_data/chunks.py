"""Reads the sample texts: every second-level heading of a Markdown file opens one chunk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True)
class SampleChunk:
    """One chunk: its id ``<file>#<n from 1>``, where it stands, and its text with the heading as the first line."""

    id: str
    source: str
    title: str
    heading: str
    text: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, by which its vectors are kept."""
        return digest(self.text)


def digest(text: str) -> str:
    """Give the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_questions(embedder: str) -> list[str]:
    """Read the questions of the recorded runs that an embedder (``minilm``, ``wordllama``) made vectors of."""
    questions: dict[str, list[str]] = json.loads((TEXTS / "questions.json").read_text(encoding="utf-8"))
    return questions[embedder]


def read_chunks(name: str) -> list[SampleChunk]:
    """Read one file of ``texts/``, or all files of a folder there, in the order of their names."""
    path = TEXTS / name
    files = sorted(path.glob("*.md")) if path.is_dir() else [path]
    return [chunk for file in files for chunk in _read_file(file)]


def _read_file(path: Path) -> list[SampleChunk]:
    """Split one Markdown file at its second-level headings."""
    head, *parts = path.read_text(encoding="utf-8").split("\n## ")
    title = head.removeprefix("# ").strip()
    chunks = []
    for n, part in enumerate(parts, start=1):
        heading, _, body = part.partition("\n")
        chunks.append(
            SampleChunk(
                id=f"{path.name}#{n}",
                source=path.relative_to(TEXTS).as_posix(),
                title=title,
                heading=heading.strip(),
                text=f"{heading.strip()}\n\n{body.strip()}",
            )
        )
    return chunks
