"""Values of a JSON text replaced by the way to them, everything else left byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping

from workbench.recordings import values
from workbench.recordings.scanner import Token, tokens

Path = tuple[str | int, ...]

_HERE = object()


def string_text(text: str) -> bytes:
    """Write a string as JSON; halves of surrogate pairs are escaped, so that it is UTF-8."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(text).encode("ascii")


def edited(data: bytes, edits: Mapping[Path, bytes]) -> bytes:
    """Put other bytes in the place of some values of one JSON value. A repeated key is replaced each time."""
    if not edits:
        return data
    tree = _tree(edits)
    if _HERE in tree:
        return tree[_HERE]  # type: ignore[return-value]
    parts: list[bytes] = []
    at = 0
    for start, end, text in _places(data, tree):
        parts += (data[at:start], text)
        at = end
    parts.append(data[at:])
    return b"".join(parts)


def _tree(edits: Mapping[Path, bytes]) -> dict[object, object]:
    root: dict[object, object] = {}
    for path, text in edits.items():
        node = root
        for name in path:
            node = node.setdefault(name, {})  # type: ignore[assignment]
        node[_HERE] = text
    return root


def _places(data: bytes, tree: dict[object, object]) -> list[tuple[int, int, bytes]]:
    """Give where each value that is replaced begins and ends, in their order."""
    found: list[tuple[int, int, bytes]] = []
    # A frame for each open container: what is replaced below it, and the place in an array (-1 for an object).
    frames: list[tuple[dict[object, object] | None, int]] = []
    name: str | int = ""
    whole: tuple[int, int] | None = None  # the frame below which everything goes, and where that begins
    for kind, begin, stop in tokens(data, 0, len(data)):
        if kind == Token.KEY:
            name = values.loads_string(data[begin:stop]) if frames[-1][0] else ""
            continue
        if kind == Token.END:
            frames.pop()
            if whole is not None and len(frames) == whole[0]:
                found[-1] = (found[-1][0], stop, found[-1][2])
                whole = None
            continue
        below: dict[object, object] | None = tree if not frames else None
        if frames:
            around, index = frames[-1]
            if index >= 0:
                name = index
                frames[-1] = (around, index + 1)
            inner = around.get(name) if around else None
            below = inner if isinstance(inner, dict) else None
        text = below.get(_HERE) if below else None
        opens = kind in (Token.OBJECT, Token.ARRAY)
        if isinstance(text, bytes) and whole is None:
            found.append((begin, stop, text))
            if opens:
                whole = (len(frames), begin)
                below = None
        elif kind == Token.NUMBERS and below:
            continue  # nothing inside a list of numbers is ever replaced
        if opens:
            frames.append((below if whole is None else None, 0 if kind == Token.ARRAY else -1))
    return found
