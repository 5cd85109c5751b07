"""One text made a vector for a search: named in the command, which is consent to this one request and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.cli.embedders import Narration, find_embedder, open_named
from workbench.cli.output import Sign, stderr
from workbench.core.coroutines import run_in_job
from workbench.core.fingerprint import Fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.embedders.configured import Configured
    from workbench.embedders.protocol import BuildingProvider


def embed_query(name: str, text: str, job: Job) -> tuple[Fingerprint, NDArray[np.float64]]:
    """Embed one query with the embedder of this name; says on stderr where the text goes.

    Gives the fingerprint of whoever made the vector: for an auto-fallback that is the leg that answered.

    Raises:
        EmbedderError: it gives no vector.
        click.ClickException: it is not there, or not installed.
    """
    import numpy as np

    from workbench.embedders.configured import hosts_of
    from workbench.embedders.failures import EmbedderError

    configured = find_embedder(name)
    provider = open_named(name)
    provider.watch(Narration())
    hosts = hosts_of(configured)
    if hosts:
        stderr().verdict(Sign.NOTE, f"the text is sent to {' or '.join(hosts)}, to '{name}', once", indent=0)

    warning = _cut(provider, text)
    if warning is not None:
        stderr().verdict(Sign.WARNING, warning, indent=0)

    async def ask() -> tuple[Fingerprint, NDArray[np.float64]]:
        try:
            vector = await provider.embed(text, purpose="query")
            failed = provider.last_error
        finally:
            await provider.dispose()
        if vector is None:
            raise EmbedderError(failed or f"'{name}' has no embedding for this text")
        made = np.asarray(vector, dtype=np.float64)
        return Fingerprint(_answered_by(configured, failed).model_id, int(made.size)), made

    return run_in_job(ask, job)


def _cut(provider: BuildingProvider, text: str) -> str | None:
    """Say how much of the text is read, where that is known and not all of it."""
    from workbench.core.text import utf16_length
    from workbench.embedders.models import resolve_index_ceiling

    counter, length = provider.counter, utf16_length(text)
    if counter is not None:
        cut = counter.cut_at(text)
        return None if cut is None else f"only the first {cut:,} of the {length:,} characters of the text are read"
    dims = provider.dimensions
    fingerprint = None if dims is None else Fingerprint(provider.model_id, dims)
    ceiling = resolve_index_ceiling(None, provider.max_input_chars, fingerprint)
    if length <= ceiling.chars or ceiling.source == "default":
        return None
    return f"the text has {length:,} characters, and the embedder may read no more than {ceiling.chars:,}"


def _answered_by(configured: Configured, failed: str | None) -> Configured:
    """Say which leg of an auto-fallback answered its first call: the fallback exactly when the primary failed."""
    from workbench.embedders.configured import RoutedEmbedder

    if not isinstance(configured, RoutedEmbedder):
        return configured
    return configured.primary if failed is None else configured.fallback
