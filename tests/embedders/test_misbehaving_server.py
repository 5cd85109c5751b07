"""The test server as a process of its own: told to misbehave from outside, and asked what it was asked."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.embedders.misbehaving_server import digest_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def url() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.embedders.misbehaving_server", "--reads", "3", "--too-long", "openai"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


def post(url: str, document: object) -> tuple[int, Any]:
    request = urllib.request.Request(url, json.dumps(document).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_it_is_told_and_asked_from_outside(url: str) -> None:
    embeddings = f"{url}/v1/embeddings"
    status, body = post(embeddings, {"model": "m", "input": ["one two"]})
    assert (status, len(body["data"][0]["embedding"])) == (200, 64)
    assert post(embeddings, {"model": "m", "input": "one two three four"})[0] == 400
    assert post(f"{url}/behave", {"reads": None, "too_long": "clip"})[0] == 200
    assert post(embeddings, {"model": "m", "input": "one two three four"})[0] == 200
    assert post(f"{url}/faults", ["503"])[0] == 200
    assert post(embeddings, {"model": "m", "input": [[1, 2]]})[0] == 503
    with urllib.request.urlopen(f"{url}/asked") as answer:
        asked = json.load(answer)
    long = digest_of("one two three four")
    assert (asked["requests"], asked["texts"][long], asked["answered"][long]) == (4, 2, 1)
