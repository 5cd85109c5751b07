"""What can be done in the view of chunks: in the list, in the opened chunk, in a long text or a searched one."""

from __future__ import annotations

from workbench.tui.actions import Action, Place


def _action(id: str, keys: str, shown: str, title: str, help: str, *, in_footer: bool = True) -> Action:
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset({Place.NAMESPACE}), in_footer)


_YANK = _action(
    "yank", "y", "y", "copy", "copy the id, the text, the row as JSON, the path, or the SQL behind the list"
)

IN_LIST = (
    _action("open_chunk", "enter", "enter", "open", "open the chunk: its whole text, metadata and vector"),
    _action("filter", "slash", "/", "filter", "only chunks with these words, anywhere in id or text"),
    _action("order", "s", "s", "sort", "by the next column: as stored, length, id, source, fingerprint"),
    _action("reverse", "S", "S", "reverse", "the other way round", in_footer=False),
    _action("clipped_only", "c", "c", "clipped", "only chunks that are longer than the embedder reads, or all"),
    _action("jump", "colon", ":", "go to", "go to an id or a row"),
    _YANK,
)

FOREIGN = _action(
    "next_foreign", "f", "f", "next foreign", "go to the next chunk whose vector a fallback wrote, by a routing log"
)

MATCHES = (
    _action("next_match", "n", "n", "next match", "go to the next place with what the list is filtered by"),
    _action("previous_match", "N", "N", "match before", "go to the match before", in_footer=False),
)

PARTS = (
    _action("next_part", "greater_than_sign", "> <", "more text", "show the next part of a long text"),
    _action("previous_part", "less_than_sign", "<", "text before", "show the part before", in_footer=False),
)

IN_CHUNK = (
    _action("next_chunk", "right_square_bracket", "] [", "next, previous", "open the next chunk, or the one before"),
    _action("previous_chunk", "left_square_bracket", "[", "previous", "open the chunk before", in_footer=False),
    _action("to_cut", "c", "c", "cut", "go to where the embedder stopped reading"),
    _action("neighbours", "b", "b", "neighbours", "search for the nearest chunks of this one"),
    _action("to_metadata", "m", "m", "metadata", "go to the metadata"),
    _YANK,
)
