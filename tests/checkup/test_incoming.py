"""Whether an incoming embedder fits is decided as the seeds decide it, and said in the one refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkup.agentfootprint_file import Index, Row
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.incoming import judge_incoming
from workbench.checkup.report import IncomingVerdict
from workbench.core.fingerprint import EmbedderMismatchError, parse_incoming
from workbench.index.adapters.agentfootprint import open_sqlite_source

MINILM = ("all-MiniLM-L6-v2@384", "sentence-transformers/all-MiniLM-L6-v2@384")


def judge(folder: Path, index: Index, incoming: str) -> IncomingVerdict:
    with open_sqlite_source(index.write(folder / "index.db")) as source:
        (namespace,) = source.namespaces()
        return judge_incoming(namespace, judge_fingerprints(namespace), parse_incoming(incoming))


def one_row(fingerprint: str | None, dims: int = 2) -> list[Row]:
    return [Row("a", fingerprint=fingerprint, vector=(1.0,) * dims)]


@pytest.mark.parametrize(
    ("record", "rows", "incoming", "conflict", "compared"),
    [
        ("acme@2", "acme@2", "acme@2", None, "both"),
        ("acme@2", "acme@2", "other@2", "model", "both"),
        ("acme@2", "acme@2", "acme@3", "dimensions", "both"),
        ("acme@2", "acme@2", "other@3", "dimensions", "both"),
        ("acme@2", "acme@2", "ACME@2", "model", "both"),
        ("acme@2", "acme@2", "?@2", None, "dims"),
        ("acme@2", "acme@2", "?@3", "dimensions", "dims"),
        ("?@2", "?@2", "acme@2", None, "dims"),
        ("?@2", "?@2", "acme@3", "dimensions", "dims"),
        (None, "acme@2", "other@2", "model", "both"),
        (None, None, "acme@2", None, "dims"),
        (None, None, "?@2", None, "dims"),
        ("old@2", "new@2", "new@2", "model", "both"),
    ],
)
def test_lengths_always_decide_and_names_only_when_both_are_there(
    tmp_path: Path, record: str | None, rows: str | None, incoming: str, conflict: str | None, compared: str
) -> None:
    records = {} if record is None else {"docs": record}
    verdict = judge(tmp_path, Index(one_row(rows), records), incoming)
    assert (verdict.conflict, verdict.compared) == (conflict, compared)
    assert bool(verdict.findings) == (conflict is not None)
    assert verdict.fingerprint == incoming


def test_without_a_record_the_most_frequent_fingerprint_decides(tmp_path: Path) -> None:
    rows = [Row("a", fingerprint="rare@2"), Row("b", fingerprint="often@2"), Row("c", fingerprint="often@2")]
    assert judge(tmp_path, Index(rows), "often@2").conflict is None


def test_an_emptied_namespace_still_refuses_by_its_record(tmp_path: Path) -> None:
    assert judge(tmp_path, Index(records={"docs": "gone@2"}), "acme@2").conflict == "model"


def test_a_damaged_record_fits_nothing_as_in_the_seed(tmp_path: Path) -> None:
    assert judge(tmp_path, Index(one_row("acme@2"), {"docs": "no at sign"}), "acme@2").conflict == "dimensions"


def test_the_message_of_a_conflict_is_the_one_refusal(tmp_path: Path) -> None:
    verdict = judge(tmp_path, Index(one_row("acme@2"), {"docs": "acme@2"}), "other@2")
    refusal = EmbedderMismatchError(
        "docs",
        "acme@2",
        "other@2",
        "model",
        "search",
        alternative="open the vectors of the second embedder from another SQLite file",
    )
    assert verdict.message == str(refusal)


@pytest.mark.parametrize("incoming", ["acme@2", "?@2"])
def test_an_unverified_fit_says_that_only_lengths_were_compared(tmp_path: Path, incoming: str) -> None:
    assert "only the lengths were compared" in judge(tmp_path, Index(one_row("?@2"), {"docs": "?@2"}), incoming).message


def test_a_refusal_by_length_alone_says_so_too(tmp_path: Path) -> None:
    assert "Only the lengths were compared" in judge(tmp_path, Index(one_row("?@2")), "acme@3").message


def test_two_spellings_of_one_model_stay_a_conflict_that_says_it_may_be_the_same(tmp_path: Path) -> None:
    verdict = judge(tmp_path, Index(one_row(MINILM[0], 384), {"docs": MINILM[0]}), MINILM[1])
    assert (verdict.conflict, verdict.same_model) == ("model", True)
    assert "same model under another name" in verdict.message


def test_unrelated_names_are_not_called_the_same(tmp_path: Path) -> None:
    verdict = judge(tmp_path, Index(one_row("acme@2"), {"docs": "acme@2"}), "other@2")
    assert not verdict.same_model
    assert "same model" not in verdict.message


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("all-MiniLM-L6-v2", "onnx:all-MiniLM-L6-v2:int8", True),
        ("all-MiniLM-L6-v2", "hf.co/acme/all-minilm-l6-v2-q8_0", True),
        ("onnx:all-MiniLM-L6-v2:int8", "onnx:all-MiniLM-L6-v2:fp16", True),
        ("all-MiniLM-L6-v2", "all-MiniLM-L12-v2", False),
        ("text-embedding-3-small", "text-embedding-3-large", False),
        ("onnx:one-model:int8", "onnx:another-model:int8", False),
        ("mock", "mock:int8", False),
    ],
)
def test_two_builds_of_one_model_are_refused_and_the_near_names_are_said(
    tmp_path: Path, one: str, other: str, near: bool
) -> None:
    verdict = judge(tmp_path, Index(one_row(f"{one}@2"), {"docs": f"{one}@2"}), f"{other}@2")
    assert verdict.conflict == "model"
    assert ("look like builds of one model" in verdict.message) == near
    assert ("look like builds of one model" in verdict.reason) == near


def test_an_embedder_that_made_only_a_part_of_a_mixed_namespace_is_not_simply_its_embedder(tmp_path: Path) -> None:
    rows = [Row(f"m{n}", fingerprint="acme@2") for n in range(2)]
    rows += [Row("o", fingerprint="other@2"), Row("s", fingerprint=None), Row("l", fingerprint=None, vector=(1, 2, 3))]
    index = Index(rows, {"docs": "acme@2"})
    verdict = judge(tmp_path / "", index, "acme@2")
    assert verdict.conflict is None
    assert "fits 3 of the 5 vectors" in verdict.message
    assert verdict.fits_all is False


def test_the_embedder_of_all_vectors_is_the_embedder_of_the_namespace(tmp_path: Path) -> None:
    verdict = judge(tmp_path, Index([Row("a"), Row("b", fingerprint=None)], {"docs": "acme@2"}), "acme@2")
    assert verdict.message == "acme@2 is the embedder of the namespace"
    assert verdict.fits_all is True
