"""Which embedder a namespace says it has, and whether its vectors agree: mixed, unknown, lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.report import Code, Finding, FingerprintVerdict
from workbench.checkup.wording import counted, of_all, verb
from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint
from workbench.embedders.models import model_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.job import Job
    from workbench.index.model import FingerprintCount, Namespace

_NAMED_AT_MOST = 5


def judge_fingerprints(namespace: Namespace, job: Job | None = None) -> FingerprintVerdict:
    """Compare what the namespace records with what its vectors say."""
    counts = namespace.fingerprints(job)
    recorded = namespace.recorded
    said = [parse_fingerprint(each.fingerprint) for each in counts]
    names_none = all(each.id is None for each in said) and (recorded is None or recorded.id is None)
    guesses = _guesses(said) if names_none else ()
    findings = [
        finding
        for finding in (
            _mixed(recorded, counts, said),
            _lost(namespace, counts, said),
            _unknown(counts, guesses) if names_none else None,
        )
        if finding is not None
    ]
    return FingerprintVerdict(
        recorded=recorded,
        counts=counts,
        count=namespace.count(job),
        model=_one_model(recorded, said),
        guesses=guesses,
        notes=_anonymous_rows(recorded, counts, said),
        findings=tuple(findings),
    )


def _one_model(recorded: Fingerprint | None, said: Sequence[Fingerprint]) -> Fingerprint | None:
    """Find the model that the namespace, or else every one of its vectors, names."""
    if recorded is not None and recorded.id is not None:
        return recorded
    if len(said) == 1 and said[0].id is not None:
        return said[0]
    return None


def _mixed(
    recorded: Fingerprint | None, counts: Sequence[FingerprintCount], said: Sequence[Fingerprint]
) -> Finding | None:
    """Find two models named, or two lengths; anonymous vectors beside one name of their length are no mixture."""
    if not said:
        return None
    everything = [*said, recorded] if recorded is not None else list(said)
    names = {each.id for each in everything if each.id is not None}
    if len(names) < 2 and len({each.dims for each in everything}) < 2:
        return None
    listed = ", ".join(f"{each.fingerprint} ({each.count:,})" for each in counts[:_NAMED_AT_MOST])
    rest = f" and {len(counts) - _NAMED_AT_MOST:,} more" if len(counts) > _NAMED_AT_MOST else ""
    record = "" if recorded is None else f"; the record says {fingerprint_text(recorded)}"
    message = (
        f"the vectors come from more than one embedder: {listed}{rest}{record}. Similarity between them means nothing, "
        "so chunks of one hide those of the other"
    )
    if len(names) > 1 and _one_space(names):
        message += ". The model table lists these names as one space: it may be one model under several names"
    return Finding(Code.MIXED_FINGERPRINTS, message, "re-index the namespace with one embedder")


def _one_space(names: set[str]) -> bool:
    first, *others = sorted(names)
    return all(model_table().same_space(first, other) for other in others)


def _lost(namespace: Namespace, counts: Sequence[FingerprintCount], said: Sequence[Fingerprint]) -> Finding | None:
    """Find that a layout which keeps records has none here, though the vectors name a model."""
    if not namespace.keeps_records or namespace.recorded is not None:
        return None
    named = sum(count.count for count, each in zip(counts, said, strict=True) if each.id is not None)
    if named == 0:
        return None
    message = (
        f"no fingerprint is recorded for the namespace, though {counted(named, 'vector')} "
        f"{verb(named, 'names', 'name')} a model: the next writer of any model will be accepted"
    )
    fix = "record the fingerprint that the vectors name, or re-index the namespace, before anything else is written"
    return Finding(Code.FINGERPRINT_LOST, message, fix)


def _unknown(counts: Sequence[FingerprintCount], guesses: Sequence[str]) -> Finding:
    vectors = sum(each.count for each in counts)
    if vectors:
        message = (
            f"nothing names the embedder of {counted(vectors, 'vector')}: only lengths can be compared, and another "
            "model of the same length would go unnoticed"
        )
    else:
        message = "nothing names an embedder, and there is no vector yet: the first one written decides"
    record = "let the program that writes it record the model beside the vectors"
    fix = f"find out which embedder built it and say so with workbench label, or {record}" if vectors else record
    if guesses:
        rest = f" or {len(guesses) - _NAMED_AT_MOST:,} more" if len(guesses) > _NAMED_AT_MOST else ""
        fix += f"; known models of this length: {', '.join(guesses[:_NAMED_AT_MOST])}{rest}"
    return Finding(Code.FINGERPRINT_UNKNOWN, message, fix)


def _guesses(said: Sequence[Fingerprint]) -> tuple[str, ...]:
    return tuple(entry.id for entry in model_table().with_dims(said[0].dims)) if said else ()


def _anonymous_rows(
    recorded: Fingerprint | None, counts: Sequence[FingerprintCount], said: Sequence[Fingerprint]
) -> tuple[str, ...]:
    """Count rows that name no model, in a namespace that otherwise does."""
    named = (recorded is not None and recorded.id is not None) or any(each.id is not None for each in said)
    anonymous = sum(count.count for count, each in zip(counts, said, strict=True) if each.id is None)
    if not named or anonymous == 0:
        return ()
    vectors = sum(each.count for each in counts)
    if anonymous == vectors:
        return ("the vectors themselves name no model, only the record does",)
    return (f"{of_all(anonymous, vectors, 'vector')} {verb(anonymous, 'names', 'name')} no model",)
