"""Steps of agentfootprint's runs: boundaries paired into spans, else the stages of the execution tree, else events."""

from __future__ import annotations

from dataclasses import replace

from workbench.recordings.model import Node, Span
from workbench.recordings.readers.agentfootprint_rows import Event, Row
from workbench.recordings.readers.lenient import as_object, as_text, as_whole
from workbench.recordings.steps import RawStep

_OPENS = ("entry", "start")
_CLOSES = ("exit", "end")
_OWN_FIELDS = ("errors", "stageReads", "stageWrites", "metrics", "evals", "logs")
_KINDS = {"fork": "branch", "decision": "decision", "loop": "loop", "context": "context"}


def run_key() -> str:
    """Give the key of the run itself."""
    return "run:__root__#0"


def subflow_key(stage: str) -> str:
    """Give the key of the subflow that begins at a stage (``sf-memory-read-docs#1``)."""
    return f"subflow:{stage}"


def steps_of_rows(rows: list[Row], tree: Node | None) -> list[RawStep]:
    """Pair the boundaries; what has no other end is a step without a duration, a start without an end is unfinished."""
    steps: list[RawStep] = []
    failed = errors_by_stage(tree)
    open_at: dict[str, int] = {}
    by_path: dict[tuple[str, ...], str] = {}
    for index, row in enumerate(rows):
        end = row.type.rpartition(".")[2]
        key = _key(row, index)
        if end in _CLOSES:
            place = open_at.pop(key, None)
            if place is not None:
                steps[place] = _closed(steps[place], row)
                continue
        opens = end in _OPENS
        step = RawStep(
            key=key,
            parent=_parent(row, by_path),
            kind=_KINDS.get(row.family, row.family),
            name=_name(row),
            start_ms=row.ts,
            status="unfinished" if opens else None,
            spans=(row.span,),
        )
        if opens:
            open_at[key] = len(steps)
            if row.family in ("run", "subflow"):
                by_path[row.path] = key
        steps.append(step)
    return [_failed(step, failed) for step in steps]


def _key(row: Row, index: int) -> str:
    if row.family == "subflow":
        return subflow_key(row.stage)
    if row.family == "tool":
        return f"tool:{row.stage}:{as_text(row.facts.get('toolCallId')) or ''}"
    if row.type.rpartition(".")[2] in (*_OPENS, *_CLOSES):
        return f"{row.family}:{row.stage}"
    return f"{row.family}:{row.stage}:{index}"


def _parent(row: Row, by_path: dict[tuple[str, ...], str]) -> str | None:
    """Find what a boundary lies in: a subflow lies in the path without its own name, anything else in its path."""
    if row.family == "run" and len(row.path) <= 1:
        return None
    path = row.path[:-1] if row.family in ("subflow", "run") else row.path
    if row.family not in ("subflow", "run"):
        # A decision inside a subflow states the path of the run; its stage says better.
        inside = (*row.path, *row.stage.split("/")[:-1])
        if inside in by_path:
            return by_path[inside]
    while path:
        if path in by_path:
            return by_path[path]
        path = path[:-1]
    return None


def _closed(step: RawStep, row: Row) -> RawStep:
    error = as_text(row.facts.get("error")) if isinstance(row.facts.get("error"), str) else None
    return replace(
        step,
        end_ms=row.ts,
        status="error" if error is not None else "ok",
        error=error,
        spans=(*step.spans, row.span),
        tokens=_tokens(row),
    )


def _tokens(row: Row) -> tuple[int | None, int | None]:
    usage = as_object(row.facts.get("usage"))
    return as_whole(usage.get("input")), as_whole(usage.get("output"))


def _failed(step: RawStep, failed: dict[str, str]) -> RawStep:
    """Mark a subflow whose stage has an error in the execution tree: its boundaries do not say so."""
    if step.key is None or not step.key.startswith("subflow:"):
        return step
    error = failed.get(step.key.removeprefix("subflow:"))
    return step if error is None else replace(step, status="error", error=error)


def _name(row: Row) -> str:
    facts = row.facts
    if row.family == "run":
        return "run"
    if row.family == "decision":
        return f"{as_text(facts.get('decider')) or 'decision'} → {as_text(facts.get('chosen')) or '?'}"
    if row.family == "loop":
        return f"{as_text(facts.get('target')) or 'loop'}, iteration {as_text(facts.get('iteration')) or '?'}"
    if row.family == "context":
        source = as_text(facts.get("sourceId")) or as_text(facts.get("source")) or "context"
        return f"{source} into {as_text(facts.get('slot')) or '?'}"
    for name in ("subflowName", "toolName", "model", "childName", "name", "subflowId"):
        text = as_text(facts.get(name))
        if text is not None:
            return text
    return row.stage or row.type


def steps_of_tree(tree: Node) -> list[RawStep]:
    """Give the stages of an execution tree in the order in which they ran; children lie in their stage."""
    return [
        RawStep(
            key=_stage_key(fields),
            parent=parent,
            kind=_stage_kind(fields),
            name=as_text(fields.get("name")) or as_text(fields.get("id")) or "stage",
            status="error" if as_object(fields.get("errors")) else "ok",
            error=next((as_text(each) for each in as_object(fields.get("errors")).values()), None),
            spans=spans,
        )
        for fields, parent, spans in _stages(tree)
    ]


def errors_by_stage(tree: Node | None) -> dict[str, str]:
    """Give the first error of each stage of an execution tree that has one, by the stage's runtime id."""
    found: dict[str, str] = {}
    for fields, _parent_key, _spans in _stages(tree):
        stage = as_text(fields.get("runtimeStageId"))
        error = next((as_text(each) for each in as_object(fields.get("errors")).values()), None)
        if stage is not None and error is not None:
            found.setdefault(stage, error)
    return found


def _stages(tree: Node | None) -> list[tuple[dict[str, object], str | None, tuple[Span, ...]]]:
    """Walk an execution tree, which is linked by ``next`` and nested by ``children``, without parsing what it links."""
    found: list[tuple[dict[str, object], str | None, tuple[Span, ...]]] = []
    waiting: list[tuple[Node, str | None]] = [(tree, None)] if tree is not None else []
    while waiting:
        node, parent = waiting.pop()
        if node.kind != "object":
            continue
        fields: dict[str, object] = {}
        spans: list[Span] = []
        following: Node | None = None
        below: list[Node] = []
        for name, child in node.children():
            if name == "next":
                following = child
            elif name == "children":
                below = [each for _index, each in child.children()]
            elif name in _OWN_FIELDS:
                if name == "errors":
                    fields["errors"] = child.value()
                if child.span.size > 2:
                    spans.append(child.span)
            elif isinstance(name, str) and child.span.size < 4_096:
                fields[name] = child.value()
        found.append((fields, parent, tuple(spans)))
        if following is not None:
            waiting.append((following, parent))
        own = _stage_key(fields)
        waiting += [(each, own) for each in reversed(below)]
    return found


def _stage_key(fields: dict[str, object]) -> str | None:
    stage = as_text(fields.get("runtimeStageId"))
    return None if stage is None else subflow_key(stage) if fields.get("subflowId") is not None else f"stage:{stage}"


def _stage_kind(fields: dict[str, object]) -> str:
    if fields.get("subflowId") is not None:
        return "subflow"
    return "decision" if fields.get("isDecider") is True else "fork" if fields.get("isFork") is True else "stage"


def steps_of_events(events: list[Event]) -> list[RawStep]:
    """Give each event as a step, for a recording that keeps nothing else."""
    return [
        RawStep(
            key=f"event:{index}",
            parent=None,
            kind=event.type.partition(".")[0],
            name=event.type,
            start_ms=event.ms,
            status="error" if event.type == "error.fatal" else None,
            spans=(event.span,),
        )
        for index, event in enumerate(events)
    ]
