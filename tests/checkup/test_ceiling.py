"""The ceiling of a namespace: whose number holds, and when the model table is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkup.agentfootprint_file import Index, Row
from workbench.checkup.ceiling import judge_ceiling
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.options import KNOWN_EMBEDDERS, CheckOptions, KnownEmbedder
from workbench.checkup.report import CeilingVerdict
from workbench.core.fingerprint import Fingerprint
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.index.store import Entry, VectorStore
from workbench.sources import open_source


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


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Make a native index whose namespace declares that 10 characters are read, and holds one of 30."""
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("docs", max_input_chars=10)
        store.put_many("docs", [Entry("a", "x" * 30, [1.0] * 256)], embedder_id="acme")
    return path


def judged(path: Path, options: CheckOptions) -> CeilingVerdict:
    with open_source(path) as source:
        (namespace,) = source.namespaces()
        return judge_ceiling(namespace, judge_fingerprints(namespace), options)


def test_an_embedder_that_did_not_build_the_namespace_never_hides_what_was_clipped(declared: Path) -> None:
    verdict = judged(declared, CheckOptions(embedder=KNOWN_EMBEDDERS["wordllama"]))
    assert (verdict.ceiling.chars, verdict.ceiling.source, verdict.origin) == (10, "embedder", "as its record declares")
    assert verdict.clipped is not None
    assert (verdict.clipped.count, verdict.clipped.possible) == (1, 0)
    assert "as its record declares" in verdict.findings[0].message


def test_the_embedder_that_built_the_namespace_declares_more_than_its_record(declared: Path) -> None:
    built = KnownEmbedder("acme", Fingerprint("acme", 256), 20)
    verdict = judged(declared, CheckOptions(embedder=built))
    assert (verdict.ceiling.chars, verdict.origin) == (20, "as the embedder declares")


def test_an_embedder_that_declares_nothing_leaves_what_is_recorded(declared: Path) -> None:
    silent = KnownEmbedder("acme", Fingerprint("acme", 256), None)
    verdict = judged(declared, CheckOptions(embedder=silent))
    assert (verdict.ceiling.chars, verdict.origin) == (10, "as its record declares")


def test_a_ceiling_that_overrides_the_recorded_one_names_it(declared: Path) -> None:
    (note,) = judged(declared, CheckOptions(explicit_ceiling=5_000)).notes
    assert "10 characters" in note
    assert judged(declared, CheckOptions(explicit_ceiling=10)).notes == ()
    assert judged(declared, CheckOptions()).notes == ()


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
