"""The one table of actions: from it come the bindings, the footer, the help and the command palette.

``h j k l g G`` are motions everywhere and never actions; see MOTIONS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding


class Place(StrEnum):
    """Where an action means something."""

    ANYWHERE = "anywhere"
    SOURCES = "sources"
    NAMESPACE = "a namespace"
    RECORDING = "a recording"
    ROUTING = "a routing log"
    DETAIL = "detail"
    READING = "reading"
    UNREADABLE = "unreadable"
    LOCKED = "locked"
    CHANGED = "changed on disk"
    FOUND = "with the sources filtered"
    OPEN = "with something open"
    NOTHING = "nothing open"
    TYPING = "typing the incoming embedder"
    REINDEX = "in a guided re-index"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a user can ask for.

    Attributes:
        id: names the method ``action_<id>`` of the screen.
        keys: as Textual names them; the first is the one that is shown.
        shown: the key as people write it.
        title: one or two words for the footer.
        help: one sentence for help and palette.
        places: where it works.
        in_footer: whether the footer offers it.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    title: str
    help: str
    places: frozenset[Place]
    in_footer: bool = True

    def works_in(self, here: Iterable[Place]) -> bool:
        """Whether it means something where the user is."""
        return Place.ANYWHERE in self.places or not self.places.isdisjoint(here)


def _action(id: str, keys: str, shown: str, title: str, help: str, *places: Place, in_footer: bool = True) -> Action:
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset(places), in_footer)


ACTIONS: tuple[Action, ...] = (
    _action("ask_path", "o", "o", "open", "open a file or folder", Place.NOTHING),
    _action("cancel", "escape", "esc", "cancel", "stop the reading that is going on", Place.READING),
    _action("unfilter", "escape", "esc", "all", "show all sources again", Place.FOUND),
    _action("back", "escape", "esc", "sources", "go back to the sources", Place.DETAIL),
    _action("wait", "w", "w", "wait", "open a locked file as soon as it is free", Place.LOCKED),
    _action("retry", "r,R", "r", "retry", "read this source again", Place.UNREADABLE, Place.CHANGED),
    _action("follow", "F", "F", "follow", "read a recording on as its file grows, or no longer", Place.RECORDING),
    _action("close", "x", "x", "close", "take this source out of the tree", Place.UNREADABLE),
    _action("enter", "enter", "enter", "open", "open or close what is under the cursor", Place.SOURCES),
    _action("incoming", "i", "i", "incoming", "hold an embedder against every open namespace", Place.OPEN),
    _action(
        "reindex",
        "r",
        "r",
        "re-index",
        "build this namespace again, guided; nothing is sent before you agree",
        Place.NAMESPACE,
    ),
    _action("find", "slash", "/", "find", "find by name in the sources, or in the view", Place.OPEN),
    _action("next_match", "n", "n", "next", "go to the next source that matches", Place.FOUND),
    _action("previous_match", "N", "N", "previous", "go to the previous one", Place.FOUND, in_footer=False),
    _action("sort", "s", "s", "sort", "sources worst first, or as they were given", Place.OPEN),
    _action("other_pane", "tab,shift+tab", "tab", "other pane", "go to the other pane", Place.OPEN),
    _action("view_overview", "1", "1", "overview", "the verdicts of a namespace", Place.NAMESPACE, in_footer=False),
    _action("view_chunks", "2", "2", "chunks", "every chunk of a namespace", Place.NAMESPACE, in_footer=False),
    _action("view_ceiling", "3", "3", "ceiling", "what an embedder never read", Place.NAMESPACE, in_footer=False),
    _action("view_vectors", "4", "4", "vectors", "which vectors no search can use", Place.NAMESPACE, in_footer=False),
    _action("view_probe", "5", "5", "probe", "ask a namespace something, exactly", Place.NAMESPACE, in_footer=False),
    _action("view_steps", "1", "1", "steps", "what happened in a recording", Place.RECORDING, in_footer=False),
    _action(
        "view_retrievals", "2", "2", "retrievals", "what a recording found, and why", Place.RECORDING, in_footer=False
    ),
    _action("view_sizes", "3", "3", "sizes", "where the bytes of a recording are", Place.RECORDING, in_footer=False),
    _action("copy_message", "y", "y", "copy", "copy the sentence that says what is wrong", Place.OPEN, in_footer=False),
    _action("palette", "ctrl+p", "^p", "palette", "find every action and every source by name", Place.ANYWHERE),
    _action("help", "question_mark", "?", "help", "every key and what it does", Place.ANYWHERE),
    _action("quit", "q,ctrl+q,ctrl+c", "q", "quit", "leave; whatever is being read is given up", Place.ANYWHERE),
)

INCOMING_ACTIONS: tuple[Action, ...] = (
    _action("next_offer", "down", "↑↓", "known embedders", "write a known embedder into the line", Place.TYPING),
    _action("previous_offer", "up", "↑", "back", "go back to what was typed", Place.TYPING, in_footer=False),
    _action("complete", "tab", "tab", "complete", "complete what is typed to the closest known embedder", Place.TYPING),
    _action("apply", "enter", "enter", "keep", "keep it as the incoming embedder; an empty line is none", Place.TYPING),
    _action("leave", "escape", "esc", "as before", "put back what was incoming before", Place.TYPING),
    _action("next_namespace", "ctrl+n", "^n", "next namespace", "look at the next namespace", Place.TYPING),
    _action("page_down", "pagedown", "pgdn", "down", "turn the list of namespaces", Place.TYPING, in_footer=False),
    _action("page_up", "pageup", "pgup", "up", "turn it back", Place.TYPING, in_footer=False),
    _action("open_another", "ctrl+o", "^o", "open", "open another index", Place.TYPING, in_footer=False),
    _action("reindex", "ctrl+r", "^r", "re-index", "build the namespace that is looked at again", Place.TYPING),
    _action("copy_verdict", "ctrl+y", "^y", "copy", "copy the verdict as check says it", Place.TYPING, in_footer=False),
)
"""What can be done while the incoming embedder is typed: letters belong to the line, so none of these is one."""

MOTIONS: tuple[tuple[str, str], ...] = (
    ("up down  j k", "one row"),
    ("left right  h l", "close, open or go to the parent"),
    ("pgup pgdn  ^u ^d", "one page"),
    ("home end  g G", "first, last"),
)

MOTION_BINDINGS: list[Binding] = [
    Binding("down,j", "move(1)", show=False),
    Binding("up,k", "move(-1)", show=False),
    Binding("pagedown,ctrl+d", "page(1)", show=False),
    Binding("pageup,ctrl+u", "page(-1)", show=False),
    Binding("home,g", "first", show=False),
    Binding("end,G", "last", show=False),
    Binding("right,l", "inward", show=False),
    Binding("left,h", "outward", show=False),
]
"""The motions of every list; which way ``inward`` and ``outward`` lead is the list's own affair."""


def bindings() -> list[Binding]:
    """Every action as a binding of the screen."""
    return bindings_of(ACTIONS)


def bindings_of(actions: Iterable[Action]) -> list[Binding]:
    """Actions as bindings of the screen or view that has their methods.

    Two actions on one key (``escape``) go to the first one; the screen decides by where the user is.
    """
    taken: set[str] = set()
    made: list[Binding] = []
    for action in actions:
        free = [key for key in action.keys if key not in taken]
        taken.update(free)
        if free:
            made.append(Binding(",".join(free), action.id, action.help, show=False, id=action.id))
    return made


def actions_for(here: Iterable[Place], own: Iterable[Action] = (), bound: Iterable[Action] = ()) -> list[Action]:
    """Give the actions that work where the user is, most useful first.

    ``own`` are those of the view with the focus; the keys of all that it has ``bound`` are not the screen's there.
    """
    places = set(here)
    taken = {key for action in bound for key in action.keys}
    return [*own, *(action for action in ACTIONS if action.works_in(places) and action.keys[0] not in taken)]
