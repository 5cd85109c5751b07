"""The keys of the guided re-index, and which of them mean something where it stands."""

from __future__ import annotations

from dataclasses import replace

from workbench.reindex.model import RunState
from workbench.tui.actions import Action, Place
from workbench.tui.guide import Guide, Step


def _action(id: str, keys: str, shown: str, title: str, help: str) -> Action:
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset({Place.REINDEX}))


_GO = _action("go", "enter", "enter", "continue", "do what the tinted row of the step says")
_ACCEPT = _action("accept", "a", "a", "accept", "accept what a configuration file of this folder does")
_RESPLIT = _action("resplit", "x", "x", "re-split", "cut what is too long into pieces, or keep it whole")
_CEILING = _action("ceiling", "c", "c", "ceiling", "say how many characters the embedder reads")
_CAP = _action("cap", "dollar_sign,ctrl+t", "$", "cap", "pause before more than so many US dollars are spent")
_BACK = _action("back", "b", "b", "back", "go one step back; nothing was sent")
_UNTYPE = _action("unconfirm", "ctrl+b", "^b", "back", "go back to the plan while the name is typed")
_PAUSE = _action("pause", "p", "p", "pause", "stop after what is under way; everything is kept")
_DISCARD = _action("discard", "D", "D", "discard", "drop the build that is not swapped in; asked for twice")
_ROLL_BACK = _action("roll_back", "R", "R", "roll back", "let the generation before answer again")
_DROP = _action("drop_old", "X", "X", "drop the old", "drop the old generation for good; asked for twice")
_LOOK = _action("look_again", "ctrl+l", "^l", "look again", "look again who holds the file")
_LEAVE = _action("leave", "escape", "esc", "leave", "leave the guide without harm; a build pauses and is kept")
_HELP = _action("help", "question_mark", "?", "help", "every key and what it does")
_QUIT = _action("quit", "q,ctrl+q,ctrl+c", "q", "quit", "leave the program; what is built is kept")

GUIDE_ACTIONS: tuple[Action, ...] = (
    _GO,
    _ACCEPT,
    _RESPLIT,
    _CEILING,
    _CAP,
    _BACK,
    _UNTYPE,
    _PAUSE,
    _DISCARD,
    _ROLL_BACK,
    _DROP,
    _LOOK,
    _LEAVE,
    _HELP,
    _QUIT,
)


def can_go_back(guide: Guide) -> bool:
    """Whether an older generation is kept that could answer again, and this is the moment to ask for it."""
    if guide.busy or guide.rolled is not None or guide.standing is None or guide.standing.before is None:
        return False
    if guide.step is Step.CHOOSE:
        return guide.question is None and guide.unfinished is None and guide.offered is not None
    return guide.step is Step.VERIFY and guide.outcome is not None and guide.outcome.state is RunState.SWAPPED


def actions_at(guide: Guide) -> list[Action]:
    """Give the actions that mean something now, most useful first."""
    own = {
        Step.CHOOSE: _choosing,
        Step.PLAN: _planning,
        Step.CONFIRM: _confirming,
        Step.BUILD: _building,
        Step.VERIFY: _verifying,
    }[guide.step](guide)
    quits = [] if guide.step is Step.CONFIRM else [_QUIT]
    helps = [] if guide.step is Step.CONFIRM else [_HELP]
    # A swap is one step and ends by itself: there is nothing to leave meanwhile.
    left = [] if guide.step is Step.VERIFY and guide.busy else [_left(guide)]
    return [*own, *left, *helps, *quits]


def _left(guide: Guide) -> Action:
    title = "leave"
    if guide.question is not None or guide.sure:
        title = "no"
    elif guide.running:
        title = "leave now" if guide.pausing else "pause and leave"
    elif guide.step in (Step.BUILD, Step.VERIFY) and not guide.busy:
        title = "later"
    return replace(_LEAVE, title=title)


def _choosing(guide: Guide) -> list[Action]:
    if guide.question is not None:
        return [_ACCEPT]
    if guide.offered is None:
        return []
    if guide.unfinished is not None:
        return [replace(_GO, title="go on with it"), _DISCARD]
    if guide.asked is not None:
        return [replace(_GO, title="look at it")]
    go = [replace(_GO, title="plan")] if guide.offer is not None and guide.offer.usable else []
    # The page says these two keys beside the generation that they are about.
    back = [replace(each, in_footer=False) for each in (_ROLL_BACK, _DROP)] if can_go_back(guide) else []
    return [*go, _RESPLIT, _CEILING, *back]


def _planning(guide: Guide) -> list[Action]:
    if guide.plan is None:
        return [_BACK]
    cap = [_CAP] if guide.plan.cost is not None else []
    return [replace(_GO, title="confirm"), _RESPLIT, *cap, _BACK]


def _confirming(guide: Guide) -> list[Action]:
    cap = [replace(_CAP, shown="^t")] if guide.plan is not None and guide.plan.cost is not None else []
    go = [replace(_GO, title="build")] if guide.confirmed else []
    return [*go, *cap, _UNTYPE]


def _building(guide: Guide) -> list[Action]:
    if guide.busy:
        return [] if guide.pausing else [_PAUSE]
    progress = guide.building.progress if guide.building is not None else None
    cap = [_CAP] if progress is not None and progress.cost_usd is not None else []
    return [replace(_GO, title="go on"), *cap, _DISCARD]


def _verifying(guide: Guide) -> list[Action]:
    if guide.busy:
        return []
    if guide.rolled is not None:
        return [replace(_GO, title="done")]
    outcome = guide.outcome
    if outcome is not None and outcome.state is RunState.SWAPPED:
        return [replace(_GO, title="done"), *([_ROLL_BACK, _DROP] if can_go_back(guide) else [])]
    title = "swap" if outcome is not None and outcome.state is RunState.VERIFIED else "go on"
    return [replace(_GO, title=title), _DISCARD, _LOOK]
