"""A retrieval that was scored in a wrong space is found: by the index, by what it loaded, by getting nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crosscheck.made import QUERY, chunk, namespace, reading, retrieval
from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.crosscheck.joining import join
from workbench.crosscheck.spaces import Against, WrongSpace
from workbench.recordings.model import LoadedEntry, Retrieval


def space_of(asked: Retrieval, *namespaces: object) -> WrongSpace | None:
    return join(reading(asked), namespaces).retrievals[0].space  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("indexed", "conflict"),
    [("small@64", None), ("?@64", None), ("other@64", "model"), ("small@48", "dimensions"), ("other@48", "dimensions")],
)
def test_the_querys_embedder_is_held_against_that_of_the_index(indexed: str, conflict: str | None) -> None:
    found = space_of(retrieval("x"), namespace(chunk("x"), fingerprint=indexed))
    assert (found.conflict if found else None) == conflict
    if found is not None:
        assert found.against is Against.INDEX
        assert found.other is not None
        assert fingerprint_text(found.other) == indexed


def test_one_that_names_no_embedder_is_not_accused() -> None:
    assert space_of(retrieval("x", fingerprint=None), namespace(chunk("x"), fingerprint="other@64")) is None


def test_loaded_entries_of_another_embedder_tell_without_an_index() -> None:
    entries = (LoadedEntry("a", "other", 64), LoadedEntry("b", "small", 64), LoadedEntry("c", "other", None))
    found = space_of(replace(retrieval("a", "b"), entries=entries))
    assert found == WrongSpace(Against.ENTRIES, QUERY, Fingerprint("other", 64), "model", 2)


def test_entries_that_name_nothing_speak_for_nothing() -> None:
    entries = (LoadedEntry("a", None, None), LoadedEntry("b", "small", None))
    assert space_of(replace(retrieval("a", "b"), entries=entries)) is None


def test_a_single_chunk_of_another_model_in_a_fitting_index_is_found() -> None:
    held = namespace(chunk("a", fingerprint="small@64"), chunk("b", fingerprint="other@64"))
    assert space_of(retrieval("a", "b"), held) == WrongSpace(
        Against.CHUNKS, QUERY, Fingerprint("other", 64), "model", 1
    )


def test_in_a_namespace_of_two_models_the_chunks_that_were_found_decide() -> None:
    mostly_other = namespace(
        chunk("a", fingerprint="small@64"), chunk("b", fingerprint="other@64"), fingerprint="other@64"
    )
    assert space_of(retrieval("a"), mostly_other) is None
    found = space_of(retrieval("a", "b"), mostly_other)
    assert found is not None
    assert found.against is Against.INDEX


def test_a_search_that_silently_found_nothing_in_an_index_of_another_embedder_is_named_as_that() -> None:
    empty = replace(retrieval(), corpus_empty=True)
    found = space_of(empty, namespace(chunk("x"), fingerprint="other@64"))
    assert found is not None
    assert (found.against, found.conflict, found.empty) == (Against.INDEX, "model", True)


def test_a_search_that_silently_found_nothing_is_suspect_without_an_index() -> None:
    assert space_of(replace(retrieval(), corpus_empty=True)) == WrongSpace(
        Against.NOTHING, QUERY, None, None, empty=True
    )


def test_a_search_that_found_nothing_where_the_embedder_fits_is_not_accused() -> None:
    assert space_of(replace(retrieval(), corpus_empty=True), namespace(chunk("x"))) is None


def test_a_search_in_which_nothing_passed_the_threshold_is_not_accused() -> None:
    assert space_of(retrieval()) is None


def test_ids_of_which_the_index_has_none_accuse_nobody() -> None:
    assert space_of(retrieval("x"), namespace(chunk("y"), fingerprint="other@64")) is None


def test_entries_of_the_querys_own_embedder_mean_that_the_index_was_built_again_since() -> None:
    asked = replace(retrieval("x"), entries=(LoadedEntry("x", "small", 64),))
    (found,) = join(reading(asked), [namespace(chunk("x"), fingerprint="other@64")]).retrievals
    assert found.space is None
    assert found.note is not None
    assert "built again since" in found.note


def test_an_empty_answer_beside_an_index_of_the_usual_name_is_suspect_and_no_more_than_that() -> None:
    empty = replace(retrieval(name="_/_/_global"), corpus_empty=True)
    held = namespace(chunk("x"), name="_/_/_global", fingerprint="other@64")
    (found,) = join(reading(empty), [held]).retrievals
    assert found.space == WrongSpace(Against.NOTHING, QUERY, None, None, empty=True)
    assert found.beside is held
