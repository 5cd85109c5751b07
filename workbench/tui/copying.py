"""A value as it may be copied: as JSON, every vector as its shape, every secret masked, and what was so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.checkup.wording import counted, size_text
from workbench.recordings import values
from workbench.recordings.secrets import find_secrets, mask_under
from workbench.recordings.wide import find_wide
from workbench.tui.payload import Node, Sort
from workbench.tui.payload_reading import LARGEST_PARSED, shape_of, text_of

Name = str | int


@dataclass(frozen=True, slots=True)
class Copied:
    """What is copied, what it is called, and what of it is not as it stands in the recording."""

    text: str
    what: str
    said: str = ""


def copied(node: Node) -> Copied | str:
    """Make the copy of a value; a sentence where it is too large. It reads the file: not for the event loop."""
    if node.sort is Sort.LINE:
        return Copied(node.shown, "the line")
    if node.span.size > LARGEST_PARSED:
        return f"{size_text(node.span.size)} are too much to copy: unfold it and copy a part, or write the slim copy"
    if node.sort is Sort.VECTOR:
        assert node.shape is not None
        return Copied(json.dumps(_summary(node.shape)), "the summary of a vector")
    if node.sort in (Sort.TEXT, Sort.SECRET):
        text = text_of(node)
        masked = mask_under(node.under, text)
        return Copied(masked, "the value", "" if masked == text else "the secret masked")
    if node.sort is not Sort.HOLDS:
        return Copied(node.shown, "the value")
    value = values.parse_beginning(node.text.read(node.span), 0, node.span.size)[0]
    return _container(value, node.under, in_list=isinstance(node.name, int))


def _container(value: object, under: str, *, in_list: bool) -> Copied | str:
    around = [value] if in_list else value
    secrets = find_secrets({under: around} if under else around)
    cut = bool(under) + in_list
    masks: dict[tuple[Name, ...], object] = {path[cut:]: shown for path, shown in secrets.items()}
    shapes: dict[tuple[Name, ...], object] = {
        each.path: _summary((each.dims, each.norm)) for each in find_wide(value)[0]
    }
    vectors = 0
    waiting: list[tuple[Any, tuple[Name, ...]]] = [(value, ())]
    while waiting:
        node, path = waiting.pop()
        for name, each in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
            way = (*path, name)
            made = masks.get(way, shapes.get(way))
            if made is None:
                shape = shape_of(each, *way[-2:])
                made = _summary(shape) if shape is not None else None
            if made is None:
                if isinstance(each, dict | list):
                    waiting.append((each, way))
                continue
            vectors += isinstance(made, dict)
            node[name] = made
    said = [counted(len(masks), "value") + " masked as secret"] if masks else []
    said += [counted(vectors, "vector") + " as shape"] if vectors else []
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "it is too deep to copy: unfold it and copy a part"
    return Copied(text, "the value", ", ".join(said))


def _summary(shape: tuple[int, float]) -> dict[str, object]:
    return {"dims": shape[0], "norm": shape[1]}


def copied_all(nodes: Sequence[Node]) -> Copied | str:
    """Make the copy of values one below the other; see ``copied``."""
    made: list[Copied] = []
    for node in nodes:
        each = copied(node)
        if isinstance(each, str):
            return each
        made.append(each)
    said = ", ".join(dict.fromkeys(each.said for each in made if each.said))
    return Copied("\n".join(each.text for each in made), made[0].what, said)
