"""Where the project's shared samples and conformance data are, when they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"
SAMPLES = _SHARED / "samples"
CONFORMANCE = _SHARED / "conformance"

needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not at hand")
needs_conformance = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the shared conformance data is not at hand")
