"""The one text that goes out before all others, and what its answer must be: as declared, and as it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_conflict, fingerprint_text, parse_fingerprint
from workbench.embedders.failures import EmbedderError, UnusableVectors
from workbench.embedders.models import model_table
from workbench.reindex.model import ReindexError, Resumable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.embedders.protocol import BuildingProvider
    from workbench.reindex.sibling import Sibling

PROBE = "One sentence, so that the first answer is looked at before anything else is sent."

SAME_AT = 0.99
"""How near its answer of today must come to the one at the beginning of the build."""

_VECTOR, _MODEL = "probe", "answered_model"


class Surprise(ReindexError):
    """The first answer is not what was planned: nothing else was sent."""


async def first_probe(sibling: Sibling, provider: BuildingProvider) -> None:
    """Send one text and look at what comes, before anything else is sent.

    The first answer of a build is kept in its sibling; that of a resumed one must be the same.

    Raises:
        Surprise: another length, another model, or other vectors than when the build was begun.
        Resumable: no answer.
    """
    try:
        vector = await provider.embed(PROBE, purpose="document")
    except UnusableVectors as error:
        raise Surprise(f"the first answer cannot be used: {error}; {_WAYS}") from error
    except EmbedderError as error:
        raise Resumable(f"the first request failed: {error}; nothing else was sent") from error
    if vector is None:
        raise Resumable("the first request came back without a vector; nothing else was sent")
    row = np.asarray(vector, np.float64)
    _as_planned(row, parse_fingerprint(sibling.settings.fingerprint))
    same_model(sibling, provider)
    earlier = sibling.fact(_VECTOR)
    if earlier is None:
        sibling.say(**{_VECTOR: row.tolist()})
        return
    score = _cosine(row, earlier)
    if score < SAME_AT:
        raise Surprise(
            f"the embedder answers otherwise than when this build was begun (the same text lands at {score:.4f} of "
            "itself): its model was changed; nothing else was sent: restore it and --resume, or drop the build with "
            "--discard"
        )


def same_model(sibling: Sibling, provider: BuildingProvider) -> None:
    """Hold the model that the server names against the one that the build was begun with; raises Surprise."""
    named, known = provider.answered_model, sibling.fact(_MODEL)
    if named is None:
        return
    if known is None:
        sibling.say(**{_MODEL: named})
    elif named != known and not model_table().same_space(named, str(known)):
        raise Surprise(
            f"the server answers with the model '{named}', and this build was begun with '{known}'; vectors of two "
            "models are not mixed: restore it and --resume, or drop the build with --discard"
        )


def _as_planned(row: NDArray[np.float64], expected: Fingerprint) -> None:
    came = Fingerprint(expected.id, int(row.size))
    if fingerprint_conflict(expected, came) or not np.isfinite(row).all() or not row.any():
        raise Surprise(
            f"the first answer was {fingerprint_text(came)} where {fingerprint_text(expected)} was planned"
            f"{'' if row.any() else ', all zeros'}; {_WAYS}"
        )


_WAYS = "nothing else was sent, and nothing was changed: mend the configuration and plan again"


def _cosine(row: NDArray[np.float64], earlier: Any) -> float:  # noqa: ANN401 (read from a file)
    try:
        other = np.asarray(earlier, np.float64)
    except (TypeError, ValueError):
        return -1.0
    if other.shape != row.shape:
        return -1.0
    scale = float(np.linalg.norm(row) * np.linalg.norm(other))
    return float(row @ other / scale) if scale else -1.0
