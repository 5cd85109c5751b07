"""The workbench for vector indexes: fingerprints, ceilings, summaries and routing, as a library.

Names are resolved on first use, so that importing one part does not load the rest: ``import workbench`` loads
neither duckdb nor numpy, and nothing here loads the terminal program.
"""

TYPE_CHECKING = False
"""As in typing, which is not imported here: it alone would take as long as Python's whole start."""

__version__ = "0.1.0"

_HOMES = {
    "DEFAULT_MAX_CHUNK_CHARS": "workbench.core.ceiling",
    "AutoFallbackEmbeddingProvider": "workbench.embedders.auto_fallback",
    "ChunkCeiling": "workbench.core.ceiling",
    "CircuitOpenError": "workbench.embedders.protocol",
    "EmbedderMismatchError": "workbench.core.fingerprint",
    "EmbedderPairError": "workbench.embedders.pairs",
    "EmbeddingProvider": "workbench.embedders.protocol",
    "EmbeddingSummary": "workbench.core.summary",
    "Entry": "workbench.index.store",
    "Fingerprint": "workbench.core.fingerprint",
    "Problem": "workbench.index.problems",
    "ProviderHealth": "workbench.embedders.protocol",
    "RoutingLog": "workbench.routing.log_writing",
    "RoutingSnapshot": "workbench.core.routing",
    "SourceError": "workbench.index.problems",
    "VectorStore": "workbench.index.store",
    "fingerprint_conflict": "workbench.core.fingerprint",
    "fingerprint_text": "workbench.core.fingerprint",
    "open_recording": "workbench.recordings.opening",
    "open_source": "workbench.sources",
    "parse_fingerprint": "workbench.core.fingerprint",
    "resolve_chunk_ceiling": "workbench.core.ceiling",
    "resolve_index_ceiling": "workbench.embedders.models",
    "summarize_embeddings": "workbench.core.summary",
    "summarize_vector": "workbench.core.summary",
    "truncation_warning": "workbench.core.ceiling",
    "vectors_for": "workbench.embedders.destination",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    """Import the home of a public name when it is first asked for."""
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)


if TYPE_CHECKING:
    from workbench.core.ceiling import (
        DEFAULT_MAX_CHUNK_CHARS as DEFAULT_MAX_CHUNK_CHARS,
    )
    from workbench.core.ceiling import (
        ChunkCeiling as ChunkCeiling,
    )
    from workbench.core.ceiling import (
        resolve_chunk_ceiling as resolve_chunk_ceiling,
    )
    from workbench.core.ceiling import (
        truncation_warning as truncation_warning,
    )
    from workbench.core.fingerprint import (
        EmbedderMismatchError as EmbedderMismatchError,
    )
    from workbench.core.fingerprint import (
        Fingerprint as Fingerprint,
    )
    from workbench.core.fingerprint import (
        fingerprint_conflict as fingerprint_conflict,
    )
    from workbench.core.fingerprint import (
        fingerprint_text as fingerprint_text,
    )
    from workbench.core.fingerprint import (
        parse_fingerprint as parse_fingerprint,
    )
    from workbench.core.routing import RoutingSnapshot as RoutingSnapshot
    from workbench.core.summary import (
        EmbeddingSummary as EmbeddingSummary,
    )
    from workbench.core.summary import (
        summarize_embeddings as summarize_embeddings,
    )
    from workbench.core.summary import (
        summarize_vector as summarize_vector,
    )
    from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider as AutoFallbackEmbeddingProvider
    from workbench.embedders.destination import vectors_for as vectors_for
    from workbench.embedders.models import resolve_index_ceiling as resolve_index_ceiling
    from workbench.embedders.pairs import EmbedderPairError as EmbedderPairError
    from workbench.embedders.protocol import CircuitOpenError as CircuitOpenError
    from workbench.embedders.protocol import EmbeddingProvider as EmbeddingProvider
    from workbench.embedders.protocol import ProviderHealth as ProviderHealth
    from workbench.index.problems import Problem as Problem
    from workbench.index.problems import SourceError as SourceError
    from workbench.index.store import Entry as Entry
    from workbench.index.store import VectorStore as VectorStore
    from workbench.recordings.opening import open_recording as open_recording
    from workbench.routing.log_writing import RoutingLog as RoutingLog
    from workbench.sources import open_source as open_source
