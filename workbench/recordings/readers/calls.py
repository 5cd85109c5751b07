"""Calls of providers as steps, and the embedders that answered them as facts of the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.core.fingerprint import fingerprint_text
from workbench.recordings.model import Note, Reading, RecordedError, Run, Span
from workbench.recordings.readers.bodies import Answer
from workbench.recordings.steps import RawStep, finish_steps

_MOST_EMBEDDERS = 20
_UNKNOWN = "when each call was made, and what called it, is not recorded"


@dataclass(slots=True)
class Calls:
    """Gathers calls one by one; bodies are not kept."""

    steps: list[RawStep] = field(default_factory=list)
    embedders: dict[str, int] = field(default_factory=dict)

    def add(self, answer: Answer, name: str, span: Span, *, answered: bool = True) -> None:
        """Take one call into account: its name, then what was answered."""
        words = answer.words()
        self.steps.append(
            RawStep(
                key=None,
                parent=None,
                kind=answer.kind,
                name=f"{name}: {words}" if name and words else name or words or answer.kind,
                status="error" if answer.error is not None else "ok" if answered else None,
                error=answer.error,
                spans=(span,),
            )
        )
        if answer.fingerprint is not None:
            text = fingerprint_text(answer.fingerprint)
            self.embedders[text] = self.embedders.get(text, 0) + answer.count

    def reading(self, notes: Iterable[Note] = ()) -> Reading:
        """Give all of it. Bodies say neither when a call was made nor what called it."""
        steps, step_notes = finish_steps(self.steps)
        manifest = [("embedder", f"{text}, {_vectors(count)}") for text, count in self.embedders.items()]
        more = len(manifest) - _MOST_EMBEDDERS
        if more > 0:
            manifest = [*manifest[:_MOST_EMBEDDERS], ("embedder", f"{more:,} more")]
        return Reading(
            run=Run(not_recorded=(_UNKNOWN,), manifest=tuple(manifest)),
            steps=steps,
            errors=tuple(RecordedError(step.n, step.error) for step in steps if step.error is not None),
            notes=(*notes, *step_notes),
        )


def _vectors(count: int) -> str:
    return f"{count:,} vector{'' if count == 1 else 's'}"
