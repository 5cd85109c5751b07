"""Makes the answers of an embedding server, as LiteLLM's proxy writes them, and cassettes of them, as VCR.py does.

    pip install 'litellm[proxy]' openai vcrpy wordllama
    python tests/data/recordings/make_litellm.py [FOLDER]

Nothing leaves the machine, and no key is needed: the vectors are wordllama's, cut to 32 numbers. All files are as they
were written, byte for byte; ports, times and ids differ from run to run.

    litellm_embeddings.json       the body of an answer to two texts
    litellm_error.json            the body of an answer to a model that is not there
    litellm_answers.jsonl         three such bodies, one a line
    vcrpy_litellm.yaml            a refused and an answered call by OpenAI's client, recorded by VCR.py
    vcrpy_litellm.json            the same by its JSON serializer
"""

# mypy: ignore-errors
# (litellm is not among the packages that the tests need)

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = ["the tide gauge", "the lamp room"]
HANDLER = """
from pathlib import Path
import wordllama
from litellm import CustomLLM
from litellm.types.utils import Usage

MODEL = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

class Local(CustomLLM):
    async def aembedding(self, model, input, model_response, *arguments, **options):
        vectors = MODEL.embed(list(input), norm=True)[:, :32].tolist()
        model_response.model = model
        model_response.data = [
            {"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)
        ]
        words = sum(len(text.split()) for text in input)
        model_response.usage = Usage(prompt_tokens=words, total_tokens=words)
        return model_response

local = Local()
"""
CONFIG = """
model_list:
  - {model_name: wordllama, litellm_params: {model: local/wordllama}}
litellm_settings:
  drop_params: true
  custom_provider_map:
    - {provider: local, custom_handler: handler.local}
"""


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def post(url: str, body: object) -> bytes:
    """Send JSON and give the bytes of the answer, also of a refusal."""
    request = urllib.request.Request(
        f"{url}/v1/embeddings", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return error.read()


def until_up(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the proxy answers."""
    for _ in range(240):
        if server.poll() is not None:
            raise SystemExit("the proxy ended before it answered")
        try:
            urllib.request.urlopen(f"{url}/health/liveliness", timeout=2).close()
            return
        except OSError:
            time.sleep(0.25)
    raise SystemExit("the proxy does not answer")


def record(url: str, folder: Path) -> None:
    """Ask, and keep what came."""
    both = post(url, {"model": "wordllama", "input": TEXTS})
    (folder / "litellm_embeddings.json").write_bytes(both)
    missing = post(url, {"model": "another", "input": TEXTS})
    (folder / "litellm_error.json").write_bytes(missing)
    one = post(url, {"model": "wordllama", "input": TEXTS[:1]})
    (folder / "litellm_answers.jsonl").write_bytes(b"".join(each + b"\n" for each in (both, one, both)))
    import openai
    import vcr

    for name, serializer in (("vcrpy_litellm.yaml", "yaml"), ("vcrpy_litellm.json", "json")):
        (folder / name).unlink(missing_ok=True)
        recorder = vcr.VCR(serializer=serializer, filter_headers=["authorization"])
        with recorder.use_cassette(str(folder / name)), openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            with contextlib.suppress(openai.BadRequestError):
                client.embeddings.create(model="another", input=TEXTS)
            client.embeddings.create(model="wordllama", input=TEXTS)


def main() -> None:
    """Start the proxy, record, and stop it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "handler.py").write_text(HANDLER)
        (Path(work) / "config.yaml").write_text(CONFIG)
        port = free_port()
        # no prices from the net, and no key for a server that only this machine sees
        settings = {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        }
        command = [Path(sys.executable).with_name("litellm"), "--config", "config.yaml"]
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=work,
            env={**os.environ, **settings},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until_up(f"http://127.0.0.1:{port}", server)
            record(f"http://127.0.0.1:{port}", folder)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
