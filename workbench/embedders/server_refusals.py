"""What a server's refusal means: each server has its own words, and some their own status, for the same thing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from workbench.embedders.failures import BatchTooLarge, EmbedderError, InputTooLong, Refusal, RequestRefused

_RETRIED = frozenset((408, 409, 424, 425, 429))
_NEVER = frozenset((501, 505))
_SIZED = frozenset((400, 413, 422, 500))

_MOST_SHOWN = 300
_MOST_READ = 20_000

_TOO_LARGE_FOR_A_MINUTE = r"request too large for.{0,200}?limit:? (?P<limit>\d+), requested:? (?P<given>\d+)"
"""OpenAI, with 429: one request holds more tokens than a minute allows, so waiting never helps."""

_TOO_LONG = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # OpenAI, Azure, vLLM
        r"maximum context length is (?P<limit>\d+) tokens.{0,80}?requested (?P<given>\d+)",
        r"maximum context length is (?P<limit>\d+) tokens",
        # llama.cpp, with status 500
        r"input \((?P<given>\d+) tokens\) is too large to process.{0,80}?batch size: (?P<limit>\d+)",
        # TEI
        r"must have (?:less|fewer) than (?P<limit>\d+) tokens\.? given: (?P<given>\d+)",
        r"must have (?:less|fewer) than \d+ (?:tokens|characters)",
        # Ollama, with 400 or 500
        r"input length exceeds the (?:maximum )?context length",
        # others
        r"(?:input|text|prompt|sequence|context|document)\b.{0,60}?(?:is too (?:long|large)|too many tokens|exceeds? )",
        r"too many tokens in (?:the )?(?:input|text)",
    )
)
_BATCH = tuple(
    (unit, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for unit, pattern in (
        # Mistral, with code 3210
        ("tokens", r"too many tokens in (?:the )?batch\.? max is (?P<limit>\d+) got (?P<given>\d+)"),
        ("tokens", r"too many tokens overall|split into more batches"),
        # Voyage
        ("tokens", r"tokens per submitted batch is (?P<limit>\d+)\. your batch has (?P<given>\d+)"),
        # OpenAI: tokens of one request, texts of one request
        ("tokens", r"requested (?P<given>\d+) tokens, max (?P<limit>\d+) tokens per request"),
        ("tokens", r"max_tokens_per_request"),
        ("tokens", _TOO_LARGE_FOR_A_MINUTE),
        ("inputs", r"(?:maximum|at most|up to|no more than) (?P<limit>\d+) (?:items|inputs|texts|elements)"),
        ("inputs", r"(?:array|list)\b.{0,60}?(?:too (?:long|large)|maximum length (?P<limit>\d+))"),
        # TEI
        ("inputs", r"batch size (?P<given>\d+) > maximum allowed batch size (?P<limit>\d+)"),
        ("inputs", r"(?:batch|number of (?:inputs|texts)).{0,40}?(?:too (?:large|many|big)|exceeds)"),
        ("inputs", r"too many (?:inputs|texts|items)"),
    )
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_NO_MODEL = re.compile(r"model.{0,80}(?:not found|does not exist|not loaded|unknown)|unknown model", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered instead of vectors; ``text`` has been cleared of the key."""

    status: int
    text: str
    inputs: int
    host: str
    model: str
    chars: int


def refusal_of(reply: Reply) -> EmbedderError | None:
    """Give what a refusal means; None when the same request may succeed later.

    The words decide before the status does: llama.cpp says "too large" with a 500, which no retry cures.
    """
    said = _message(reply.text)
    sized = _about_size(reply, said)
    if sized is not None:
        return sized
    if _QUOTA.search(said) and reply.status in (400, 402, 403, 429):
        return RequestRefused(
            f"{reply.host} refuses because the quota of this key is used up: {shown(said)}",
            refusal=Refusal.QUOTA,
            status=reply.status,
        )
    passing = reply.status in _RETRIED or (reply.status >= 500 and reply.status not in _NEVER)
    return None if passing else _for_good(reply, said)


def _about_size(reply: Reply, said: str) -> EmbedderError | None:
    body = f"{said}\n{reply.text[:_MOST_READ]}"
    if reply.status == 429:
        match = re.search(_TOO_LARGE_FOR_A_MINUTE, body, re.IGNORECASE | re.DOTALL)
        return match and _smaller(reply, said, "tokens", _number(match, "limit"), _number(match, "given"))
    if reply.status not in _SIZED:
        return None
    for unit, pattern in _BATCH:
        match = pattern.search(body)
        if match is not None:
            return _smaller(reply, said, unit, _number(match, "limit"), _number(match, "given"))
    for pattern in _TOO_LONG:
        match = pattern.search(body)
        if match is not None:
            return _too_long(reply, said, _number(match, "limit"), _number(match, "given"))
    if reply.status == 413:
        unit = "tokens" if reply.inputs == 1 else "inputs"
        return _smaller(reply, said or "413 content too large", unit, None, None)
    return None


def _smaller(reply: Reply, said: str, unit: str, limit: int | None, given: int | None) -> EmbedderError:
    if reply.inputs == 1:
        return _too_long(reply, said, limit, given)
    return BatchTooLarge(
        f"{reply.host} takes less than {reply.inputs:,} texts at once: {shown(said)}",
        unit=unit,
        limit=limit,
        given=given,
    )


def _too_long(reply: Reply, said: str, limit: int | None, given: int | None) -> InputTooLong:
    alone = reply.inputs == 1
    which = f"a text of {reply.chars:,} characters" if alone else f"one of {reply.inputs:,} texts"
    return InputTooLong(
        f"{reply.host} refuses {which} because it is longer than '{reply.model}' reads: {shown(said)}",
        limit_tokens=limit,
        given_tokens=given,
        index=0 if alone else None,
    )


def _for_good(reply: Reply, said: str) -> RequestRefused:
    host, status = reply.host, reply.status
    if status in (401, 403):
        # What it says is left out: some servers repeat the key, or most of it.
        return RequestRefused(
            f"{host} refuses the key (HTTP {status}); look at the variable that api_key_env names",
            refusal=Refusal.KEY,
            status=status,
        )
    if status == 402:
        return RequestRefused(
            f"{host} wants to be paid first (HTTP 402): {shown(said)}", refusal=Refusal.QUOTA, status=status
        )
    if 300 <= status < 400:
        return RequestRefused(
            f"{host} sends us elsewhere (HTTP {status}), and redirects are not followed; if you trust where it leads, "
            "give that address as base_url",
            refusal=Refusal.ADDRESS,
            status=status,
        )
    if _NO_MODEL.search(said):
        return RequestRefused(
            f"{host} does not know the model '{reply.model}' (HTTP {status}): {shown(said)}",
            refusal=Refusal.MODEL,
            status=status,
        )
    if status in (404, 405):
        return RequestRefused(
            f"{host} has nothing at this address (HTTP {status}): {shown(said)}; look at base_url and model",
            refusal=Refusal.ADDRESS,
            status=status,
        )
    return RequestRefused(
        f"{host} refuses the request (HTTP {status}): {shown(said)}", refusal=Refusal.REQUEST, status=status
    )


def reason_of(status: int, text: str) -> str:
    """Say with which status a server answered, and in which words, where it has any."""
    said = " ".join(_message(text).split())
    return f"HTTP {status}: {shown(said)}" if said and text.lstrip()[:1] != "<" else f"HTTP {status}"


def shown(said: str) -> str:
    """Give what a server said as one short line."""
    flat = " ".join(said.split())
    return (flat[:_MOST_SHOWN] + "…" if len(flat) > _MOST_SHOWN else flat) or "it gives no reason"


def _message(text: str) -> str:
    """Find the sentence in an error body: ``error.message``, ``error``, ``message`` or ``detail``, else the text."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return "a web page instead of a reason" if text.lstrip()[:1] == "<" else text[:_MOST_READ]
    for _ in range(3):
        if not isinstance(body, dict):
            break
        inner = next((body[key] for key in ("error", "message", "detail") if body.get(key)), None)
        if inner is None:
            break
        body = inner
    return body if isinstance(body, str) else text[:_MOST_READ]


def _number(match: re.Match[str], name: str) -> int | None:
    digits = match.groupdict().get(name)
    return int(digits) if digits is not None and len(digits) <= 12 else None
