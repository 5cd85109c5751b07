"""The second answer in tokens: beside the character verdict, never instead of it, and only where it is exact."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.cli.running import workbench
from workbench import Entry, VectorStore, open_source
from workbench.checkup import exact
from workbench.checkup.ceiling import judge_ceiling
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.options import CheckOptions
from workbench.checkup.report import CeilingVerdict, ExactClip
from workbench.core.text import utf16_length, utf16_split
from workbench.embedders.known import MINILM
from workbench.embedders.minilm import minilm_counter

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tokenizers") is None, reason="needs the extra 'minilm'")

DENSE = "7391 5026 1184 " * 60
"""Fewer than a thousand characters and more than 256 tokens."""
LOOSE = "The keeper trims the lamp in the evening. " * 24
"""More than a thousand characters and fewer than 256 tokens."""
LONG = "Éa 😀 keeper " * 200
TEXTS = ["", "short", DENSE, LOOSE, LONG, DENSE]


def lost(text: str) -> int:
    cut = minilm_counter().cut_at(text)
    return 0 if cut is None else utf16_length(text) - cut


def expected() -> ExactClip:
    return ExactClip("all-MiniLM-L6-v2", 3, 2 * lost(DENSE) + lost(LONG))


def native(path: Path, texts: Sequence[str], model: str = str(MINILM.fingerprint.id)) -> Path:
    with VectorStore.open(path, read_only=False) as store:
        entries = [Entry(f"c{number}", text, [1.0] * 384) for number, text in enumerate(texts)]
        store.put_many("docs", entries, embedder_id=model)
    return path


def verdict(path: Path) -> CeilingVerdict:
    with open_source(path) as source, source.hold():
        (namespace,) = source.namespaces()
        return judge_ceiling(namespace, judge_fingerprints(namespace), CheckOptions())


def test_the_texts_are_what_they_are_said_to_be() -> None:
    assert len(DENSE) < 1_000 < len(LOOSE)
    assert lost(DENSE) > 0 == lost(LOOSE)


def test_tokens_are_counted_beside_characters_in_a_native_file(tmp_path: Path) -> None:
    found = verdict(native(tmp_path / "i.duckdb", TEXTS)).clipped
    assert found is not None
    assert found.exact == expected()
    assert found.count == sum(utf16_length(text) > 2_000 for text in TEXTS)


def test_tokens_are_counted_in_a_file_of_the_seed_library(tmp_path: Path) -> None:
    fingerprint = f"{MINILM.fingerprint.id}@384"
    rows = [Row(f"c{n}", text=text, vector=(1,) * 384, fingerprint=fingerprint) for n, text in enumerate(TEXTS)]
    Index(rows, {"docs": fingerprint}).write(tmp_path / "index.db")
    found = verdict(tmp_path / "index.db").clipped
    assert found is not None
    assert found.exact == expected()


def test_what_is_lost_is_what_lies_behind_the_last_token_read() -> None:
    counter = minilm_counter()
    for text in (DENSE, LONG):
        cut = counter.cut_at(text)
        assert cut is not None
        kept, rest = utf16_split(text, cut)
        assert counter.count(kept) == counter.max_tokens
        assert counter.count(kept + rest.strip()[:1]) >= counter.count(kept)


@pytest.mark.parametrize("model", ["wordllama", "acme", "text-embedding-3-small"])
def test_another_model_has_no_exact_answer(tmp_path: Path, model: str) -> None:
    found = verdict(native(tmp_path / "i.duckdb", TEXTS, model)).clipped
    assert found is not None
    assert found.exact is None


def test_more_text_than_can_be_waited_for_is_said_to_be_uncounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "MOST_CHARS", 100)
    found = verdict(native(tmp_path / "i.duckdb", TEXTS))
    assert found.clipped is not None
    assert found.clipped.exact is None
    assert any("tokens" in note for note in found.notes)


def test_check_prints_both_answers(tmp_path: Path) -> None:
    native(tmp_path / "i.duckdb", TEXTS)
    ran = workbench(tmp_path, "check", "i.duckdb", "--json")
    (namespace,) = ran.json["sources"][0]["namespaces"]
    assert namespace["clipped"]["exact"] == {
        "tokenizer": expected().tokenizer,
        "count": expected().count,
        "lost_chars": expected().lost_chars,
    }
    text = " ".join(workbench(tmp_path, "check", "i.duckdb").out.split())
    assert "3 of 6 chunks are cut" in text
