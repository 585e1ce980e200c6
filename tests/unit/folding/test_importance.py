import pytest

from contextfold.errors import BadConfiguration
from contextfold.folding.importance import ENGLISH, JAPANESE, Scoring
from contextfold.testing.wire import WireMessage
from tests.unit.folding.scene import Scene, assistant, calls, results, step, user

SCORING = Scoring()


def score(*messages: WireMessage, recency: float = 0.5, scoring: Scoring = SCORING) -> float:
    """The score of the last of these messages."""
    view = Scene(messages).view
    tools = {block.call: block.name for item in view.items for block in item.shape.blocks if block.kind == "call"}
    return scoring.score(view.item(-1), view.messages[-1].message, tools, recency)


OK = score(user("ok"))
TALK = score(assistant("Let me think about the shape of this."))
REQUEST = score(user("Rename the cart module to basket, please."))
FOUND = score(*step("a", "def total(self): ..."))
FAILED = score(*step("a", "exit code 1", error=True))
ANSWERED = score(*step("a", "Use the second one", tool="AskUserQuestion"))


def test_the_weights_and_role_values_are_the_seeds() -> None:
    assert (SCORING.recency, SCORING.role, SCORING.content) == (0.3, 0.3, 0.4)
    assert SCORING.roles["user"] == 1.0
    assert SCORING.roles["assistant"] == 0.5
    assert SCORING.roles["system"] == 0.3
    assert score(assistant("hm"), recency=0.0) == pytest.approx(0.3 * 0.5 + 0.4 * 0.1)


@pytest.mark.seed("D9")
def test_the_newest_has_full_recency_and_a_lone_message_is_the_newest() -> None:
    assert score(user("ok"), recency=1.0) - score(user("ok"), recency=0.0) == pytest.approx(0.3)


@pytest.mark.seed("D11")
def test_what_a_message_is_decides_its_rank() -> None:
    assert TALK < OK < FOUND < FAILED < REQUEST
    assert FOUND < ANSWERED


@pytest.mark.seed("D11")
def test_a_failing_test_weighs_more_than_an_ok() -> None:
    """Also where the wire has no flag for errors."""
    unflagged: list[WireMessage] = [
        {"role": "assistant", "content": None, "tool_calls": [_call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": "3 passed, 1 failed"},
    ]
    assert FAILED > OK
    assert score(*unflagged) > OK


@pytest.mark.seed("D10")
@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("there was an error in it", True),
        ("Error: no such file", True),
        ("the reign of terror began", False),
        ("my plan for this task", False),
        ("the approval came", True),
        ("ここでエラーが発生しました", True),
        ("承認されました", True),
        ("今日は良い天気です", False),
    ],
)
def test_words_count_whole_and_in_both_languages(text: str, is_found: bool) -> None:
    bonus = score(assistant(text)) - TALK
    assert bonus == pytest.approx(0.3 * 0.4 if is_found else 0.0)


@pytest.mark.seed("D10")
def test_words_count_once() -> None:
    assert score(assistant("duck_call approval error failed")) == score(assistant("approval"))


@pytest.mark.seed("D12")
def test_a_short_message_is_not_punished_for_its_words() -> None:
    assert score(assistant("error")) == score(assistant("error, and a long explanation of why it came to that"))


@pytest.mark.seed("D10")
def test_the_list_of_words_is_there_to_be_changed() -> None:
    assert {"error", "exception", "done", "denied", "duck_call"} <= set(ENGLISH)
    assert "エラー" in JAPANESE
    own = Scoring(keywords=("basket",))
    assert score(assistant("the basket"), scoring=own) > score(assistant("an error"), scoring=own)
    assert score(assistant("an error"), scoring=Scoring(keywords=())) == TALK


def test_only_the_ends_of_a_long_output_are_searched() -> None:
    padding = "nothing here\n" * 200
    assert score(*step("a", f"{padding}failed\n{padding}")) == FOUND
    assert score(*step("a", f"{padding}failed")) > FOUND


@pytest.mark.seed("D14")
def test_messages_without_content_and_with_pictures_have_a_score() -> None:
    assert 0 < score({"role": "assistant", "content": None, "tool_calls": [_call("a")]}) < 1
    picture = {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}
    assert 0 < score({"role": "user", "content": [picture]}) < 1
    assert 0 < score(calls("a"), results({"a": []})) < 1


def test_attachments_are_in_the_middle() -> None:
    scene = Scene([user("go")])
    scene.attach("File cart.py\n...")
    view = scene.view
    assert OK < SCORING.score(view.item(-1), view.messages[-1].message, {}, 0.5) < REQUEST


@pytest.mark.parametrize("weights", [{"recency": 0.9}, {"recency": -0.3, "role": 0.9}])
def test_weights_that_are_no_shares_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(BadConfiguration):
        Scoring(**weights)  # type: ignore[arg-type]


def _call(name: str) -> WireMessage:
    return {"id": name, "type": "function", "function": {"name": "run", "arguments": "{}"}}


def test_a_speaker_without_a_weight_counts_half() -> None:
    nobody = Scoring(recency=0.0, role=1.0, content=0.0, roles={})
    assert score(user("ok"), scoring=nobody) == 0.5
