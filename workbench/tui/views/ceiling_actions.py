"""What can be done in the Ceiling view: move the ceiling, open chunks at their cut, copy what was never read."""

from __future__ import annotations

from workbench.tui.actions import Action, Place


def _action(id: str, keys: str, shown: str, title: str, help: str, *, in_footer: bool = True) -> Action:
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset({Place.NAMESPACE}), in_footer)


MOVES = (
    _action("lower", "minus", "- +", "ceiling", "lower the ceiling, only in this view"),
    _action("raise", "plus", "+", "raise", "raise the ceiling, only in this view", in_footer=False),
    _action("lower_finely", "underscore", "_", "finely", "lower the ceiling by a tenth of a step", in_footer=False),
    _action("raise_finely", "equals_sign", "=", "finely", "raise the ceiling by a tenth of a step", in_footer=False),
    _action("type_ceiling", "e", "e", "type it", "type a ceiling exactly"),
)
RESET = _action("reset", "0,backspace", "0", "back", "back to the ceiling that holds for this namespace")
OPEN = _action("open_text", "enter", "enter", "open at the cut", "give the text of the chunk the whole view")
CENTRE = _action("to_cut", "enter", "enter", "to the cut", "go to where the embedder stopped reading")
PREVIOUS = _action(
    "previous_chunk", "left_square_bracket", "[ ]", "chunk", "open the clipped chunk before, or the next"
)
NEXT = _action("next_chunk", "right_square_bracket", "]", "next chunk", "open the next clipped chunk", in_footer=False)
PROVE = _action(
    "prove", "p", "p", "prove it", "search for what was never read, and see at which rank its chunk comes back"
)
PROVE_ALL = _action("prove_all", "P", "P", "prove all", "search for the lost text of every chunk that is listed")
YANK = _action("yank", "y", "y", "copy", "copy what was never read, the text, or the id")
AGAIN = _action("open_text", "enter", "enter", "read again", "read the lengths again")
