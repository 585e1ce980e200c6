import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold import dialects
from contextfold.errors import BadConfiguration

OURS = ("anthropic", "openai-chat", "openai-responses", "gemini")

MODULE = """
from contextfold.dialects.openai_chat import OpenAIChatDialect

class Pidgin(OpenAIChatDialect):
    @property
    def name(self):
        return "pidgin"

ready = Pidgin()
"""


@pytest.fixture
def outsider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution that brings two dialects by entry point."""
    (tmp_path / "pidgin_dialect.py").write_text(MODULE)
    information = tmp_path / "pidgin_dialect-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: pidgin-dialect\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[contextfold.dialects]\npidgin = pidgin_dialect:Pidgin\npidgin-ready = pidgin_dialect:ready\n"
        "anthropic = pidgin_dialect:ready\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("pidgin_dialect", None)


@pytest.mark.parametrize("name", OURS)
def test_a_dialect_is_found_by_its_name(name: str) -> None:
    assert dialects.find(name).name == name


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadConfiguration, match=r"no dialect 'klingon'.*anthropic, openai-chat"):
        dialects.find("klingon")


@pytest.mark.usefixtures("outsider")
def test_a_dialect_from_outside_is_found_by_entry_point_and_never_replaces_ours() -> None:
    assert "pidgin_dialect" not in sys.modules
    assert dialects.names() == (*OURS, "pidgin", "pidgin-ready")
    assert "pidgin_dialect" not in sys.modules
    assert dialects.find("pidgin").name == "pidgin"
    assert dialects.find("pidgin-ready").name == "pidgin"
    assert dialects.find("anthropic").name == "anthropic"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "a"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"role": "user", "content": [{"type": "document", "source": {}}]},
        {"role": "user", "content": [{"type": "image", "source": {}}]},
    ],
)
def test_a_message_only_anthropic_would_write_is_recognised(message: dict[str, object]) -> None:
    assert dialects.detect(message) == "anthropic"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "assistant", "content": None, "function_call": {}},
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        {"role": "user", "content": [{"type": "input_audio"}]},
    ],
)
def test_a_message_only_openai_chat_would_write_is_recognised(message: dict[str, object]) -> None:
    assert dialects.detect(message) == "openai-chat"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, "odd"]},
        {"role": "assistant", "content": None, "tool_calls": None},
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "be brief"},
        {},
        {"role": "tool", "content": [{"type": "tool_use"}]},
        {"role": ["odd"], "content": [{"type": ["odd"]}]},
    ],
)
def test_a_message_that_both_could_write_is_left_to_the_caller(message: dict[str, object]) -> None:
    assert dialects.detect(message) is None


def test_a_whole_answer_is_found_whatever_api_it_came_from() -> None:
    claude = dialects.reply({"type": "message", "role": "assistant", "content": []})
    chat = dialects.reply({"choices": [{"message": {"content": "hi"}}]})
    assert claude is not None
    assert claude.message.dialect == "anthropic"
    assert chat is not None
    assert chat.message.dialect == "openai-chat"
    assert dialects.reply({"role": "user", "content": "hi"}) is None


def test_every_dialect_of_the_house_is_listed() -> None:
    assert tuple(dialect.name for dialect in dialects.all_known()) == OURS


@pytest.mark.parametrize("name", [*OURS, "openai-chat:deepseek"])
def test_a_dialect_of_ours_is_known_by_its_name(name: str) -> None:
    assert dialects.known(name) == name


@pytest.mark.parametrize("name", ["", ":deepseek", "klingon"])
def test_what_no_dialect_is_called_is_not_known(name: str) -> None:
    assert dialects.known(name) == ""
