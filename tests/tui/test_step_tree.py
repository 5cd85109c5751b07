"""Which steps are seen: by kind, by failure, folded; how deep they stand then, and the way from error to error."""

from __future__ import annotations

import numpy as np

from workbench.recordings.model import Step
from workbench.tui.recorded import StepRow
from workbench.tui.step_tree import Choice, StepTree

# Depths, kinds and failures of eight steps: two turns, an agent with two tools in the first.
_GIVEN = (
    (0, "turn", False),
    (1, "agent", False),
    (2, "tool", True),
    (2, "tool", False),
    (1, "llm", False),
    (0, "turn", False),
    (1, "llm", True),
    (0, "answer", False),
)


def tree(searched: tuple[int, ...] = ()) -> StepTree:
    rows = []
    for place, (depth, kind, failed) in enumerate(_GIVEN):
        step = Step(place + 1, None, False, kind, kind, "error" if failed else "ok", None, None, None)
        following = _GIVEN[place + 1][0] if place + 1 < len(_GIVEN) else 0
        rows.append(StepRow(step, depth, following > depth, 0 if place in searched else None))
    return StepTree(rows)


def seen(choice: Choice, made: StepTree | None = None) -> list[tuple[int, int]]:
    found = (made or tree()).seen(choice)
    return list(zip(found.places.tolist(), found.depths.tolist(), strict=True))


def test_all_are_seen_at_first() -> None:
    assert seen(Choice()) == [(place, depth) for place, (depth, _, _) in enumerate(_GIVEN)]


def test_kinds_are_counted_most_first() -> None:
    assert tree().kinds == (("llm", 2), ("tool", 2), ("turn", 2), ("agent", 1), ("answer", 1))


def test_what_stands_in_a_hidden_step_moves_out() -> None:
    assert seen(Choice(hidden=frozenset({"turn", "llm"}))) == [(1, 0), (2, 1), (3, 1), (7, 0)]


def test_failed_steps_alone_are_never_folded_away() -> None:
    made, choice = tree(), Choice(errors_only=True)
    made.fold_all(choice, folded=True)
    assert [place for place, _ in seen(choice, made)] == [2, 6]


def test_failed_steps_stand_on_top_even_where_they_are_folded() -> None:
    made, choice = tree(), Choice(errors_first=True)
    made.fold_all(choice, folded=True)
    assert [place for place, _ in seen(choice, made)] == [2, 6, 0, 5, 7]


def test_a_folded_step_hides_all_that_is_part_of_it_and_says_how_much() -> None:
    made, choice = tree(), Choice()
    made.set_folded(choice, 0, folded=True)
    assert [place for place, _ in seen(choice, made)] == [0, 5, 6, 7]
    assert made.inside(0) == (4, 1)
    assert made.inside(5) == (1, 1)


def test_revealing_a_step_unfolds_only_what_it_is_part_of() -> None:
    made, choice = tree(), Choice()
    made.fold_all(choice, folded=True)
    made.reveal(choice, 3)
    assert [place for place, _ in seen(choice, made)] == [0, 1, 2, 3, 4, 5, 7]


def test_a_hidden_step_folds_nothing_away() -> None:
    made, choice = tree(), Choice(hidden=frozenset({"turn"}))
    made.fold_all(choice, folded=True)
    assert [place for place, _ in seen(choice, made)] == [1, 4, 6, 7]


def test_the_next_one_after_the_last_is_the_first() -> None:
    made, choice = tree((1, 4)), Choice()
    assert [made.beside(made.failed, choice, place, 1) for place in (-1, 2, 6)] == [2, 6, 2]
    assert [made.beside(made.failed, choice, place, -1) for place in (8, 6, 2)] == [6, 2, 6]
    assert made.beside(made.searched, choice, 1, 1) == 4
    assert made.beside(made.failed, Choice(hidden=frozenset({"llm", "tool"})), 0, 1) is None


def test_steps_that_come_later_are_not_folded() -> None:
    choice = Choice(folded=np.ones(3, dtype=np.bool_))
    assert tree().folded(choice).tolist() == [True, True, False, False, False, False, False, False]
