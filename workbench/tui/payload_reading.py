"""Making the nodes of a payload from its bytes: vectors as their shape, secrets masked, a page of children at a time.

Everything here runs on a thread, and touches no node that is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.checkup.wording import norm_text, size_text
from workbench.core.summary import is_numeric_vector, summarize_vector
from workbench.recordings import scanner, spans, values
from workbench.recordings.browsing import InMemory, Member, members_of, members_page, whole_step
from workbench.recordings.model import Span, Step
from workbench.recordings.plain import is_plain
from workbench.recordings.secrets import MASK, mask_text, mask_under, name_in, name_over
from workbench.recordings.wide import find_wide
from workbench.tui.draw import wrap
from workbench.tui.payload import Holds, Made, Name, Node, PayloadTree, Shapes, Sort

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.recordings.browsing import Text
    from workbench.recordings.finding import Way
    from workbench.tui.recorded import OpenRecording

PAGE = 200
"""Children of one node that are made at once."""

UNFOLDED = 60
"""How many rows a payload has at most when it is first shown; ``+`` unfolds up to MOST_UNFOLDED."""

MOST_UNFOLDED = 2_000
MOST_LEVELS = 200
"""How deep the way to a value is unfolded."""

LARGEST_PARSED = 4 << 20
"""How much of one value is parsed, for its vectors or to copy it."""

MOST_TEXT = 4_000
_LONG_TEXT = 64 << 10
_COUNTED = 128 << 10
_FEWEST_NUMBERS = 8
_FIRST_LEVELS = 8
_LINE_CELLS = 72
_MOST_LINES = 1_000
_BODY = re.compile(rb'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+')


def read_payload(recording: OpenRecording, step: Step, job: Job) -> PayloadTree:
    """Read what a recording holds of a step, unfolded as far as it fits.

    Raises RecordingError when the file was changed, Cancelled.
    """
    text = recording.document
    tops: list[Node] = []
    for place, span in enumerate(step.spans):
        job.checkpoint()
        member = Member(place, place + 1, _trimmed(text, span))
        alone = len(step.spans) == 1
        top = _node(text, member, None, "", {}, name=None if alone else str(place + 1))
        if alone and top.holds is Holds.MEMBERS:
            top.depth = -1
        if not alone or top.sort is not Sort.HOLDS or top.holds is Holds.MEMBERS:
            tops.append(top)
    tree = PayloadTree(tops)
    tree.take(unfold(tree, UNFOLDED, job, levels=_FIRST_LEVELS, lines=False))
    return tree


def read_whole(recording: OpenRecording, job: Job) -> PayloadTree:
    """Read the first values of a recording in which no step is told from the others."""
    return read_payload(recording, whole_step(recording.document, PAGE), job)


def _trimmed(text: Text, span: Span) -> Span:
    """Leave out blanks before the value."""
    head = text.read(Span(span.start, min(span.end, span.start + 4_096)))
    return Span(span.start + scanner.blanks_end(head, 0, len(head)), span.end)


def unfold(tree: PayloadTree, most: int, job: Job, *, levels: int = MOST_LEVELS, lines: bool = True) -> list[Made]:
    """Make what is folded, level by level, until there would be more than ``most`` rows."""
    made: list[Made] = []
    waiting = list(tree.tops)
    rows = len(waiting)
    while waiting:
        following: list[Node] = []
        for node in waiting:
            job.checkpoint()
            if node.holds is Holds.NOTHING or (node.holds is not Holds.MEMBERS and not lines):
                continue
            page = Made(node, node.children, node.first, node.following) if node.made else make_children(node, job)
            if rows + len(page.children) > most and node.depth >= 0:
                return made
            rows += len(page.children)
            made.append(page)
            following += page.children
        levels -= 1
        waiting = following if levels > 0 else []
    return made


def reveal(tree: PayloadTree, top: int, way: Sequence[Way], job: Job) -> tuple[list[Made], Node | None]:
    """Make what is on the way to a value that was found, and give its node; the one above where it has none.

    None when the payload does not have it any more.
    """
    node = tree.tops[top] if top < len(tree.tops) else None
    made: list[Made] = []
    for step in way[:MOST_LEVELS]:
        job.checkpoint()
        if node is None or node.holds not in (Holds.MEMBERS, Holds.JSON):
            break
        page = Made(node, node.children, node.first, node.following)
        if not node.made or not node.first <= step.place < node.first + len(node.children):
            far = step.place >= PAGE
            page = make_children(node, job, begin=step.begin if far else None, place=step.place if far else 0)
        made.append(page)
        place = step.place - page.first
        if not 0 <= place < len(page.children):
            break
        node = page.children[place]
    return made, node


def make_children(node: Node, job: Job, *, begin: int | None = None, place: int = 0, behind: bool = False) -> Made:
    """Make a page of the children of a node, from the one with the number ``place`` on. Raises RecordingError."""
    if node.holds is Holds.LINES:
        return Made(node, _lines_of(node), 0, None)
    text, span = node.text, node.span
    if node.holds is Holds.JSON:
        text = InMemory(text_of(node).strip().encode("utf-8", "surrogatepass"))
        span = text.span
    page = members_page(text, span, PAGE, begin=begin, place=place)
    return Made(node, _children(node, text, page.members, job), place, page.following, behind)


def _children(node: Node, text: Text, members: Sequence[Member], job: Job) -> list[Node]:
    names = [member.name for member in members]
    keyed = bool(names) and isinstance(names[0], str)
    label = _label(text, members) if keyed else None
    header = _header(text, members) if not keyed and isinstance(node.name, int) else ""
    shapes = _shapes(text, node, keyed=keyed)
    last = {name: at for at, name in enumerate(names)}
    made: list[Node] = []
    for at, member in enumerate(members):
        job.checkpoint()
        under = name_over(member.name, label) if isinstance(member.name, str) else (at and header) or node.under
        known = shapes if last[member.name] == at else {}
        made.append(_node(text, member, node, under, known, name=member.name))
    return made


def _label(text: Text, members: Sequence[Member]) -> object:
    """Give what an object has as its ``name``, else as its ``key``."""
    found: dict[Name, object] = {}
    for member in members:
        if member.name in ("name", "key") and member.span.size < 1_024:
            found[member.name] = values.parse_beginning(text.read(member.span), 0, member.span.size)[0]
    return found.get("name", found.get("key"))


def _header(text: Text, members: Sequence[Member]) -> str:
    """Give the name that the second of two strings stands under."""
    if len(members) != 2 or members[0].name != 0 or any(member.span.size >= 65_536 for member in members):
        return ""
    return name_in([values.parse_beginning(text.read(each.span), 0, each.span.size)[0] for each in members])


def _shapes(text: Text, node: Node, *, keyed: bool) -> Shapes:
    """Find the vectors among the children of an object or array that only its names tell, as bases and strings."""
    if node.span.size > LARGEST_PARSED or node.holds is not Holds.MEMBERS:
        return {}
    value = values.parse_beginning(text.read(node.span), 0, node.span.size)[0]
    if not isinstance(value, dict | list):
        return {}
    above = [name for name in node.names[-2:] if isinstance(name, str)]
    for name in reversed(above):
        value = {name: value}
    depth = len(above)
    found = find_wide(value)[0]
    return {each.path[depth:]: (each.dims, each.norm) for each in found if len(each.path) == depth + 1}


def _node(text: Text, member: Member, up: Node | None, under: str, shapes: Shapes, *, name: Name | None) -> Node:
    span = member.span
    depth = up.depth + 1 if up is not None else 0
    node = Node(text, span, name, up, member.place, under, "", Sort.SCALAR, depth=depth)
    first = text.read(Span(span.start, min(span.start + 1, span.end)))
    shape = shapes.get((member.name,)) or _shape_at(text, span, first, name, up)
    if shape is not None:
        node.shape = shape
        node.shown, node.sort = f"⟨{shape[0]:,} dims · norm {norm_text(shape[1])}⟩", Sort.VECTOR
    elif first in (b"{", b"["):
        node.shown, node.sort = _size_of(text, span, first), Sort.HOLDS
        node.holds = Holds.NOTHING if node.shown in ("{0}", "[0]") else Holds.MEMBERS
    elif first == b'"':
        _show_string(node)
    else:
        _show_scalar(node)
    return node


def _size_of(text: Text, span: Span, first: bytes) -> str:
    """Give the number of children of a small container, the size of any other."""
    count = None
    if span.size <= _COUNTED:
        data = text.read(span)
        plain = spans.plain_children(data, 0, len(data))
        count = len(plain) if plain is not None else None
        if count is None and span.size <= _COUNTED // 64:
            count = sum(1 for _ in members_of(text, span))
    inner = f"{count:,}" if count is not None else size_text(span.size)
    return f"{{{inner}}}" if first == b"{" else f"[{inner}]"


def _shape_at(text: Text, span: Span, first: bytes, name: Name | None, up: Node | None) -> tuple[int, float] | None:
    """Give dims and norm of an array of numbers that is a vector, and of a summary that stands for one."""
    if first == b"{" and span.size < 200:
        return shape_of(values.parse_beginning(text.read(span), 0, span.size)[0], (), ())
    if first != b"[" or span.size > LARGEST_PARSED:
        return None
    head = text.read(Span(span.start + 1, min(span.end, span.start + 64))).lstrip()
    if not head or head[0] not in b"-0123456789NI":
        return None
    value = values.parse_beginning(text.read(span), 0, span.size)[0]
    return shape_of(value, name, up.name if up is not None else None)


def shape_of(value: object, *names: object) -> tuple[int, float] | None:
    """Give dims and norm of what is a vector, or the summary of one, under the last names of the way to it."""
    if isinstance(value, list) and is_numeric_vector(value):
        named = any(each in ("embedding", "embeddings") for each in names)
        if named or len(value) >= _FEWEST_NUMBERS:
            summary = summarize_vector(value)
            return summary.dims, summary.norm
    if isinstance(value, dict) and value.keys() == {"dims", "norm"}:
        dims, norm = value["dims"], value["norm"]
        if type(dims) is int and isinstance(norm, int | float):
            return dims, float(norm)
    return None


def _show_string(node: Node) -> None:
    """Show the beginning of a string, and say what it unfolds into."""
    whole = node.span.size <= _LONG_TEXT
    text = text_of(node) if whole else _beginning(node.text.read(Span(node.span.start, node.span.start + 16_384)))
    masked = mask_under(node.under, text)
    more = "" if whole and len(text) <= MOST_TEXT else f" … {size_text(node.span.size)}"
    node.shown, node.sort = f'"{masked[:MOST_TEXT]}"{more}', Sort.TEXT if masked == text else Sort.SECRET
    if masked == MASK:
        return
    begins = text.lstrip()[:1]
    if begins and begins in "{[" and (not whole or _is_json(text)):
        node.holds = Holds.JSON
    elif len(text) > _LINE_CELLS or "\n" in text:
        node.holds = Holds.LINES


def _is_json(text: str) -> bool:
    return is_plain(text.encode("utf-8", "surrogatepass"))


def _beginning(data: bytes) -> str:
    """Read as much of a string as stands in its first bytes."""
    found = _BODY.match(data)
    body = found.group() if found else b'"'
    return values.loads_string(body + b'"')


def text_of(node: Node) -> str:
    """Read a string, or a text that is no JSON, as much of it as is parsed at most."""
    data = node.text.read(Span(node.span.start, min(node.span.end, node.span.start + LARGEST_PARSED)))
    if data[:1] != b'"':
        return data.decode("utf-8", "replace")
    try:
        return values.loads_string(data)
    except scanner.Damage:
        return _beginning(data)


def _lines_of(node: Node) -> list[Node]:
    """Lay a long text out as lines."""
    lines: list[str] = []
    for line in mask_under(node.under, text_of(node)).splitlines():
        lines += wrap(line, _LINE_CELLS)
        if len(lines) > _MOST_LINES:
            lines = [*lines[:_MOST_LINES], "… the rest can be copied"]
            break
    return [
        Node(node.text, node.span, at, node, at, node.under, line, Sort.LINE, depth=node.depth + 1)
        for at, line in enumerate(lines)
    ]


def _show_scalar(node: Node) -> None:
    """Show a number or a word; what is no JSON at all, as in a cassette, is text."""
    data = node.text.read(Span(node.span.start, min(node.span.end, node.span.start + _LONG_TEXT)))
    text = data.strip().decode("utf-8", "replace")
    if len(text) <= 64 and "\n" not in text:
        node.shown = text
        return
    try:
        number = scanner.value_end(data, 0, len(data)) == len(data.rstrip())
    except scanner.Damage:
        number = False
    if number:
        node.shown = text[:MOST_TEXT]
        return
    masked = mask_text(text)
    node.shown, node.sort, node.holds = " ".join(masked[:MOST_TEXT].split()), Sort.TEXT, Holds.LINES
