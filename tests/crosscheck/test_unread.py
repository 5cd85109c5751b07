"""What of a chunk was never read, and which words of a question stand only there."""

from __future__ import annotations

from workbench.crosscheck.unread import unread_of


def test_words_that_were_read_too_do_not_explain_anything() -> None:
    unread = unread_of("The ledger is old. The ledger is countersigned.", 19, "Who countersigned the ledger?")
    assert unread is not None
    assert unread.words == ("countersigned",)
    assert unread.excerpt == "The ledger is countersigned."


def test_the_excerpt_begins_near_the_first_of_the_words_and_ends_soon() -> None:
    unread = unread_of(f"{'a ' * 500}ledger {'b ' * 500}", 10, "ledger")
    assert unread is not None
    assert "ledger" in unread.excerpt
    assert len(unread.excerpt) <= 160


def test_what_lies_within_the_ceiling_was_read() -> None:
    assert unread_of("all of it", 9, "all") is None


def test_without_a_question_in_words_the_excerpt_is_the_beginning() -> None:
    unread = unread_of("read never read", 5, None)
    assert unread is not None
    assert (unread.excerpt, unread.words) == ("never read", ())
