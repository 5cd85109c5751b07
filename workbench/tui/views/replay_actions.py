"""What can be done with a replayed routing log."""

from __future__ import annotations

from workbench.tui.actions import Action, Place


def _action(id: str, keys: str, shown: str, title: str, help: str, *, in_footer: bool = True) -> Action:
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset({Place.ROUTING}), in_footer)


PLAY = _action("play", "space", "space", "play", "play the calls one after the other, or stand still")
PAUSE = _action("play", "space", "space", "pause", "play the calls one after the other, or stand still")
STEP = (
    _action("step_on", "right", "← →", "step", "go to the next call, or to the one before"),
    _action("step_back", "left", "←", "back", "go to the call before", in_footer=False),
    _action("go_to_call", "colon", ":", "go to", "go to a call by its number, or to a time in UTC"),
)
TRY = (
    _action("try_threshold", "t", "t", "threshold", "what another threshold would have done"),
    _action("try_cooldown", "c", "c", "cooldown", "what another cooldown would have done"),
)
MARKS = (
    _action("next_warning", "m", "m", "next warning", "go to the next change of route"),
    _action("previous_warning", "M", "M", "warning before", "go to the change of route before", in_footer=False),
    _action("next_foreign", "f", "f", "next foreign", "go to the next call that wrote or asked across spaces"),
    _action("previous_foreign", "F", "F", "foreign before", "go to the one before", in_footer=False),
)
PARTS = (
    _action("next_divergence", "d", "d", "divergence", "go to the next call that goes against the machine"),
    _action("previous_divergence", "D", "D", "divergence before", "go to the one before", in_footer=False),
)
KEYS = _action("open_keys", "enter", "enter", "keys", "list the keys to embed again of this namespace")
FIT = _action("apply_fit", "a", "a", "fit", "hold the log against the configuration that fits it best")
UNFIT = _action("apply_fit", "a", "a", "as logged", "hold the log against its own configuration again")
REST = (
    _action("say_all", "v", "v", "all said", "everything that is said of the log, in full"),
    _action("closer", "plus,equals_sign", "+ -", "zoom", "see fewer calls, each wider", in_footer=False),
    _action("farther", "minus", "-", "zoom out", "see more calls", in_footer=False),
    _action("faster", "greater_than_sign", "> <", "pace", "play faster", in_footer=False),
    _action("slower", "less_than_sign", "<", "slower", "play slower", in_footer=False),
    _action("to_ends", "home", "home end", "ends", "go to the first call, or to the last"),
    _action("copy_keys", "y", "y", "copy keys", "copy the keys to embed again of this namespace", in_footer=False),
)
ALL = (PLAY, *STEP, *TRY, *MARKS, *PARTS, KEYS, FIT, *REST)

IN_KEYS = (
    _action("open_key", "enter", "enter", "chunk", "go to this row in the open index"),
    _action("copy_keys", "y", "y", "copy keys", "copy all keys of this namespace"),
)
"""While the keys of a namespace are listed."""
