"""`workbench doctor --probe`: measured after consent, and said when an embedder reads less than it is said to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import workbench
from tests.cli.test_configured_embedders import configure, user_folder
from tests.embedders.asking import KEY
from tests.embedders.misbehaving_server import Behaviour, MisbehavingServer, serving
from workbench.embedders.clip_probe import most_requests

PROBE = ("doctor", "--probe", "near")


@pytest.fixture
def clipping() -> Iterator[MisbehavingServer]:
    """Serve a model that reads 100 words of a text and says nothing."""
    with serving(Behaviour(reads=100)) as running:
        yield running


def test_nothing_is_sent_without_a_yes(tmp_path: Path, clipping: MisbehavingServer) -> None:
    configure(user_folder(tmp_path), clipping)
    ran = workbench(tmp_path, *PROBE, NEAR_KEY=KEY)
    assert ran.code == 2
    assert "nothing was sent" in ran.err
    assert clipping.host in ran.err
    assert clipping.asked.requests == 0


def test_the_measured_ceiling_is_where_the_model_stops(tmp_path: Path, clipping: MisbehavingServer) -> None:
    configure(user_folder(tmp_path), clipping)
    ran = workbench(tmp_path, *PROBE, "--yes", "--json", NEAR_KEY=KEY)
    assert ran.code == 1, "nothing declares a ceiling, so 2,000 is assumed, and it reads less"
    assert ran.json["beyond"] == "clipped"
    # A hundred of its words, of six characters and a blank or so.
    assert 500 < ran.json["reads"] < ran.json["first_lost"] < 900
    assert ran.json["requests"] == clipping.asked.requests <= most_requests()
    assert KEY not in ran.out + ran.err


def test_what_was_measured_is_told_with_the_way_to_go_by_it(tmp_path: Path, clipping: MisbehavingServer) -> None:
    configure(user_folder(tmp_path), clipping)
    ran = workbench(tmp_path, *PROBE, "--yes", NEAR_KEY=KEY)
    assert ran.code == 1
    assert "leaves the rest unread" in " ".join(ran.out.split())
    assert "max_input_chars = " in ran.out


def test_an_embedder_that_does_not_answer_is_one_sentence(tmp_path: Path, clipping: MisbehavingServer) -> None:
    configure(user_folder(tmp_path), clipping)
    ran = workbench(tmp_path, *PROBE, "--yes")
    assert ran.code == 2
    assert "NEAR_KEY" in ran.err
    assert "Traceback" not in ran.err


def test_yes_alone_means_nothing(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "doctor", "--yes")
    assert ran.code == 2
    assert "--probe" in ran.err
