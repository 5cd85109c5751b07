"""LiteLLM's standard logging payload as a routing log: each payload is one attempt at one deployment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO

import msgspec

from workbench.core.routing import Leg, Outcome
from workbench.routing.foreign.asked import Asked
from workbench.routing.foreign.bodies import answer_of, as_text, as_whole, decoded, texts_of
from workbench.routing.foreign.reading import Problems, read_asked, with_answer
from workbench.routing.foreign.values import FoundValue, in_utf8, json_values
from workbench.routing.foreign.words import Where, address_of, failure_of, kind_of_failure, where_of
from workbench.routing.log_format import epoch_ms
from workbench.routing.model import Attempt, LogProblem, Operation, Record

_EMBEDDING_CALLS = ("embedding", "aembedding")
_MARKS = (b'"startTime"', b'"status"', b'"model_group"')
_SNIFFED = re.compile(rb'"call_type"\s*:\s*"(a?embedding)"')
_ATTACHED = ("spend_logs_metadata", "requester_metadata")
_SECONDS = 1_000.0


class _Payload(msgspec.Struct, gc=False):
    """The part of a payload that routing is about; whatever else it holds is passed over without being built."""

    standard_logging_object: msgspec.Raw = msgspec.Raw()
    call_type: Any = None
    status: Any = None
    cache_hit: Any = None
    trace_id: Any = None
    litellm_call_id: Any = None
    startTime: Any = None
    endTime: Any = None
    model: Any = None
    model_group: Any = None
    model_id: Any = None
    api_base: Any = None
    custom_llm_provider: Any = None
    error_information: Any = None
    model_parameters: Any = None
    metadata: Any = None
    messages: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()


def recognise(head: bytes) -> str | None:
    """Say how the beginning of a file shows that it is a log of embeddings by LiteLLM; None when it does not."""
    head = in_utf8(head)
    call = _SNIFFED.search(head)
    if call is None or any(mark not in head for mark in _MARKS):
        return None
    return f"LiteLLM's logging payload, of call type {call[1].decode()}"


def read(file: BinaryIO, primary: str | None = None) -> Iterator[Record | LogProblem]:
    """Give the attempts of a log by LiteLLM, and how its legs were told.

    The file, which is read twice, stands at its beginning and can be rewound. ``primary`` names the leg that the router
    is to ask first (a model group, a model or an address), where the log leaves a doubt.
    """
    return read_asked(file, _attempts, primary=primary, scope_is_one_request=True)


def _attempts(file: BinaryIO, problems: Problems) -> Iterator[Asked]:
    for found in json_values(file):
        if isinstance(found, LogProblem):
            problems.add(found)
            continue
        for payload in _payloads(found, problems):
            asked = _asked(found.line, payload, problems)
            if asked is not None:
                yield asked


def _payloads(found: FoundValue, problems: Problems) -> list[_Payload]:
    """Give the payloads of a line: one, one within what a callback was handed, or a batch of them."""
    if found.data[:1] == b"[":
        payloads = decoded(found.data, list[_Payload])
    else:
        payload = decoded(found.data, _Payload)
        if payload is not None and (inner := bytes(payload.standard_logging_object)):
            payload = decoded(inner, _Payload)
        payloads = None if payload is None else [payload]
    if payloads is None:
        problems.unreadable(found.line)
    return payloads or []


def _asked(line: int, payload: _Payload, problems: Problems) -> Asked | None:
    if payload.call_type not in _EMBEDDING_CALLS:
        problems.count("{count} payloads are of no embedding and were passed over")
        return None
    if payload.cache_hit is True:
        problems.count("{count} answers came out of a cache: they asked no leg and move nothing")
        return None
    started_ms, ended_ms = _milliseconds(payload.startTime), _milliseconds(payload.endTime)
    if started_ms is None:
        problems.at(line, "does not say when the attempt began (startTime)")
        return None
    duration_ms = None if ended_ms is None else ended_ms - started_ms
    if duration_ms is not None and duration_ms < 0:
        problems.at(line, "ends before it begins; its duration is taken as not said")
        duration_ms = None
    texts, count = texts_of(bytes(payload.messages))
    error = payload.error_information if isinstance(payload.error_information, dict) else {}
    failed = payload.status != "success"
    error_type = kind_of_failure(as_text(error.get("error_class"))) if failed else None
    model = as_text(payload.model)
    where = _where(payload.metadata)
    attempt = Attempt(
        line=line,
        leg=Leg.PRIMARY,
        op=Operation.EMBED_BATCH if count > 1 else Operation.EMBED,
        started_ms=started_ms,
        duration_ms=duration_ms,
        outcome=failure_of(error_type) if failed else Outcome.VECTOR,
        error_type=error_type,
        provider=as_text(payload.custom_llm_provider),
        request_model=model,
        requested_dims=_dimensions(payload.model_parameters),
        input_count=count or 1,
        purpose=where.purpose,
        namespace=where.namespace,
        keys=where.keys,
        status_code=as_whole(error.get("error_code")) if failed else None,
        server=address_of(as_text(payload.api_base)),
    )
    if not failed:
        attempt = with_answer(attempt, answer_of(bytes(payload.response)), problems)
    names = (as_text(payload.model_group) or model, model, attempt.server, as_text(payload.model_id))
    return Asked(attempt, names, as_text(payload.trace_id), None, texts)


def _milliseconds(time: object) -> float | None:
    """Read a time in epoch seconds, or in the words of ISO 8601."""
    if isinstance(time, str):
        try:
            return epoch_ms(datetime.fromisoformat(time))
        except ValueError:
            return None
    if isinstance(time, bool) or not isinstance(time, int | float):
        return None
    return float(time) * _SECONDS if math.isfinite(time) else None


def _dimensions(parameters: object) -> int | None:
    return as_whole(parameters.get("dimensions")) if isinstance(parameters, dict) else None


def _where(metadata: object) -> Where:
    """Find where the vectors go in what the caller attached: of the program's own, or sent along through the proxy."""
    if not isinstance(metadata, dict):
        return Where()
    said = (where_of(metadata.get(key)) for key in _ATTACHED)
    return next((where for where in said if where != Where()), Where())
