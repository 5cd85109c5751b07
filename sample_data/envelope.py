"""A recording in agentfootprint's envelope, version 1: events, boundaries, and the evidence of a retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

_FNV, _PRIME = 0x811C9DC5, 0x01000193
_MEMORY = "museum"
_READ = f"sf-memory-read-{_MEMORY}#1"
_LOAD = f"sf-memory-read-{_MEMORY}/load-relevant#2"
_CALL = "call-llm#8"
_SUMMARY = 80


@dataclass(slots=True)
class Run:
    """One run of the assistant.

    Attributes:
        id: of the run.
        start_ms: when it began, in milliseconds since 1970.
        namespace: where it searches; None when it does not.
        embedder, dims: what makes the vectors of its questions.
        complete: whether it came to its end.
        dropped: how many events at its beginning were not kept.
    """

    id: str
    start_ms: int
    namespace: str | None
    embedder: str
    dims: int
    complete: bool = True
    dropped: int = 0
    _now: int = 0
    _question: str = ""
    _answer: str = ""
    _error: str | None = None
    _evidence: dict[str, object] | None = None
    _events: list[dict[str, object]] = field(default_factory=list)
    _rows: list[dict[str, object]] = field(default_factory=list)

    def asked(self, question: str) -> None:
        """Begin the run with a question."""
        self._question = question
        self._event("agent.run_configured", "run-configured#0", self._manifest())
        self._row("run.entry", "__root__#0", 0, isRoot=True, payload={"message": question})
        self._event("agent.turn_start", "seed#0", {"turnIndex": 0, "userPrompt": question})

    def retrieved(
        self,
        question: str,
        candidates: list[dict[str, object]],
        vectors: Mapping[str, object],
        *,
        k: int,
        threshold: float,
    ) -> None:
        """Record one search.

        An admitted candidate has the passage that the model got as its ``promptFragment``, and ``vectors`` has what
        is recorded of its vector, by its id.
        """
        admitted = [each for each in candidates if each["admitted"]]
        facts: dict[str, object] = {
            "strategy": "topK",
            "queryHash": query_hash(question),
            "k": k,
            "threshold": threshold,
            "embedderId": self.embedder,
            "dimensions": self.dims,
            "consideredCount": len(candidates),
            "admittedCount": len(admitted),
            "rejectedCount": len(candidates) - len(admitted),
        }
        state = {"candidatesComplete": False, "corpusEmpty": False, "namespace": self.namespace}
        bare = [{key: value for key, value in each.items() if not key.startswith("prompt")} for each in candidates]
        self._evidence = {"memoryId": _MEMORY, **facts, "candidates": candidates, **state}
        self._begin_reading()
        self._event("memory.retrieved", _LOAD, {**facts, "candidates": bare, **state})
        loaded = [self._entry(each, vectors[str(each["id"])]) for each in admitted]
        self._row("subflow.exit", _READ, 1, subflowId=_READ[:-2], subflowName="Load Memory", payload={"loaded": loaded})
        for each in admitted:
            self._injected(each)

    def refused(self, why: str) -> None:
        """Record that the index refused the search, which ends the run."""
        self._error = why
        self._begin_reading()
        self._row("subflow.exit", _READ, 1, subflowId=_READ[:-2], subflowName="Load Memory", payload={})
        fatal = {"error": f"The AI call failed: {why}", "stage": "__root__", "scope": "run"}
        self._event("error.fatal", "__root__#0", fatal)
        self._row("run.exit", "__root__#0", 0, isRoot=True, payload={"error": why})

    def called_tool(self, name: str, args: Mapping[str, object], result: Mapping[str, object], *, took_ms: int) -> None:
        """Record one call of a tool."""
        stage = "tool-calls#7"
        call = {"toolName": name, "toolCallId": "call-1", "args": args}
        self._event("stream.tool_start", stage, call)
        self._row("tool.start", stage, 0, **call)
        self._now += took_ms
        self._event("stream.tool_end", stage, {"toolCallId": "call-1", "result": result, "durationMs": took_ms})
        self._row("tool.end", stage, 0, toolName=name, toolCallId="call-1", result=result)

    def answered(self, answer: str) -> None:
        """Record the answer of the language model, which ends the run."""
        self._answer = answer
        model = {"provider": "local", "model": "small-chat"}
        self._event("stream.llm_start", _CALL, {"iteration": 1, **model, "messagesCount": 1, "toolsCount": 0})
        self._row("llm.start", _CALL, 0, **model)
        self._now += 1_180
        usage = {"usage": {"input": 640, "output": 14}, "stopReason": "stop"}
        ended = {"iteration": 1, "content": answer, "toolCallCount": 0, **usage, "durationMs": 1_180}
        self._event("stream.llm_end", _CALL, ended)
        self._row("llm.end", _CALL, 0, content=answer, **usage)
        self._event("agent.turn_end", "final#9", {"turnIndex": 0, "finalContent": answer, "durationMs": self._now})
        self._row("run.exit", "__root__#0", 0, isRoot=True, payload=answer)

    def envelope(self) -> dict[str, object]:
        """Give the whole document."""
        run: dict[str, object] = {"runId": self.id, "startedAt": self._moment(0)}
        if self.complete:
            run["endedAt"] = self._moment(self._now)
        run |= {"complete": self.complete, "droppedEvents": self.dropped, "firstRetainedEventIndex": self.dropped}
        return {
            "format": "agentfootprint.recording.v1",
            "producer": {"agentfootprintVersion": "unknown", "footprintjsVersion": "unknown"},
            "run": run,
            "configuration": {"agentId": "museum-assistant", "manifest": self._manifest()},
            "privacy": {"mode": "full", "policyId": "agentfootprint.privacy.full.v1"},
            "recording": {
                "snapshot": self._snapshot(),
                "events": self._kept_events(),
                "structure": {"name": "Initialize", "id": "seed", "type": "stage"},
            },
        }

    def _kept_events(self) -> list[dict[str, object]]:
        """Give the events; where the first ones were dropped, the question and its embedding are among those."""
        return self._events if not self.dropped else self._events[3:]

    def _manifest(self) -> dict[str, object]:
        memory = {"id": _MEMORY, "type": "semantic", "strategy": "topK", "embedderId": self.embedder, "flavor": "rag"}
        return {
            "agentId": "museum-assistant",
            "llm": {"provider": "local", "model": "small-chat"},
            "reactMode": "dynamic",
            "memories": [] if self.namespace is None else [memory],
        }

    def _snapshot(self) -> dict[str, object]:
        errors = {} if self._error is None else {"subflowError": f"EmbedderMismatchError: {self._error}"}
        reading = {"id": _READ[:-2], "runtimeStageId": _READ, "name": "Load Memory", "errors": errors}
        tree = {"id": "seed", "runtimeStageId": "seed#0", "name": "Initialize", "errors": {}}
        shared: dict[str, object] = {"userMessage": self._question}
        if self._evidence is not None:
            shared[f"retrievalEvidence_{_MEMORY}"] = self._evidence
        if self._answer:
            shared["llmLatestContent"] = self._answer
        return {
            "sharedState": shared,
            "executionTree": tree if self.namespace is None else {**tree, "next": reading},
            "initialState": {},
            "commitLog": [],
            "commitValues": "delta",
            "writeProvenance": "off",
            "runId": f"{self.start_ms}-0000000001",
            "subflowResults": {},
            "recorders": [
                {
                    "id": "boundary-1",
                    "name": "BoundaryEvents",
                    "description": "Unified domain event log",
                    "preferredOperation": "translate",
                    "data": self._rows,
                    "meta": {"mode": "full"},
                }
            ],
        }

    def _begin_reading(self) -> None:
        self._row("subflow.entry", _READ, 1, subflowId=_READ[:-2], subflowName="Load Memory", payload={})
        made = {"model": self.embedder, "provider": "custom", "inputKind": "query", "dimension": self.dims, "count": 1}
        self._event("embedding.generated", _LOAD, {**made, "durationMs": 9})

    def _entry(self, candidate: Mapping[str, object], vector: object) -> dict[str, object]:
        return {
            "id": candidate["id"],
            "value": {"content": candidate["promptFragment"], "docUri": candidate["docUri"]},
            "embeddingModel": self.embedder,
            "embedding": vector,
        }

    def _injected(self, candidate: Mapping[str, object]) -> None:
        text = str(candidate["promptFragment"])
        facts = {
            "contentSummary": text[:_SUMMARY].replace("\n", " "),
            "slot": "system-prompt",
            "source": "rag",
            "sourceId": f"memory:{_MEMORY}#{candidate['id']}",
            "reason": f"retrieved '{candidate['id']}' (rank {candidate['rank']})",
            "retrievalScore": candidate["score"],
            "rankPosition": candidate["rank"],
        }
        self._event("context.injected", "sf-system-prompt/compose#5", {**facts, "rawContent": text})
        self._row("context.injected", "sf-system-prompt/compose#5", 0, **facts)

    def _event(self, kind: str, stage: str, payload: Mapping[str, object]) -> None:
        self._now += 4
        meta = {
            "wallClockMs": self.start_ms + self._now,
            "runOffsetMs": self._now,
            "runtimeStageId": stage,
            "subflowPath": stage.split("/")[:-1],
            "compositionPath": ["Agent:museum-assistant"],
            "runId": self.id,
        }
        self._events.append({"type": f"agentfootprint.{kind}", "payload": payload, "meta": meta})

    def _row(self, kind: str, stage: str, depth: int, **facts: object) -> None:
        self._now += 1
        self._rows.append(
            {
                "type": kind,
                "runtimeStageId": stage,
                "subflowPath": ["__root__", _READ[:-2]][: depth + 1],
                "depth": depth,
                "ts": self.start_ms + self._now,
                "commitIdxBefore": 0,
                "commitIdxAfter": 0,
                **facts,
            }
        )

    def _moment(self, offset_ms: int) -> str:
        moment = datetime.fromtimestamp((self.start_ms + offset_ms) / 1000, UTC)
        return f"{moment.strftime('%Y-%m-%dT%H:%M:%S')}.{offset_ms % 1000:03d}Z"


def query_hash(text: str) -> str:
    """Hash a question as the producer does: 32-bit FNV-1a over UTF-16 code units, in hexadecimal."""
    code = _FNV
    units = text.encode("utf-16-le")
    for at in range(0, len(units), 2):
        code = ((code ^ (units[at] | units[at + 1] << 8)) * _PRIME) & 0xFFFFFFFF
    return format(code, "x")
