"""The ledger: what was written into a namespace by whom, what is missing, and which keys to embed again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.scenes import NATIVE, SPARE, Line, attempt, namespace, replayed
from workbench.routing import keys
from workbench.routing.ledger import LedgerRow, Written, classify


def wrote(leg: str, at: float, *keys: str, word: str = "ok", **more: Any) -> Line:  # noqa: ANN401 (any value of a line)
    """Give the line of a batch of documents."""
    made = NATIVE if leg == "primary" else SPARE
    options: dict[str, Any] = {
        "op": "embed_batch",
        "purpose": "document",
        "namespace": "docs",
        "made": made,
        "call": f"c{at}",
    } | more
    if keys:
        options |= {"keys": list(keys), "input.count": len(keys)}
    return attempt(leg, word, at, options.pop("call"), **options)


def row(*lines: Line) -> LedgerRow:
    (only,) = replayed(*lines).ledger.rows
    return only


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (("m", 8), Written.NATIVE),
        (("other", 8), Written.FOREIGN_SAME_DIMS),
        (("other", 9), Written.FOREIGN_DIMS),
        (("m", 9), Written.FOREIGN_DIMS),
        ((None, 8), Written.NATIVE),
        ((None, 9), Written.FOREIGN_DIMS),
        (("m", None), Written.NATIVE),
        (("other", None), Written.FOREIGN_SAME_DIMS),
    ],
)
def test_model_and_length_are_compared_as_a_pair(made: tuple[str | None, int | None], written: Written) -> None:
    assert classify(("m", 8), made) is written


def test_foreign_vectors_are_counted_with_their_calls_and_keys() -> None:
    found = row(
        namespace(),
        wrote("primary", 0, "a", "b"),
        wrote("primary", 1, "c", "d", word="error"),
        wrote("fallback", 1, "c", "d"),
        wrote("primary", 2, "e", "f"),
    )
    assert (found.native, found.foreign_same_dims, found.missing) == (4, 2, 0)
    assert (found.first_call, found.last_call) == (2, 2)
    assert found.keys == ("c", "d")
    assert [(each.fingerprint, each.vectors) for each in found.foreign] == [("spare-embed@1536", 2)]
    assert not found.assumed


def test_the_model_that_answered_wins_over_the_one_that_was_asked_and_the_length_seen_over_the_one_asked() -> None:
    answered = wrote("primary", 0, "a") | {"gen_ai.response.model": "another"}
    assert row(namespace(), answered).foreign_same_dims == 1
    shorter = wrote("primary", 0, "a") | {"gen_ai.embeddings.dimension.count": 1536, "embedding.dimensions": 768}
    assert row(namespace(), shorter).foreign_dims_mismatch == 1


def test_a_key_that_a_later_call_serves_is_not_missing() -> None:
    lost = [wrote("primary", 0, "a", "b", word="error"), wrote("fallback", 0, "a", "b", word="error")]
    assert row(namespace(), *lost).missing == 2
    assert row(namespace(), *lost, wrote("primary", 5, "b")).missing == 1
    assert row(namespace(), wrote("primary", -5, "b"), *lost).missing == 2
    again = [wrote("primary", 7, "a", "b", word="error"), wrote("fallback", 7, "a", "b", word="error")]
    assert row(namespace(), *lost, *again).missing == 2


def test_without_keys_every_item_of_a_call_that_nobody_served_is_missing() -> None:
    lost = [
        wrote("primary", 0, word="error", input__count=8),
        wrote("fallback", 0, word="error", input__count=8),
    ]
    assert row(namespace(), *lost, wrote("primary", 1, "a")).missing == 8


def test_null_items_of_a_batch_are_missing_by_their_indexes() -> None:
    batch = wrote("primary", 0, "a", "b", "c", null__count=1, null__indexes=[1])
    found = row(namespace(), batch)
    assert (found.native, found.missing) == (2, 1)
    assert row(namespace(), batch, wrote("primary", 1, "b")).missing == 0
    assert row(namespace(), batch, wrote("primary", 1, "a")).missing == 1


def test_null_items_without_indexes_are_missing_until_so_many_keys_were_served_that_none_can_be() -> None:
    batch = wrote("primary", 0, "a", "b", "c", null__count=1)
    assert row(namespace(), batch).missing == 1
    assert row(namespace(), batch, wrote("primary", 1, "a")).missing == 1
    assert row(namespace(), batch, wrote("primary", 1, "a", "b", "c")).missing == 0


def test_keys_of_a_foreign_batch_leave_out_its_nulls_where_these_are_known_and_list_all_where_not() -> None:
    failed = wrote("primary", 0, "a", "b", "c", word="error")
    known = wrote("fallback", 0, "a", "b", "c", null__count=1, null__indexes=[0])
    unknown = wrote("fallback", 0, "a", "b", "c", null__count=1)
    assert row(namespace(), failed, known).keys == ("b", "c")
    assert row(namespace(), failed, unknown).keys == ("a", "b", "c")
    assert row(namespace(), failed, unknown).foreign_same_dims == 2


def test_a_null_for_a_single_document_is_missing_and_served() -> None:
    replay = replayed(namespace(), wrote("primary", 0, "a", word="null", op="embed"))
    assert replay.ledger.rows[0].missing == 1
    assert replay.call(1).served_by == "primary"
    assert replay.exit_code == 0


def test_queries_across_spaces_are_counted_and_never_missing() -> None:
    asked = {"purpose": "query", "op": "embed"}
    found = row(
        namespace(),
        wrote("primary", 0, "a"),
        wrote("primary", 1, word="error", **asked),
        wrote("fallback", 1, **asked),
        wrote("primary", 2, word="error", **asked),
        wrote("fallback", 2, word="error", **asked),
    )
    assert (found.cross_space_queries, found.missing, found.foreign_same_dims) == (1, 0, 0)
    assert (found.first_call, found.last_call, found.keys) == (2, 2, ())
    assert found.contaminated


def test_a_namespace_line_holds_from_its_line_on() -> None:
    found = row(
        namespace(),
        wrote("primary", 0, "a"),
        namespace(made=SPARE),
        wrote("primary", 1, "b"),
        wrote("fallback", 2, "c"),
    )
    assert (found.native, found.foreign_same_dims, found.keys) == (2, 1, ("b",))
    assert found.restated
    assert found.fingerprint == "spare-embed@1536"


def test_a_namespace_that_the_log_does_not_state_is_taken_as_the_primarys_and_said_so() -> None:
    found = row(
        wrote("primary", 0, "a", word="error"),
        wrote("fallback", 0, "a"),
        wrote("primary", 1, "b"),
        wrote("primary", 2, "c"),
    )
    assert (found.fingerprint, found.assumed) == ("acme-embed@1536", True)
    assert (found.native, found.foreign_same_dims, found.keys) == (2, 1, ("a",))


def test_a_namespace_built_by_the_fallback_is_contaminated_by_the_recovery() -> None:
    found = row(namespace(made=SPARE), wrote("fallback", 0, "a"), wrote("primary", 1, "b"))
    assert (found.native, found.foreign_same_dims, found.keys) == (1, 1, ("b",))


def test_namespaces_are_apart_and_stand_in_the_order_of_the_log() -> None:
    replay = replayed(
        namespace("first"),
        namespace("second", SPARE),
        wrote("fallback", 0, "a", namespace="second"),
        wrote("fallback", 1, "a", namespace="first"),
        wrote("primary", 2, "b", namespace="third"),
    )
    assert [(each.namespace, each.native, each.foreign_same_dims) for each in replay.ledger.rows] == [
        ("first", 0, 1), ("second", 1, 0), ("third", 1, 0)
    ]  # fmt: skip
    assert replay.contaminated.tolist() == [2]


def test_a_namespace_without_a_call_is_a_row_of_zeros() -> None:
    found = replayed(namespace("idle"), wrote("primary", 0, "a")).ledger.rows
    assert [(each.namespace, each.native) for each in found] == [("idle", 0), ("docs", 1)]


def test_totals_are_known_at_any_call() -> None:
    lines = [namespace()]
    for number in range(5):
        lines += [wrote("primary", number, f"k{number}", word="error"), wrote("fallback", number, f"k{number}")]
    ledger = replayed(*lines).ledger
    assert [ledger.totals_at(n)[0].foreign_same_dims for n in range(6)] == [0, 1, 2, 3, 4, 5]


def test_missing_documents_alone_leave_the_log_clean() -> None:
    replay = replayed(namespace(), wrote("primary", 0, "a", word="error"), wrote("fallback", 0, "a", word="error"))
    assert replay.ledger.rows[0].missing == 1
    assert replay.exit_code == 0


def test_where_vectors_went_may_be_told_by_a_later_record() -> None:
    silent: dict[str, Any] = {"namespace": None, "purpose": None}
    lines = [
        wrote("primary", 0, word="error", call="x", **silent),
        wrote("fallback", 0, call="x", **silent),
        {"record": "write", "call.id": "x", "namespace": "docs", "keys": ["a"]},
        wrote("primary", 1, call="y", **silent),
        {"record": "write", "call.id": "y", "namespace": "docs", "keys": ["b"]},
    ]
    found = row(namespace(), *lines)
    assert (found.native, found.foreign_same_dims, found.keys) == (1, 1, ("a",))


def test_a_log_that_names_no_namespace_has_no_row_and_is_clean() -> None:
    replay = replayed(attempt("primary", "error", 0, "a"), attempt("fallback", "ok", 0, "a"))
    assert replay.ledger.rows == ()
    assert replay.ledger.unplaced == 1
    assert replay.exit_code == 0


def test_keys_beyond_the_most_that_are_held_are_said_and_never_taken_as_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", 4)
    replay = replayed(
        namespace(),
        *(wrote(leg, 0, "a", "b", "c", word="error", call="first") for leg in ("primary", "fallback")),
        *(wrote(leg, 1, "d", "e", word="error", call="second") for leg in ("primary", "fallback")),
    )
    (only,) = replay.ledger.rows
    assert only.missing == 5
    assert [each.message.split(":")[0] for each in replay.problems] == [
        f"{replay.ledger.keys_not_held} keys beyond the first 1,000,000 are not held"
    ]
