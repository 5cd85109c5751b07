"""Whether an embedder that is about to be used fits what a namespace holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.checkup.report import Code, Compared, Finding, FingerprintVerdict, IncomingVerdict
from workbench.checkup.wording import counted
from workbench.core.fingerprint import (
    EmbedderMismatchError,
    Fingerprint,
    Operation,
    conflict_reason,
    fingerprint_conflict,
    fingerprint_text,
    parse_fingerprint,
)
from workbench.embedders.models import model_table

if TYPE_CHECKING:
    from workbench.index.model import Namespace

_PARTS = re.compile(r"[:/@]")
_BUILDS = re.compile(r"-(q?u?int[48]|q[0-9](_[0-9a-z]+)*|b?f(p)?(16|32)|onnx|gguf|quanti[sz]ed)(?=-|$)")
"""What a name says of how a model is run and quantised, not of which model it is."""
_SHORTEST_NAME = 5

_FIX = "use the embedder that built the namespace, or re-index it with the incoming one"


def held_against(namespace: Namespace, known: FingerprintVerdict) -> Fingerprint | None:
    """Find what decides: the record, else the most frequent of what the vectors say, else the declared length alone."""
    if known.recorded is not None:
        return known.recorded
    if known.counts:
        return parse_fingerprint(known.counts[0].fingerprint)
    if namespace.declared_dims is not None:
        return Fingerprint(None, namespace.declared_dims)
    return None


def refusal(
    namespace: Namespace, known: FingerprintVerdict, incoming: Fingerprint, operation: Operation = "search"
) -> EmbedderMismatchError | None:
    """Give the refusal that stands between ``incoming`` and the namespace; None when it may pass."""
    against = held_against(namespace, known)
    if against is None:
        return None
    problem = fingerprint_conflict(against, incoming)
    if problem is None:
        return None
    return EmbedderMismatchError(
        namespace.name,
        fingerprint_text(against),
        fingerprint_text(incoming),
        problem,
        operation,
        alternative=namespace.alternative,
    )


def judge_incoming(namespace: Namespace, known: FingerprintVerdict, incoming: Fingerprint) -> IncomingVerdict:
    """Compare as the seeds do: lengths always decide, ids only when both sides name one, and exactly."""
    text = fingerprint_text(incoming)
    against = held_against(namespace, known)
    if against is None:
        message = f"{text} was compared with nothing: the namespace has no vector, no record and no declared length"
        return IncomingVerdict(text, None, None, Compared.DIMS, False, message, reason=message)
    both_named = against.id is not None and incoming.id is not None
    compared = Compared.BOTH if both_named else Compared.DIMS
    same_model = both_named and _same_space(str(against.id), str(incoming.id))
    refused = refusal(namespace, known, incoming)
    if refused is None:
        fitting, vectors = _fitting(known, incoming)
        message = _fits(against, incoming, compared, fitting, vectors)
        return IncomingVerdict(
            text,
            fingerprint_text(against),
            None,
            compared,
            same_model,
            message,
            reason=message,
            fits_all=fitting == vectors,
        )
    remarks = ""
    if compared is Compared.DIMS:
        remarks += " Only the lengths were compared: one side does not name its model."
    if same_model and refused.problem == "model":
        remarks += (
            f" The model table lists {against.id} and {incoming.id} as one space: it may be the same model under "
            "another name."
        )
    elif both_named and refused.problem == "model" and _look_like_builds(str(against.id), str(incoming.id)):
        remarks += " The names look like builds of one model; quantised builds do not make equal vectors."
    message = str(refused) + remarks
    finding = Finding(Code.EMBEDDER_MISMATCH, message, _FIX)
    reason = f"{conflict_reason(refused.problem)}.{remarks}"
    return IncomingVerdict(
        text, fingerprint_text(against), refused.problem, compared, same_model, message, (finding,), reason
    )


def _look_like_builds(one: str, other: str) -> bool:
    """Whether two ids name one model apart from who serves it, how it runs and how it was quantised."""
    return bool(_model_names(one) & _model_names(other))


def _model_names(id: str) -> set[str]:
    """Give the parts of an id that can be the name of a model: of two words or more, marks of a build left out."""
    names: set[str] = set()
    for part in _PARTS.split(id.casefold()):
        name = _BUILDS.sub("", part)
        if "-" in name and len(name) > _SHORTEST_NAME:
            names.add(name)
    return names


def _same_space(one: str, other: str) -> bool:
    return one != other and model_table().same_space(one, other)


def _fitting(known: FingerprintVerdict, incoming: Fingerprint) -> tuple[int, int]:
    """Count the vectors that say nothing against an embedder, and all vectors."""
    fitting = sum(
        each.count
        for each in known.counts
        if fingerprint_conflict(parse_fingerprint(each.fingerprint), incoming) is None
    )
    return fitting, sum(each.count for each in known.counts)


def _fits(against: Fingerprint, incoming: Fingerprint, compared: Compared, fitting: int, vectors: int) -> str:
    part = f"fits {fitting:,} of the {counted(vectors, 'vector')} of the namespace"
    if compared is Compared.BOTH:
        if fitting < vectors:
            return f"{fingerprint_text(incoming)} {part}: the others come from another embedder"
        return f"{fingerprint_text(incoming)} is the embedder of the namespace"
    length = fingerprint_text(Fingerprint(None, incoming.dims)).removeprefix("?@")
    silent = (
        "neither side names its model"
        if against.id is None and incoming.id is None
        else "the namespace does not name its model"
        if against.id is None
        else "the incoming embedder does not name its model"
    )
    rest = "" if fitting == vectors else f"; it {part}"
    return f"unverified: only the lengths were compared, both are {length}; {silent}{rest}"
