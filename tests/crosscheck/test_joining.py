"""A retrieved id leads to its chunk, to what of it was read, and to the index that it is in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crosscheck.made import Held, chunk, namespace, reading, retrieval
from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Cancelled, Job
from workbench.crosscheck import indexed
from workbench.crosscheck.joining import join
from workbench.embedders.models import model_table
from workbench.recordings.model import Candidate, ClippedChunk, IndexReport, Reading


def test_a_retrieved_id_leads_to_its_chunk_and_how_much_of_it_was_read() -> None:
    held = namespace(chunk("long", chars=1_183), chunk("short", chars=900), ceiling=900)
    (found,) = join(reading(retrieval("long", "short", "gone")), [held]).retrievals
    long, short, gone = found.chunks
    assert long is not None
    assert short is not None
    assert (long.source, long.namespace, long.chars, long.lost, long.clipped) == ("index.db", "docs", 1_183, 283, True)
    assert (short.lost, short.clipped) == (0, False)
    assert gone is None
    assert (found.namespace, found.searched) == (held, False)


def test_a_chunk_without_a_stored_text_has_no_known_loss() -> None:
    (found,) = join(reading(retrieval("x")), [namespace(chunk("x"))]).retrievals
    assert found.chunks[0] is not None
    assert (found.chunks[0].lost, found.chunks[0].clipped) == (None, False)


def test_a_text_that_is_another_one_now_is_told() -> None:
    held = namespace(chunk("x", "new"), chunk("y", "same"))
    candidates = [Candidate("x", text="old"), Candidate("y", text="same"), Candidate("y")]
    (found,) = join(reading(retrieval(*candidates)), [held]).retrievals
    assert [each and each.changed for each in found.chunks] == [True, False, None]


def test_a_name_without_any_of_the_ids_is_no_join_and_no_other_namespace_is_tried() -> None:
    named, other = namespace(name="docs"), namespace(chunk("x", "text"), name="other")
    (found,) = join(reading(retrieval("x")), [other, named]).retrievals
    assert (found.namespace, found.searched, found.chunks, found.beside) == (None, False, (None,), named)
    assert found.note == "not joined with docs of index.db: none of its ids is there"


def test_one_id_of_many_is_enough_for_a_name() -> None:
    held = namespace(chunk("x9"))
    (found,) = join(reading(retrieval(*(f"x{n}" for n in range(10)))), [held]).retrievals
    assert found.namespace is held
    assert (found.beside, found.note) == (None, None)


@pytest.mark.parametrize("name", ["docs", None])
def test_ids_with_other_texts_and_of_another_embedder_are_a_coincidence(name: str | None) -> None:
    held = namespace(chunk("0", "of one program"), chunk("1"), fingerprint="other@64")
    asked = retrieval(Candidate("0", text="of another"), Candidate("1", text="x"), name=name)
    (found,) = join(reading(asked), [held]).retrievals
    assert (found.namespace, found.space, found.chunks) == (None, None, (None, None))
    assert (found.note is None) == (name is None)


@pytest.mark.parametrize(
    ("name", "indexed", "text", "joined"),
    [
        (None, "other@64", None, False),
        ("default", "?@64", None, False),
        (None, "small@64", None, True),
        (None, "other@64", "the same", True),
        ("docs", "other@64", None, True),
    ],
)
def test_ids_that_are_mere_numbers_need_more_than_that(
    name: str | None, indexed: str, text: str | None, joined: bool
) -> None:
    held = namespace(chunk("1", "the same"), chunk("2", "x"), name=name or "docs", fingerprint=indexed)
    asked = retrieval(Candidate("1", text=text), "2", name=name)
    (found,) = join(reading(asked), [held]).retrievals
    assert (found.namespace is held) == joined


def test_ids_with_other_texts_of_the_same_embedder_are_joined_and_the_change_is_told() -> None:
    held = namespace(chunk("0", "new"))
    (found,) = join(reading(retrieval(Candidate("0", text="old"))), [held]).retrievals
    assert found.namespace is held
    assert found.chunks[0] is not None
    assert found.chunks[0].changed


@pytest.mark.parametrize(
    ("name", "fingerprint", "joined"),
    [
        ("_/_/_global", "other@64", False),
        ("_/_/_global", "?@64", False),
        ("_/_/_global", None, False),
        ("_/_/_global", "small@64", True),
        ("embeddings", "other@64", False),
        ("handbook", "other@64", True),
    ],
)
def test_where_no_id_is_recorded_the_embedder_joins_or_a_name_that_somebody_chose(
    name: str, fingerprint: str | None, joined: bool
) -> None:
    held = namespace(chunk("x"), name=name, fingerprint=fingerprint)
    (found,) = join(reading(replace(retrieval(name=name), candidates=None)), [held]).retrievals
    assert (found.namespace is held) == joined
    assert (found.note is None) == joined


@pytest.mark.parametrize("name", [None, "kb"])
def test_a_namespace_that_no_index_has_is_searched_for_by_its_ids(name: str | None) -> None:
    one = namespace(chunk("a"), name="one")
    two = namespace(chunk("a"), chunk("b"), name="two")
    (found,) = join(reading(retrieval("a", "b", name=name)), [one, two]).retrievals
    assert (found.namespace, found.searched) == (two, True)


def test_of_two_that_hold_the_ids_the_one_of_the_querys_embedder_is_meant() -> None:
    wrong = namespace(chunk("a"), name="one", fingerprint="other@64")
    right = namespace(chunk("a"), name="two")
    (found,) = join(reading(retrieval("a", name=None)), [wrong, right]).retrievals
    assert found.namespace is right
    assert found.space is None


def test_one_name_in_two_indexes_is_told_apart_by_the_ids() -> None:
    here, there = namespace(source="a.db"), namespace(chunk("x"), source="b.db")
    (found,) = join(reading(retrieval("x")), [here, there]).retrievals
    assert found.namespace is there
    assert not found.searched


def test_ids_that_are_nowhere_join_with_nothing() -> None:
    (found,) = join(reading(retrieval("x", name=None)), [namespace(chunk("y"))]).retrievals
    assert (found.namespace, found.chunks, found.space) == (None, (None,), None)


def test_without_an_index_every_candidate_stands_alone() -> None:
    (found,) = join(reading(retrieval("x", "y"))).retrievals
    assert found.chunks == (None, None)


def test_a_retrieval_that_lists_no_candidates_joins_with_its_namespace_all_the_same() -> None:
    held = namespace()
    (found,) = join(reading(replace(retrieval(), candidates=None)), [held]).retrievals
    assert (found.namespace, found.chunks) == (held, ())


def test_a_chunk_is_looked_up_once_however_often_it_was_retrieved() -> None:
    held = namespace(chunk("x"))
    join(reading(*(retrieval("x", n=n) for n in range(1, 50))), [held])
    assert isinstance(held.chunks, Held)
    assert held.chunks.asked == ["x"]


def test_an_id_that_no_index_can_hold_is_not_looked_up() -> None:
    held = namespace(chunk("x"))
    (found,) = join(reading(retrieval("\ud800", "x")), [held]).retrievals
    assert isinstance(held.chunks, Held)
    assert held.chunks.asked == ["x"]
    assert found.chunks[0] is None


def test_there_is_an_end_to_looking_up_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "MOST_LOOKED_UP", 3)
    joined = join(reading(retrieval(*(f"d{n}" for n in range(10)))), [namespace()])
    assert joined.not_looked_up == 7


def test_a_report_inside_the_recording_tells_what_was_clipped_without_an_index() -> None:
    report = IndexReport(1, None, Fingerprint("small", 64), 19, 900, (ClippedChunk("x", 1_183),), 10)
    told = Reading(retrievals=(retrieval("x", "y"),), reports=(report,))
    first, second = join(told).retrievals[0].chunks
    assert first is not None
    assert (first.source, first.chars, first.lost, first.clipped) == (None, 1_183, 283, True)
    assert second is None


def test_a_report_about_another_namespace_says_nothing_of_this_one() -> None:
    report = IndexReport(1, "other", None, 19, 900, (ClippedChunk("x", 1_183),), 10)
    assert join(Reading(retrievals=(retrieval("x"),), reports=(report,))).retrievals[0].chunks == (None,)


def test_a_report_without_a_ceiling_leaves_the_loss_unknown() -> None:
    report = IndexReport(1, None, Fingerprint("nobody knows", 64), 19, None, (ClippedChunk("x", 1_183),), 10)
    (found,) = join(Reading(retrievals=(retrieval("x"),), reports=(report,))).retrievals[0].chunks
    assert found is not None
    assert (found.lost, found.clipped) == (None, True)


def test_a_recorded_text_is_held_against_a_model_that_the_table_knows() -> None:
    known = Fingerprint("sentence-transformers/all-MiniLM-L6-v2", 384)
    entry = model_table().known(known)
    assert entry is not None
    ceiling = entry.max_input_chars
    candidates = [Candidate("long", text="x" * (ceiling + 1)), Candidate("short", text="x" * ceiling)]
    long, short = join(reading(retrieval(*candidates, fingerprint=known))).retrievals[0].chunks
    assert long is not None
    assert (long.chars, long.lost, long.source) == (ceiling + 1, 1, None)
    assert short is None


def test_a_join_that_was_given_up_stops() -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        join(reading(retrieval("x")), [namespace(chunk("x"))], job)
