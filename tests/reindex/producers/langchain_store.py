"""Writes, asks and extends a LangChain DuckDB store with LangChain itself: ``make|use PATH FOLDER_OF_VECTORS``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
from langchain_community.vectorstores import DuckDB
from langchain_core.embeddings import Embeddings


class _Given(Embeddings):  # type: ignore[misc, unused-ignore]  # untyped where its package is not there
    """Vectors that were made elsewhere, by text."""

    def __init__(self, path: str) -> None:
        self._by_text: dict[str, list[float]] = json.loads(Path(path).read_text("utf-8"))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._by_text[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._by_text[text]


def main(action: str, path: str, vectors: str) -> dict[str, Any]:
    """Make the store from all texts but the last, or ask for the last one, add it and ask again."""
    given = _Given(vectors)
    texts = list(given._by_text)
    with duckdb.connect(path) as connection:
        store = DuckDB(connection=connection, embedding=given)
        if action == "make":
            metadatas = [{"n": number} for number in range(len(texts) - 1)]
            store.add_texts(texts[:-1], metadatas=metadatas, ids=[f"doc-{n}" for n in range(len(texts) - 1)])
            return {}
        before = [found.page_content for found in store.similarity_search(texts[1], k=2)]
        store.add_texts(texts[-1:], metadatas=[{"n": "added"}], ids=["added"])
        after = store.similarity_search(texts[-1], k=2)
        return {
            "before": before,
            "after": [found.page_content for found in after],
            "metadata": after[0].metadata,
            "rows": connection.execute("SELECT count(*) FROM embeddings").fetchall()[0][0],
        }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4])))
