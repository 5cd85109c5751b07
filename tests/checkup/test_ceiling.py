"""The ceiling of a namespace: whose number holds, and when the model table is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkup.agentfootprint_file import Index, Row
from workbench.checkup.ceiling import judge_ceiling
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.options import KNOWN_EMBEDDERS, CheckOptions
from workbench.checkup.report import CeilingVerdict
from workbench.index.adapters.agentfootprint import open_sqlite_source


def judge(folder: Path, index: Index, options: CheckOptions | None = None) -> CeilingVerdict:
    with open_sqlite_source(index.write(folder / "index.db")) as source:
        (namespace,) = source.namespaces()
        return judge_ceiling(namespace, judge_fingerprints(namespace), options or CheckOptions())


def rows(*fingerprints: str, dims: int = 384, text: str = "a text") -> list[Row]:
    return [
        Row(str(place), fingerprint=each, vector=(1.0,) * dims, text=text) for place, each in enumerate(fingerprints)
    ]


@pytest.mark.parametrize(
    ("record", "said", "dims", "expected"),
    [
        ("all-MiniLM-L6-v2@384", ("all-MiniLM-L6-v2@384",), 384, (700, "registry")),
        ("sentence-transformers/all-MiniLM-L6-v2@384", ("?@384",), 384, (700, "registry")),
        (None, ("all-MiniLM-L6-v2@384",), 384, (700, "registry")),
        ("?@384", ("all-MiniLM-L6-v2@384",), 384, (700, "registry")),
        (None, ("all-MiniLM-L6-v2@384", "?@384"), 384, (2_000, "default")),
        (None, ("all-MiniLM-L6-v2@384", "all-MiniLM-L12-v2@384"), 384, (2_000, "default")),
        ("all-MiniLM-L6-v2@383", ("all-MiniLM-L6-v2@383",), 383, (2_000, "default")),
        ("ALL-MINILM-L6-V2@384", ("ALL-MINILM-L6-V2@384",), 384, (2_000, "default")),
        ("mock@32", ("mock@32",), 32, (1_000_000, "registry")),
        ("nobody@384", ("nobody@384",), 384, (2_000, "default")),
    ],
)
def test_the_table_is_asked_for_the_model_that_the_namespace_or_every_vector_names(
    tmp_path: Path, record: str | None, said: tuple[str, ...], dims: int, expected: tuple[int, str]
) -> None:
    records = {} if record is None else {"docs": record}
    ceiling = judge(tmp_path, Index(rows(*said, dims=dims), records)).ceiling
    assert (ceiling.chars, ceiling.source) == expected


def test_an_explicit_ceiling_beats_everything(tmp_path: Path) -> None:
    options = CheckOptions(explicit_ceiling=50, embedder=KNOWN_EMBEDDERS["minilm"])
    ceiling = judge(tmp_path, Index(rows("all-MiniLM-L6-v2@384")), options).ceiling
    assert (ceiling.chars, ceiling.source) == (50, "explicit")


@pytest.mark.parametrize(("name", "chars"), [("wordllama", 1_000_000), ("minilm", 1_000)])
def test_a_named_embedder_declares_its_own(tmp_path: Path, name: str, chars: int) -> None:
    ceiling = judge(tmp_path, Index(rows("all-MiniLM-L6-v2@384")), CheckOptions(embedder=KNOWN_EMBEDDERS[name])).ceiling
    assert (ceiling.chars, ceiling.source) == (chars, "embedder")


def test_chunks_within_the_ceiling_that_could_be_too_many_tokens_are_possible(tmp_path: Path) -> None:
    within = judge(tmp_path, Index(rows("all-MiniLM-L6-v2@384", text="x" * 257))).clipped
    assert within is not None
    assert (within.count, within.possible) == (0, 1)


def test_without_a_known_model_nothing_is_called_possible(tmp_path: Path) -> None:
    unknown = judge(tmp_path, Index(rows("nobody@384", text="x" * 1_900))).clipped
    assert unknown is not None
    assert unknown.possible == 0
