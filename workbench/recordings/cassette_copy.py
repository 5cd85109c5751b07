"""The slim copy of a cassette in YAML: what changed in a value is written in its place, and all is read back as proof.

A cassette keeps the bodies of requests and answers as text, or as packed bytes, and some recorders keep them as trees.
The rules about vectors are asked about each interaction as JSON; where their answer differs, the value is written again
in YAML: a summary as ``{dims: 3, norm: 1.0}``, a body as one quoted line, packed as it was before.
"""

from __future__ import annotations

import base64
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import yaml

from workbench.recordings import values
from workbench.recordings.cassette_text import interaction_text
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note, RecordingError, Unreadable
from workbench.recordings.readers.lenient import as_object
from workbench.recordings.readers.vcr import interactions_of
from workbench.recordings.slim import Options, slimmed
from workbench.recordings.spans import oddities

Path = tuple[str | int, ...]

_BODY_KEYS = ("string", "base64_string", "text")
_HERE = object()
_INTERACTIONS = "interactions"
_BEFORE_VALUE = ":-,[{?"
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class CassetteCopy:
    """A slim cassette, and what was counted on the way."""

    text: bytes
    by_rule: Counter[str] = field(default_factory=Counter)
    likely: int = 0
    masked: int = 0
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Packed:
    """A body that stands as bytes: what they shall be."""

    data: bytes


def slim_cassette(document: FileDocument, options: Options) -> CassetteCopy:
    """Give a cassette in YAML without its vectors; bytes outside of the values that hold them are as they were.

    Raises RecordingError when the cassette is damaged, too big, or of a shape in which a value cannot be replaced.
    """
    copy = CassetteCopy(b"")
    edits: dict[Path, object] = {}
    expected: list[object] = []
    for number, (value, _span) in enumerate(interactions_of(document, copy.notes)):
        changed = _changed(value, options, copy)
        edits |= {(_INTERACTIONS, number, *path): new for path, new in changed.items()}
        expected.append(_with(value, changed))
    if any(note.left_out for note in copy.notes):
        raise RecordingError(
            Unreadable.DAMAGED,
            f"{document.name} is a damaged cassette ({copy.notes[0].message}), and no copy of it is written. Record it "
            "again, or look at what is left of it with workbench show",
        )
    data = b"".join(document.pieces())
    copy.text = _edited(data, edits) if edits else data
    if edits and not _reads_as(copy.text, expected):
        raise RecordingError(
            Unreadable.NOT_READABLE_YET,
            f"{document.name} is a cassette in which a value with vectors cannot be replaced by itself (by anchors, or "
            "comments inside of it); record it with the JSON serializer",
        )
    return copy


def _changed(interaction: object, options: Options, copy: CassetteCopy) -> dict[Path, object]:
    """Ask the rules about one interaction; give the new values by the way to them."""
    text = interaction_text(interaction)
    if not text:
        copy.notes.append(Note("an interaction is too big when its aliases are written out, and stays as it is"))
        return {}
    one = slimmed(text, options)
    if one is None:
        copy.notes += [Note(f"it holds {what}, kept as found") for what in oddities(text)]
        one = slimmed(text, options, proven=True)
    if one is None:
        return {}
    copy.by_rule.update(one.by_rule)
    copy.likely += one.likely
    copy.masked += one.masked
    if one.text == text:
        return {}
    found = {}
    for path, new in _differences(values.loads(text), values.loads(one.text)):
        place = _place_of_body(interaction, path)
        old = _at(interaction, place)
        found[place] = _packed_again(old, cast("str", new)) if isinstance(old, bytes) else new
    return found


def _differences(before: object, after: object) -> Iterator[tuple[Path, object]]:
    """Give each value that is another one now, with the way to it."""
    waiting: list[tuple[object, object, Path]] = [(before, after, ())]
    while waiting:
        old, new, path = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
            waiting += [(old[key], new[key], (*path, key)) for key in old if isinstance(old[key], dict | list | str)]
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            waiting += [
                (each, new[index], (*path, index))
                for index, each in enumerate(old)
                if isinstance(each, dict | list | str)
            ]
        elif old != new:
            yield path, new


def _place_of_body(interaction: object, path: Path) -> Path:
    """Give where a body really stands: the text that the rules saw stands for the mapping around it."""
    if len(path) == 2 and path[1] == "body":
        body = as_object(as_object(as_object(interaction).get(str(path[0]))).get("body"))
        key = next((key for key in _BODY_KEYS if body.get(key) is not None), None)
        return path if key is None else (*path, key)
    return path


def _at(value: object, path: Path) -> object:
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int):
            value = value[name]
        else:
            return None
    return value


def _packed_again(old: bytes, text: str) -> _Packed:
    """Pack a body as it was packed before, to the same bytes on every run."""
    data = text.encode("utf-8", "surrogateescape")
    if old[:2] == _GZIP:
        return _Packed(gzip.compress(data, mtime=0))
    plain = old.lstrip()[:1] in (b"{", b"[")
    return _Packed(data if plain else zlib.compress(data))


def _with(value: object, changed: Mapping[Path, object]) -> object:
    """Give a value with its parts replaced; what is not touched is shared."""
    for path, new in changed.items():
        value = _with_one(value, path, new.data if isinstance(new, _Packed) else new)
    return value


def _with_one(value: object, path: Path, new: object) -> object:
    if not path:
        return new
    name = path[0]
    if isinstance(value, dict):
        return {**value, name: _with_one(value.get(name), path[1:], new)}
    listed = list(cast("list[object]", value))
    listed[cast("int", name)] = _with_one(listed[cast("int", name)], path[1:], new)
    return listed


def _reads_as(text: bytes, expected: list[object]) -> bool:
    """Say whether a copy reads as it should: nothing is given away that was not proven.

    They are compared as the rules saw them, which is bounded: two values that aliases unfold into huge ones are not
    to be compared part by part, and nothing was replaced in those.
    """
    from workbench.recordings.readers.yaml_events import ItemsOfList

    items = ItemsOfList(_INTERACTIONS)
    read = [item.value for item in items.walk([text])]
    if items.notes or len(read) != len(expected):
        return False
    return all(interaction_text(one) == interaction_text(other) for one, other in zip(read, expected, strict=True))


def _edited(data: bytes, edits: Mapping[Path, object]) -> bytes:
    """Write new values in the places of old ones."""
    text = data.decode("utf-8")
    parts: list[str] = []
    at = 0
    for start, end, prefix, new in _places(text, _tree(edits)):
        # A block begins on a line of its own, and a summary must not where its key is indented as far.
        stop = _before_blanks(text, start)
        if stop > at and text[stop - 1] in _BEFORE_VALUE:
            parts += (text[at:stop], " ")
        else:
            parts.append(text[at:start])
        parts.append(prefix + _yaml(new))
        at = end
    parts.append(text[at:])
    return "".join(parts).encode("utf-8")


def _before_blanks(text: str, at: int) -> int:
    """Give where the blanks begin that end at a place."""
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return at


def _tree(edits: Mapping[Path, object]) -> dict[object, object]:
    root: dict[object, object] = {}
    for path, new in edits.items():
        node = root
        for name in path:
            node = cast("dict[object, object]", node.setdefault(name, {}))
        node[_HERE] = new
    return root


@dataclass(slots=True)
class _Frame:
    """An open container: what is replaced below it, and which member comes next (a key once it was read)."""

    below: Mapping[object, object] | None
    index: int = 0
    is_map: bool = False
    key: str | None = None


def _places(text: str, tree: Mapping[object, object]) -> Iterator[tuple[int, int, str, object]]:
    """Give where each value that is replaced begins and ends in characters, its anchor, and the new value."""
    frames: list[_Frame] = []
    whole: tuple[int, int, str, object] | None = None  # depth, begin, anchor and value of what is replaced right now
    last = 0  # where the last scalar ended
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            frames.pop()
            if event.end_mark.index > event.start_mark.index:
                last = event.end_mark.index  # of a flow collection: its bracket
            if whole is not None and whole[0] == len(frames):
                yield whole[1], last, whole[2], whole[3]
                whole = None
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if not isinstance(event, yaml.CollectionStartEvent):
            last = max(event.start_mark.index, _before_blanks(text, event.end_mark.index))
        below = _descend(frames, event, tree)
        new = below.get(_HERE, _HERE) if below else _HERE
        if new is not _HERE and whole is None and not isinstance(event, yaml.AliasEvent):
            begin = event.start_mark.index
            anchor = f"&{event.anchor} " if event.anchor else ""
            if isinstance(event, yaml.CollectionStartEvent):
                whole, below = (len(frames), begin, anchor, new), None
            else:
                yield begin, last, anchor, new
        if isinstance(event, yaml.CollectionStartEvent):
            frames.append(_Frame(below, is_map=isinstance(event, yaml.MappingStartEvent)))


def _descend(
    frames: list[_Frame], event: yaml.NodeEvent, tree: Mapping[object, object]
) -> Mapping[object, object] | None:
    """Step into a member; a key is remembered, and nothing is replaced in one."""
    if not frames:
        return tree
    frame = frames[-1]
    name: object
    if frame.is_map:
        if frame.key is None:
            frame.key = str(event.value) if isinstance(event, yaml.ScalarEvent) else ""
            return None
        name, frame.key = frame.key, None
    else:
        name = frame.index
        frame.index += 1
    inner = frame.below.get(name) if frame.below else None
    return inner if isinstance(inner, dict) else None


def _yaml(value: object) -> str:
    """Write a value as YAML on one line."""
    if isinstance(value, _Packed):
        return f'!!binary "{base64.b64encode(value.data).decode()}"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, str):
        return _quoted(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    if isinstance(value, float):
        digits = repr(value)
        return digits if "." in digits or "e" not in digits else digits.replace("e", ".0e")
    return str(value)


def _quoted(text: str) -> str:
    """Quote a text: simply where all of it can be seen, else with escapes."""
    if all(map(_is_plain, text)):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(each if _is_plain(each) and each not in '"\\' else _escaped(each) for each in text) + '"'


def _is_plain(character: str) -> bool:
    code = ord(character)
    if code in (0xFEFF, 0x2028, 0x2029):
        return False
    return 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


def _escaped(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
