"""Cassettes of VCR.py, in YAML or JSON: each HTTP interaction as a step, its bodies unpacked and read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from workbench.recordings.model import Document, Head, Note, Reading, RecordingError, Span, Unreadable
from workbench.recordings.readers.bodies import read_answer
from workbench.recordings.readers.calls import Calls
from workbench.recordings.readers.lenient import as_list, as_object, as_text, as_whole

if TYPE_CHECKING:
    from workbench.recordings.document import FileDocument
    from workbench.recordings.readers.yaml_events import Item, ItemsOfList

MOST_YAML_BYTES = 128 << 20
"""How big a cassette in YAML may be: it is parsed from its beginning to its end every time."""

_MOST_BODY = 64 << 20
_INTERACTIONS = re.compile(rb"(?m)^(?:\"|')?interactions(?:\"|')?:(?:[ \t]*\r?$|[ \t]*\[)")
_REQUEST = re.compile(rb"(?m)^[ \t]*-?[ \t]*(?:request|response):")
_VERSION = re.compile(rb"(?m)^version:[ \t]*1\b")


class VcrReader:
    """Cassettes as vcrpy and pytest-recording write them."""

    format = "vcr"

    def detect(self, head: Head) -> str | None:
        """Recognise the list of interactions, in either serialisation."""
        if isinstance(head.first.get("interactions"), list) and ("version" in head.first or _has_requests(head.first)):
            return "top keys interactions and version: a cassette of VCR.py in JSON"
        start = head.text.lstrip()[:1]
        if start in (b"{", b"[", b"") or not _INTERACTIONS.search(head.text):
            return None
        if _REQUEST.search(head.text) or _VERSION.search(head.text):
            return "top key interactions with requests and responses: a cassette of VCR.py in YAML"
        return None

    def read(self, document: Document) -> Reading:
        """Read each interaction by itself; none is kept."""
        calls = Calls()
        notes: list[Note] = []
        unread: dict[str, int] = {}
        for value, span in interactions_of(document, notes):
            _add(calls, as_object(value), span, unread)
        for encoding, count in unread.items():
            what = "body is" if count == 1 else "bodies are"
            notes.append(
                Note(f"{count:,} {what} compressed as {encoding} and {'was' if count == 1 else 'were'} not read")
            )
        return calls.reading(notes)


def _has_requests(first: Mapping[str, object]) -> bool:
    return any("request" in as_object(each) for each in as_list(first.get("interactions"))[:1])


def interactions_of(document: Document, notes: list[Note]) -> Iterator[tuple[object, Span]]:
    """Give the interactions of a cassette one by one; ``notes`` gets what is damaged.

    Raises RecordingError when a cassette in YAML is too big to be read at all.
    """
    if document.form != "text":
        for root in document.roots():
            listed = root.get("interactions") if root.kind == "object" else None
            for _, node in () if listed is None or listed.kind != "array" else listed.children():
                yield node.value(), node.span
        return
    if document.size > MOST_YAML_BYTES:
        raise RecordingError(
            Unreadable.NOT_READABLE_YET,
            f"{document.name} is a cassette of {document.size >> 20:,} MB in YAML, and they are read up to "
            f"{MOST_YAML_BYTES >> 20:,} MB; record it with the JSON serializer, or split it",
        )
    # imported here: only cassettes need it
    from workbench.recordings.readers.yaml_events import ItemsOfList

    items = ItemsOfList("interactions")
    for item in _items(items, cast("FileDocument", document).pieces()):
        yield item.value, item.span
    notes += items.notes


def _items(items: ItemsOfList, pieces: Iterable[bytes]) -> Iterator[Item]:
    yield from items.walk(pieces)


def _add(calls: Calls, interaction: Mapping[str, object], span: Span, unread: dict[str, int]) -> None:
    request, response = as_object(interaction.get("request")), as_object(interaction.get("response"))
    uri = as_text(request.get("uri"))
    status = response.get("status")
    code = as_whole(as_object(status).get("code")) if isinstance(status, dict) else as_whole(status)
    answer = read_answer(
        body_of(response, unread),
        body_of(request, unread),
        uri=uri,
        status=code or as_whole(response.get("status_code")),
    )
    method = as_text(request.get("method"))
    calls.add(answer, " ".join(part for part in (method and method.upper(), address(uri)) if part), span)


def address(uri: str | None) -> str | None:
    """Give host and path of an address; what follows them may hold keys."""
    if uri is None:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri.partition("?")[0]
    host = parts.netloc.rpartition("@")[2]
    return f"{host}{parts.path}" if host else uri.partition("?")[0]


def body_of(message: Mapping[str, object], unread: dict[str, int]) -> object:
    """Give the body of a request or response: text, parsed JSON, or None; compressed ones unpacked.

    ``unread`` counts, by the name of their encoding, those that could not be.
    """
    parsed = message.get("parsed_body")
    if parsed is not None:
        return parsed
    body = message.get("body")
    if isinstance(body, dict):
        body = next((body[key] for key in ("string", "base64_string", "text") if body.get(key) is not None), None)
    if isinstance(body, bytes):
        return _decoded(body, _encoding(message), unread)
    return body


def _encoding(message: Mapping[str, object]) -> str:
    for name, value in as_object(message.get("headers")).items():
        if name.lower() == "content-encoding":
            first = as_list(value)[:1] if isinstance(value, list) else [value]
            return (as_text(first[0]) or "" if first else "").strip().lower()
    return ""


def _decoded(body: bytes, encoding: str, unread: dict[str, int]) -> str | None:
    """Unpack gzip and deflate to at most 64 MB; whatever arrives is text."""
    if body[:2] == b"\x1f\x8b" or encoding == "deflate":
        try:
            body = zlib.decompressobj(wbits=31 if body[:2] == b"\x1f\x8b" else 15).decompress(body, _MOST_BODY)
        except zlib.error:
            unread[f"{encoding or 'gzip'} (damaged)"] = unread.get(f"{encoding or 'gzip'} (damaged)", 0) + 1
            return None
    elif encoding not in ("", "identity") and body[:1] not in (b"{", b"["):
        unread[encoding] = unread.get(encoding, 0) + 1
        return None
    return body.decode("utf-8", "surrogateescape")
