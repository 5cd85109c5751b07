"""What can be done among the steps of a recording and in the payload of one."""

from __future__ import annotations

from workbench.tui.views.recording import FIND, NEXT_ERROR, NEXT_RETRIEVAL, PREVIOUS_ERROR, PREVIOUS_RETRIEVAL, WRITE
from workbench.tui.views.recording import action_of as _of

OPEN = _of("open_step", "enter", "enter", "open", "go to its retrieval, fold it, or see its payload")
MATCHES = (
    _of("next_hit", "n", "n N", "hit", "go to the next place with what was searched for"),
    _of("previous_hit", "N", "N", "hit before", "go to the place before", in_footer=False),
)
FILTER = _of("filter", "f", "f", "kinds", "choose kinds of steps, or failed ones only")
FOLD = (
    _of("fold", "space", "space", "fold", "fold or unfold what is under the cursor"),
    _of("fold_all", "minus", "-", "fold all", "fold everything", in_footer=False),
    _of(
        "unfold_all",
        "plus",
        "+",
        "unfold all",
        "unfold everything, of a payload as far as it is shown",
        in_footer=False,
    ),
)
ERRORS = _of("errors_first", "e", "e", "errors first", "failed steps on top, or all in their order")
PART = _of("next_part", "tab", "tab", "payload", "go to the payload, and from there to the sources")
SAID = _of("said", "v", "v", "what is said", "all that is said of it, in the payload's place")
COPY = (
    _of("copy_value", "y", "y", "copy", "copy the value: vectors as shape, secrets masked"),
    _of("copy_path", "Y", "Y", "copy path", "copy the way to the value; of a step its id"),
)
MARKS = (NEXT_RETRIEVAL, PREVIOUS_RETRIEVAL, NEXT_ERROR, PREVIOUS_ERROR)

OPEN_CHUNK = _of("open_step", "enter", "enter", "go to chunk", "open the chunk in the index that has it")
COPY_ID = _of("copy_value", "y", "y", "copy id", "copy the id of the candidate")
IN_EVIDENCE = (OPEN_CHUNK, *MARKS, FIND, *MATCHES, COPY_ID, WRITE, PART, SAID)
IN_STEPS = (*MATCHES, OPEN, *MARKS, WRITE, FIND, FILTER, *FOLD, PART, ERRORS, SAID, *COPY)
IN_PAYLOAD = (*MATCHES, *COPY, WRITE, *MARKS, FIND, *FOLD, SAID)
ALL = tuple(dict.fromkeys((*IN_STEPS, *IN_PAYLOAD)))
