"""Makes otlp_genai.jsonl and otlp_openinference.jsonl: embedding spans as OpenTelemetry's file exporter writes them.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-json-file openai
    pip install opentelemetry-instrumentation-openai-v2 openinference-instrumentation-openai
    pip install opentelemetry-util-genai==0.4b0    # openai-v2 2.4b0 does not import beside a newer one
    python tests/data/routing/make_otlp.py

The spans of the requests come from the instrumentations of OpenAI's client; around each call stands one span of the
program's own. OpenInference writes along what ``using_metadata`` says, here where the vectors go. Nothing
leaves the machine, and no key is needed. Times, ids and ports differ from run to run.
"""

# mypy: ignore-errors
# (none of these packages is among those that the tests need)

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import openai
from local_server import embedding_server
from openinference.instrumentation import using_metadata
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInferenceInstrumentor
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from redacting import without_folders

HERE = Path(__file__).parent
GENAI = ("opentelemetry-instrumentation-openai-v2", OpenAIInstrumentor)
OPENINFERENCE = ("openinference-instrumentation-openai", OpenInferenceInstrumentor)


def trace(out: Path, package: str, instrumentor: OpenAIInstrumentor | OpenInferenceInstrumentor) -> None:
    """Ask through an outage; the program's own breaker skips the primary in two calls."""
    out.unlink(missing_ok=True)
    provider = TracerProvider(resource=Resource({"service.name": "indexer", "service.instance.id": "indexer-1"}))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(out)))
    instrumentor.instrument(tracer_provider=provider)
    tracer = provider.get_tracer("indexer")
    with embedding_server("acme-embed", 8) as primary, embedding_server("house-embed", 6) as fallback:
        clients = [
            (openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0), server)
            for server in (primary, fallback)
        ]
        for n in range(8):
            primary.failing = 503 if 2 <= n < 4 else None
            fallback.failing = 503 if n == 5 else None
            skipped = n in (4, 5)
            where = {"namespace": "handbook", "purpose": "document", "keys": [f"page-{n}#0", f"page-{n}#1"]}
            with using_metadata(where), tracer.start_as_current_span("embed page"):
                for client, server in clients[1:] if skipped else clients:
                    try:
                        client.embeddings.create(model=server.model, input=[f"text {n}", f"text {n} again"])
                        break
                    except openai.InternalServerError:
                        continue
    instrumentor.uninstrument()
    provider.shutdown()
    out.write_text(without_folders(out.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{out.name}: {len(out.read_text(encoding='utf-8').splitlines())} lines by {package} {version(package)}")


def main() -> None:
    """Write both files."""
    trace(HERE / "otlp_genai.jsonl", GENAI[0], GENAI[1]())
    trace(HERE / "otlp_openinference.jsonl", OPENINFERENCE[0], OPENINFERENCE[1]())


if __name__ == "__main__":
    main()
