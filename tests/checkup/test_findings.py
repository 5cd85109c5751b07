"""Each finding about a namespace arises where it should, says its number, and arises nowhere else."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from workbench.checkup.namespace import check_namespace, examine
from workbench.checkup.options import CheckOptions
from workbench.checkup.report import (
    CeilingVerdict,
    Code,
    DuplicateVerdict,
    Finding,
    FingerprintVerdict,
    IncomingVerdict,
    NamespaceReport,
    Severity,
    VectorVerdict,
    severity_of,
    worst_first,
)
from workbench.core.fingerprint import Fingerprint
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.sources import open_source

NOW = 1_000


def check(folder: Path, index: Index, options: CheckOptions | None = None) -> NamespaceReport:
    with open_sqlite_source(index.write(folder / "index.db")) as source:
        (namespace,) = source.namespaces()
        return check_namespace(namespace, options or CheckOptions(), NOW)


def codes(report: NamespaceReport) -> list[Code]:
    return [finding.code for finding in report.findings]


def message(report: NamespaceReport, code: Code) -> str:
    (found,) = (finding for finding in report.findings if finding.code is code)
    assert found.fix
    return found.message


def test_a_sound_namespace_has_no_findings(tmp_path: Path) -> None:
    report = check(tmp_path, Index([Row("a"), Row("b", vector=(0, 1))], {"docs": "acme@2"}))
    assert codes(report) == []


def test_two_models_in_one_namespace_are_an_error_that_counts_both(tmp_path: Path) -> None:
    rows = [Row("a", fingerprint="one@2"), Row("b", fingerprint="two@2"), Row("c", fingerprint="two@2")]
    report = check(tmp_path, Index(rows, {"docs": "two@2"}))
    assert codes(report) == [Code.MIXED_FINGERPRINTS]
    assert "two@2 (2), one@2 (1)" in message(report, Code.MIXED_FINGERPRINTS)


def test_a_phantom_fingerprint_leaves_a_lost_record_and_then_a_mixed_namespace(tmp_path: Path) -> None:
    first = Index([Row("a", fingerprint="a@2"), Row("b", fingerprint="a@2")])
    assert codes(check(tmp_path, first)) == [Code.FINGERPRINT_LOST]
    both = Index([Row("a", fingerprint="a@2"), Row("b", fingerprint="b@2")])
    (tmp_path / "both").mkdir()
    assert codes(check(tmp_path / "both", both)) == [Code.MIXED_FINGERPRINTS, Code.FINGERPRINT_LOST]
    established = Index(both.rows, {"docs": "b@2"})
    (tmp_path / "established").mkdir()
    assert codes(check(tmp_path / "established", established)) == [Code.MIXED_FINGERPRINTS]


def test_two_lengths_are_a_mixture_even_without_names(tmp_path: Path) -> None:
    rows = [Row("a", fingerprint=None), Row("b", fingerprint=None), Row("c", fingerprint=None, vector=(1, 2, 3))]
    report = check(tmp_path, Index(rows, {"docs": "?@2"}))
    assert codes(report) == [Code.MIXED_FINGERPRINTS, Code.WRONG_DIMS, Code.FINGERPRINT_UNKNOWN]


def test_a_record_that_names_another_model_than_the_vectors_is_a_mixture(tmp_path: Path) -> None:
    report = check(tmp_path, Index([Row("a", fingerprint="one@2")], {"docs": "two@2"}))
    assert codes(report) == [Code.MIXED_FINGERPRINTS]
    assert "the record says two@2" in message(report, Code.MIXED_FINGERPRINTS)


def test_anonymous_vectors_beside_one_name_of_their_length_are_no_mixture(tmp_path: Path) -> None:
    rows = [Row("a", fingerprint="?@2"), Row("b", fingerprint="named@2")]
    report = check(tmp_path, Index(rows, {"docs": "named@2"}))
    assert codes(report) == []
    assert report.fingerprints.notes == ("1 of 2 vectors names no model",)


def test_a_mixture_of_two_spellings_of_one_model_says_so(tmp_path: Path) -> None:
    vector = (1.0,) * 384
    names = ("all-MiniLM-L6-v2@384", "sentence-transformers/all-MiniLM-L6-v2@384")
    rows = [Row(name, fingerprint=name, vector=vector) for name in names]
    report = check(tmp_path, Index(rows, {"docs": names[0]}))
    assert "one space" in message(report, Code.MIXED_FINGERPRINTS)


@pytest.mark.parametrize("record", [{}, {"docs": "?@2"}])
def test_nothing_names_a_model_and_known_ones_of_the_length_are_offered(tmp_path: Path, record: dict[str, str]) -> None:
    report = check(tmp_path, Index([Row("a", fingerprint=None)], record))
    assert codes(report) == [Code.FINGERPRINT_UNKNOWN]
    assert report.fingerprints.guesses == ()
    vector = (1.0,) * 384
    (tmp_path / "known").mkdir()
    known = check(tmp_path / "known", Index([Row("a", fingerprint=None, vector=vector)]))
    assert "sentence-transformers/all-MiniLM-L6-v2" in known.fingerprints.guesses


def test_a_layout_without_records_loses_none(tmp_path: Path) -> None:
    assert codes(check(tmp_path, Index([Row("a")], keeps_records=False))) == []


def test_a_recorded_namespace_without_rows_is_empty_and_sound(tmp_path: Path) -> None:
    assert codes(check(tmp_path, Index(records={"docs": "acme@2"}))) == []


def test_every_unusable_vector_is_found_under_its_own_code(tmp_path: Path) -> None:
    rows = [
        Row("good"),
        Row("none", vector=None),
        Row("nan", vector=(math.nan, 1)),
        Row("inf", vector=(math.inf, 1)),
        Row("zero", vector=(0, 0)),
    ]
    report = check(tmp_path, Index(rows, {"docs": "acme@2"}))
    assert codes(report) == [Code.NON_FINITE_VECTORS, Code.ZERO_VECTORS, Code.MISSING_VECTORS]
    assert message(report, Code.NON_FINITE_VECTORS).startswith("2 vectors hold")
    assert message(report, Code.ZERO_VECTORS).startswith("1 vector is zero")
    assert message(report, Code.MISSING_VECTORS).startswith("1 of 5 rows has no vector")


def test_duplicate_ids_are_a_warning_that_counts_ids_and_rows(tmp_path: Path) -> None:
    rows = [Row("a"), Row("a"), Row("b")]
    report = check(tmp_path, Index(rows, {"docs": "acme@2"}, primary_key=False))
    assert codes(report) == [Code.DUPLICATE_IDS]
    assert message(report, Code.DUPLICATE_IDS).startswith("1 id stands on 2 rows")


def test_clipped_is_strictly_longer_and_counts_what_was_lost(tmp_path: Path) -> None:
    rows = [Row("at", text="x" * 10), Row("over", text="x" * 11), Row("far", text="x" * 40), Row("empty", text="")]
    report = check(tmp_path, Index(rows, {"docs": "acme@2"}), CheckOptions(explicit_ceiling=10))
    clipped = report.ceiling.clipped
    assert clipped is not None
    assert (clipped.count, clipped.total, clipped.lost_chars, clipped.total_chars) == (2, 4, 31, 61)
    assert [(each.id, each.chars, each.lost) for each in clipped.chunks] == [("far", 40, 30), ("over", 11, 1)]
    assert (clipped.not_listed, clipped.exact) == (0, None)
    assert message(report, Code.CLIPPED_CHUNKS).startswith("2 of 4 chunks are longer than 10 characters (as given)")


def test_at_most_a_thousand_clipped_chunks_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    rows = [Row(str(place), text="x" * (5 + place % 3)) for place in range(1_205)]
    report = check(tmp_path, Index(rows), CheckOptions(explicit_ceiling=1))
    clipped = report.ceiling.clipped
    assert clipped is not None
    assert (clipped.count, len(clipped.chunks), clipped.not_listed) == (1_205, 1_000, 205)
    assert [each.chars for each in clipped.chunks] == sorted((each.chars for each in clipped.chunks), reverse=True)


def test_severities_are_fixed_by_the_code() -> None:
    errors = {code for code in Code if severity_of(code) is Severity.ERROR}
    infos = {code for code in Code if severity_of(code) is Severity.INFO}
    assert errors == {Code.EMBEDDER_MISMATCH, Code.MIXED_FINGERPRINTS, Code.UNREADABLE_SOURCE}
    assert infos == {Code.FINGERPRINT_UNKNOWN}


def test_the_worst_finding_comes_first() -> None:
    told = [Finding(code, "", "") for code in reversed(Code)]
    ordered = worst_first(told)
    assert [finding.severity for finding in ordered] == sorted(
        (finding.severity for finding in told), key=list(Severity).index
    )


def test_verdicts_can_be_taken_one_by_one(tmp_path: Path) -> None:
    path = Index([Row("a")], {"docs": "acme@2"}).write(tmp_path / "index.db")
    with open_sqlite_source(path) as source:
        (namespace,) = source.namespaces()
        parts = list(examine(namespace, CheckOptions(incoming=Fingerprint("acme", 2)), NOW))
    kinds = [FingerprintVerdict, IncomingVerdict, CeilingVerdict, VectorVerdict, DuplicateVerdict]
    assert [type(part) for part in parts] == kinds


def test_nobody_is_asked_to_find_out_who_built_an_empty_namespace(tmp_path: Path) -> None:
    path = tmp_path / "index.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE docs (id VARCHAR, text VARCHAR, embedding FLOAT[1536])")
    with open_source(path) as source:
        (namespace,) = source.namespaces()
        verdict = check_namespace(namespace, CheckOptions(), 0).fingerprints
    (finding,) = verdict.findings
    assert finding.code is Code.FINGERPRINT_UNKNOWN
    assert "no vector yet" in finding.message
    assert "find out" not in finding.fix
    assert verdict.guesses == ()
