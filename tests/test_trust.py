"""A configuration of a working folder counts only when its hosts and variables were accepted, once per content."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench import trust
from workbench.config import Origin
from workbench.trust import NotAccepted, TrustQuestion, UnknownEmbedder, accept, load_configuration

TEXT = """
[embedders.small]
kind = "openai"
model = "m"
dimensions = 4
base_url = "http://far.test/v1"
api_key_env = "SOME_KEY"

[embedders.routed]
kind = "auto-fallback"
primary = "small"
fallback = "wordllama"
log = "routing.jsonl"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("workbench.config.user_file", lambda: tmp_path / "config" / "workbench.toml")
    monkeypatch.setattr(trust, "state_file", lambda: tmp_path / "state" / "accepted.json")
    for name in ("config", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "workbench.toml").write_text(TEXT)
    return tmp_path / "work"


def question(folder: Path) -> TrustQuestion:
    (inert,) = load_configuration(folder).inert
    return inert


def test_a_file_of_a_working_folder_is_inert_and_says_what_it_would_do(folder: Path) -> None:
    configuration = load_configuration(folder)
    assert list(configuration.embedders) == ["wordllama", "minilm"]
    with pytest.raises(NotAccepted) as caught:
        configuration.find("small")
    asked = caught.value.question
    assert asked.hosts == ("far.test",)
    assert asked.variables == (("SOME_KEY", "far.test"),)
    assert asked.unencrypted == ("far.test",)
    assert asked.logs == (str(folder / "routing.jsonl"),)
    said = " ".join(asked.facts())
    assert all(each in said for each in ("far.test", "SOME_KEY", "routing.jsonl", "not be encrypted"))


def test_what_was_accepted_is_this_content_and_no_other(folder: Path) -> None:
    accept(question(folder))
    accepted = load_configuration(folder)
    assert (accepted.inert, accepted.find("small").name) == ((), "small")
    path = folder / "workbench.toml"
    path.write_text(TEXT + "# one more line\n")
    with pytest.raises(NotAccepted):
        load_configuration(folder).find("small")
    path.write_text(TEXT)
    assert load_configuration(folder).inert == ()


def test_one_content_accepted_does_not_forget_another(folder: Path) -> None:
    accept(question(folder))
    (folder / "workbench.toml").write_text(TEXT.replace("far.test", "near.test"))
    accept(question(folder))
    (folder / "workbench.toml").write_text(TEXT)
    assert load_configuration(folder).inert == ()
    assert (folder.parent / "state" / "accepted.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["", "[", "[]", '{"accepted": 3}', '{"accepted": [3]}', "[" * 100_000])
def test_a_damaged_list_accepts_nothing(folder: Path, damage: str) -> None:
    accept(question(folder))
    (folder.parent / "state" / "accepted.json").write_text(damage)
    assert question(folder).hosts == ("far.test",)


def test_a_file_that_reaches_nobody_counts_at_once(folder: Path) -> None:
    text = '[embedders.both]\nkind = "auto-fallback"\nprimary = "minilm"\nfallback = "wordllama"'
    (folder / "workbench.toml").write_text(text)
    assert load_configuration(folder).find("both").name == "both"


def test_the_users_own_file_counts_and_stands_in_while_the_other_is_inert(folder: Path) -> None:
    (folder.parent / "config" / "workbench.toml").write_text(TEXT.replace("far.test", "own.test"))
    configuration = load_configuration(folder)
    assert [file.origin for file in configuration.files] == [Origin.WORKING_FOLDER, Origin.USER]
    assert configuration.find("small") == load_configuration(folder.parent / "config").find("small")
    accept(question(folder))
    assert load_configuration(folder).find("small") != configuration.find("small")


def test_a_name_that_nobody_gave_is_unknown_and_the_known_ones_are_listed(folder: Path) -> None:
    with pytest.raises(UnknownEmbedder, match="wordllama, minilm"):
        load_configuration(folder).find("nosuch")
