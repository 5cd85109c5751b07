"""workbench.toml: what it says becomes typed values, and every fault is named with its line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from workbench.config import ConfigFile, Origin, find_files, read_file
from workbench.config_reading import ConfigurationError
from workbench.embedders.batching import BatchLimits
from workbench.embedders.configured import LocalEmbedder, RoutedEmbedder, ServerEmbedder, hosts_of
from workbench.embedders.opening import open_embedder
from workbench.embedders.protocol import PrefixPolicy

WHOLE = """
[embedders.small]
kind = "openai"                 # any OpenAI-compatible /v1/embeddings
model = "text-embedding-3-small"
dimensions = 512
max_input_chars = 24500
base_url = "https://gate.test:8443/v1"
api_key_env = "OPENAI_API_KEY"
api_key_header = "api-key"
document_prefix = "passage: "
query_prefix = "query: "
send_input_type = true
max_batch_inputs = 16
max_batch_chars = 9000
timeout_seconds = 5

[embedders.near]
kind = "ollama"
model = "nomic-embed-text"
dimensions = 768

[embedders.routed]
kind = "auto-fallback"
primary = "small"
fallback = "minilm"
failure_streak_threshold = 2
cooldown_ms = 0
log = "routing.jsonl"
"""


def read(folder: Path, text: str) -> ConfigFile:
    (folder / "workbench.toml").write_text(text, encoding="utf-8")
    found = read_file(folder / "workbench.toml", Origin.USER)
    assert found is not None
    return found


def fault(folder: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(folder, text)
    assert str(folder / "workbench.toml") in str(caught.value)
    return str(caught.value)


def test_everything_that_can_be_said_is_read_into_its_type(tmp_path: Path) -> None:
    small, near, routed = read(tmp_path, WHOLE).embedders
    assert isinstance(small, ServerEmbedder)
    assert (small.kind, small.model, small.dimensions, small.send_dimensions) == (
        "openai",
        "text-embedding-3-small",
        512,
        True,
    )
    assert (small.address.host, small.max_input_chars, small.read_timeout_s) == ("gate.test:8443", 24_500, 5)
    assert small.key is not None
    assert (small.key.variable, small.key.header) == ("OPENAI_API_KEY", "api-key")
    assert small.policy == PrefixPolicy("passage: ", "query: ", True)
    assert small.limits == BatchLimits(16, 9_000)
    assert isinstance(near, ServerEmbedder)
    assert (near.kind, near.address.url, near.key, near.send_dimensions) == (
        "ollama",
        "http://localhost:11434",
        None,
        False,
    )
    assert isinstance(routed, RoutedEmbedder)
    assert routed.primary == small
    assert isinstance(routed.fallback, LocalEmbedder)
    assert (routed.failure_streak_threshold, routed.cooldown_ms) == (2, 0)
    assert routed.log == str(tmp_path / "routing.jsonl")
    assert hosts_of(routed) == ("gate.test:8443",)
    assert (routed.model_id, routed.dimensions, routed.max_input_chars) == ("text-embedding-3-small", 512, 1_000)


def test_what_the_model_table_knows_need_not_be_said(tmp_path: Path) -> None:
    (small,) = read(tmp_path, '[embedders.s]\nkind = "openai"\nmodel = "text-embedding-3-small"').embedders
    assert isinstance(small, ServerEmbedder)
    assert (small.dimensions, small.send_dimensions, small.max_input_chars) == (1536, False, None)
    assert small.address.url == "https://api.openai.com/v1"
    assert small.limits.max_inputs == 2_048
    assert small.max_input_tokens == 8_191


def test_the_address_of_ollama_may_be_given_with_its_compatible_part(tmp_path: Path) -> None:
    text = '[embedders.o]\nkind = "ollama"\nmodel = "m"\ndimensions = 4\nbase_url = "http://box:11434/v1/"'
    (near,) = read(tmp_path, text).embedders
    assert isinstance(near, ServerEmbedder)
    assert near.address.at("api/embed") == "http://box:11434/api/embed"


def test_what_else_stands_in_a_request_is_said_and_a_service_that_cuts_is_told_not_to(tmp_path: Path) -> None:
    text = '[embedders.v]\nkind = "openai"\nmodel = "voyage-3.5"\nbase_url = "https://v.test/v1"\n'
    (voyage,) = read(tmp_path, text).embedders
    assert isinstance(voyage, ServerEmbedder)
    assert voyage.send == (("truncation", False),)
    (voyage,) = read(tmp_path, text + 'send = { truncation = true, user = "me" }').embedders
    assert isinstance(voyage, ServerEmbedder)
    assert voyage.send == (("truncation", True), ("user", "me"))


SERVER = '[embedders.a]\nkind = "openai"\nmodel = "m"\ndimensions = 4\n'
ROUTED = SERVER + "[embedders.r]\nkind = 'auto-fallback'\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[embedders.a]\nkind = 'openai'\nmodl = 'm'", 3, "did you mean model?"),
        ("# first\n\n[embedders.a]\nkind = 'openai'\n", 3, "says no model"),
        ("[embedders.a]\nmodel = 'm'", 1, "says no kind"),
        ("[embedders.a]\nkind = 'cohere'", 2, "openai, ollama, auto-fallback"),
        ("[embedders.a]\nkind = 'openai'\nmodel = 'm'", 1, "dimensions"),
        (SERVER.replace("4", "'4'"), 4, "a whole number"),
        (SERVER.replace("4", "true"), 4, "a whole number"),
        (SERVER.replace("4", "0"), 4, "at least 1"),
        (SERVER.replace("4", "1.5"), 4, "a whole number"),
        (SERVER + "api_key = 'sk-1234'", 5, "never"),
        (SERVER + "api_key_env = 'sk-proj-1234567890abcdefghij'", 5, "never a key"),
        (SERVER + "api_key_env = 'A B'", 5, "never a key"),
        (SERVER + "api_key_header = 'api-key'", 5, "needs api_key_env"),
        (SERVER + "base_url = 'ftp://x'", 5, "http://"),
        (SERVER + "base_url = 'https://me:secret@x'", 5, "no password"),
        (SERVER + "max_input_chars = -1", 5, "at least 1"),
        (SERVER + "send = { model = 'other' }", 5, "must not hold model"),
        (SERVER + "send = { keep = [1] }", 5, "must be a table"),
        (SERVER + "send = 3", 5, "must be a table"),
        (SERVER + "[embedders.minilm]\nkind = 'openai'", 5, "known without configuration"),
        (ROUTED + "primary = 'a'\nfallback = 'b'", 8, "no embedder of this file"),
        (ROUTED + "primary = 'a'\nfallback = 'a'", 8, "the same embedder"),
        (ROUTED + "primary = 'r'\nfallback = 'a'", 7, "no embedder of this file"),
        ("[embedder.a]\nkind = 'openai'", None, "the only one is embedders"),
        ("embedders = 3", None, "must be tables"),
        ("[embedders]\na = 3", None, "must be a table"),
        ("[embedders.a\n", None, "no TOML"),
        pytest.param("x = " + "[" * 5_000, None, "nested too deeply", id="deep"),
    ],
)
def test_each_fault_is_one_sentence_with_its_line(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    sentence = fault(tmp_path, text)
    if said != "never":
        assert said in sentence
    assert "\n" not in sentence
    assert ("line" in sentence) == (line is not None or "no TOML:" in sentence)
    if line is not None:
        assert f"line {line}:" in sentence
    for secret in ("sk-1234", "sk-proj", "secret@"):
        assert secret not in sentence


def test_a_file_that_is_none_is_refused_and_one_that_is_not_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "workbench.toml"
    assert read_file(path, Origin.USER) is None
    path.mkdir()
    with pytest.raises(ConfigurationError):
        read_file(path, Origin.USER)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(ConfigurationError, match="no regular file"):
        read_file(path, Origin.USER)
    path.unlink()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_file(path, Origin.USER)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigurationError, match="larger"):
        read_file(path, Origin.USER)


def test_the_working_folder_comes_first_unless_it_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("workbench.config.user_file", lambda: tmp_path / "config" / "workbench.toml")
    for folder in ("config", "work"):
        (tmp_path / folder).mkdir()
        read(tmp_path / folder, SERVER)
    found = [(file.path.parent.name, file.origin) for file in find_files(tmp_path / "work")]
    assert found == [("work", Origin.WORKING_FOLDER), ("config", Origin.USER)]
    assert [file.origin for file in find_files(tmp_path / "config")] == [Origin.USER]


def test_opening_an_embedder_asks_nobody_and_reads_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    small, near, _ = read(tmp_path, WHOLE).embedders
    for configured in (small, near):
        provider = open_embedder(configured)
        assert (provider.model_id, provider.dimensions) == (configured.model_id, configured.dimensions)
        assert provider.host is not None
        assert provider.answered_model is None


def test_the_configuration_in_the_readme_can_be_read(tmp_path: Path) -> None:
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(\[embedders\..*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    assert [embedder.name for embedder in read(tmp_path, block).embedders] == ["small", "spare", "routed"]
