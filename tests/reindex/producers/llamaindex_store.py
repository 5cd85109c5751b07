"""Writes, asks and extends a LlamaIndex DuckDB store with LlamaIndex itself: ``make|use PATH FILE_OF_VECTORS``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from llama_index.core.schema import MetadataMode, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.vector_stores.duckdb import DuckDBVectorStore


class _Offline:
    """A connection that needs no extension: JSON is in the library, and full texts are not searched here."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 (whatever the store has connected)
        self._connection = connection

    def install_extension(self, name: str) -> None:
        """Download nothing."""

    def load_extension(self, name: str) -> None:
        """Load nothing."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._connection, name)


_initialize = DuckDBVectorStore._initialize_table.__func__
DuckDBVectorStore._initialize_table = classmethod(lambda cls, conn, *rest: _initialize(cls, _Offline(conn), *rest))


def main(action: str, path: str, vectors: str) -> dict[str, Any]:
    """Make the store from all texts but the last, or ask for the second, add the last one and ask for it."""
    by_text: dict[str, list[float]] = json.loads(Path(vectors).read_text("utf-8"))
    texts, dims = list(by_text), len(next(iter(by_text.values())))
    folder, name = os.path.split(path)
    if action == "make":
        store = DuckDBVectorStore(database_name=name, persist_dir=folder, embed_dim=dims)
        nodes = [_node(f"node-{number}", text, by_text[text]) for number, text in enumerate(texts[:-1])]
        store.add(nodes)
        return {"embedded": [node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]}
    store = DuckDBVectorStore.from_local(path)
    before = store.query(VectorStoreQuery(query_embedding=by_text[texts[1]], similarity_top_k=2))
    store.add([_node("added", texts[-1], by_text[texts[-1]])])
    after = store.query(VectorStoreQuery(query_embedding=by_text[texts[-1]], similarity_top_k=2))
    return {"before": before.ids, "after": after.ids, "scores": after.similarities}


def _node(id: str, text: str, vector: list[float]) -> TextNode:
    return TextNode(
        id_=id,
        text=text,
        embedding=vector,
        metadata={"chapter": id.upper(), "secret": "no"},
        excluded_embed_metadata_keys=["secret"],
    )


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:4])))
