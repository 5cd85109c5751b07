"""The JSON of an answer that claims to be good, before anything in it is believed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workbench.embedders.failures import Wrong, WrongAnswer
from workbench.embedders.retrying import TryAgain
from workbench.embedders.server_refusals import shown

if TYPE_CHECKING:
    from workbench.embedders.endpoint import HttpAnswer


def json_object(answer: HttpAnswer, host: str) -> dict[str, object]:
    """Read the object. NaN and infinities, which some servers write as no JSON has them, are read as such.

    Raises:
        TryAgain: what stands there is JSON that was cut off.
        WrongAnswer: it is no JSON, no object, or an error under a good status.
    """
    import orjson

    try:
        document = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        document = _patiently(answer, host)
    if not isinstance(document, dict):
        raise WrongAnswer(f"{host} answered with JSON that is no object", wrong=Wrong.SHAPE)
    if document.get("error"):
        said = json.dumps(document["error"], ensure_ascii=False)[:2_000]
        raise WrongAnswer(f"{host} answered with an error under status 200: {shown(said)}", wrong=Wrong.SHAPE)
    return document


def _patiently(answer: HttpAnswer, host: str) -> object:
    text = answer.content.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text.lstrip()[:1] in ("{", "["):
        raise TryAgain(f"{host} answered with JSON that was cut off")
    kind = "a web page" if text.lstrip()[:1] == "<" else "something that is no JSON"
    raise WrongAnswer(f"{host} answered with {kind}; look at base_url", wrong=Wrong.NOT_JSON)


def tokens_of(usage: object, *names: str) -> int | None:
    """Find the server's count of tokens."""
    if not isinstance(usage, dict):
        return None
    return next((usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0), None)
