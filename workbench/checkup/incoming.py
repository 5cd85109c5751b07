"""Whether an embedder that is about to be used fits what a namespace holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.report import Code, Compared, Finding, FingerprintVerdict, IncomingVerdict
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
        message = _fits(against, incoming, compared)
        return IncomingVerdict(text, fingerprint_text(against), None, compared, same_model, message, reason=message)
    remarks = ""
    if compared is Compared.DIMS:
        remarks += " Only the lengths were compared: one side does not name its model."
    if same_model and refused.problem == "model":
        remarks += (
            f" The model table lists {against.id} and {incoming.id} as one space: it may be the same model under "
            "another name."
        )
    message = str(refused) + remarks
    finding = Finding(Code.EMBEDDER_MISMATCH, message, _FIX)
    reason = f"{conflict_reason(refused.problem)}.{remarks}"
    return IncomingVerdict(
        text, fingerprint_text(against), refused.problem, compared, same_model, message, (finding,), reason
    )


def _same_space(one: str, other: str) -> bool:
    return one != other and model_table().same_space(one, other)


def _fits(against: Fingerprint, incoming: Fingerprint, compared: Compared) -> str:
    if compared is Compared.BOTH:
        return f"{fingerprint_text(incoming)} is the embedder of the namespace"
    length = fingerprint_text(Fingerprint(None, incoming.dims)).removeprefix("?@")
    silent = (
        "neither side names its model"
        if against.id is None and incoming.id is None
        else "the namespace does not name its model"
        if against.id is None
        else "the incoming embedder does not name its model"
    )
    return f"unverified: only the lengths were compared, both are {length}; {silent}"
