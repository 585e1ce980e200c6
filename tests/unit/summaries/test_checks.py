import pytest

from contextfold.domain import Message, Text
from contextfold.summaries import Language, Refusal, SourceMessage, SummaryRequest, check
from contextfold.summaries.prompt import ENGLISH

from .counting import count

GOOD = """1. Previous conversation: the user asked to rename the module and to keep the old import path working.
2. Current work: `src/app/names.py` is half renamed.
3. Key technical concepts: re-exports.
4. Relevant files and code: src/app/names.py.
5. Problem solving: the import cycle was broken by moving `Name` down.
6. Pending tasks and next steps: "then run the tests again"."""
GOOD_JA = """1. これまでの会話：ユーザーはモジュールの改名を依頼し、古い import も残すよう求めた。
2. 現在の作業：names.py の改名が途中。
6. 未完了のタスク：「もう一度テストを実行して」。"""


def asked(language: Language = "en", budget: int = 2_000) -> SummaryRequest:
    return SummaryRequest((SourceMessage(1, Message("user", (Text("hi"),))),), language=language, budget=budget)


def verdict(text: str, *, language: Language = "en", finish: str = "stop", before: int = 10_000) -> Refusal | None:
    return check(text, asked(language), count, finish=finish, before=before)


@pytest.mark.seed("R32")
def test_a_good_summary_stands() -> None:
    assert verdict(GOOD) is None
    assert verdict(GOOD, finish="end_turn") is None
    assert verdict(GOOD, finish="") is None
    assert verdict(GOOD_JA, language="ja") is None


@pytest.mark.parametrize("text", ["", "  \n\t", "ok", "Summary:", "…"])
@pytest.mark.seed("R32")
@pytest.mark.peer("A5")
@pytest.mark.peer("A16")
def test_an_empty_or_tiny_answer_does_not(text: str) -> None:
    assert verdict(text) is Refusal.EMPTY


@pytest.mark.parametrize(
    "finish", ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "incomplete"]
)
@pytest.mark.seed("R32")
def test_an_answer_that_was_cut_off_does_not(finish: str) -> None:
    assert verdict(GOOD, finish=finish) is Refusal.CUT_OFF


@pytest.mark.parametrize("end", [" and then the", " in `src/app", "\n```python\nx = 1\n"])
@pytest.mark.seed("R32")
def test_without_a_finish_reason_an_unfinished_ending_tells(end: str) -> None:
    assert verdict(GOOD + end, finish="unknown") is Refusal.CUT_OFF
    assert verdict(GOOD + end, finish="stop") is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I'm sorry, but I can't help with summarizing this conversation.", "en"),
        ("I cannot comply with this request because it contains private data.", "en"),
        ("Sorry, I am unable to produce a summary of this conversation here.", "en"),
        ("As an AI language model I cannot summarize conversations like this one.", "en"),
        ("申し訳ありませんが、この会話を要約することはできません。別のご依頼をお願いします。", "ja"),
        ("このリクエストには対応できません。内容が方針に反しているためです。ご了承ください。", "ja"),
    ],
)
@pytest.mark.seed("R32")
def test_a_refusal_does_not(text: str, language: Language) -> None:
    assert verdict(text, language=language) is Refusal.REFUSAL


def test_a_refusal_told_about_is_no_refusal() -> None:
    assert verdict(GOOD + '\nThe assistant said "I cannot open the file" before it found the right path.') is None


@pytest.mark.parametrize("finish", ["refusal", "content_filter", "SAFETY"])
def test_a_refusal_by_finish_reason_does_not(finish: str) -> None:
    assert verdict(GOOD, finish=finish) is Refusal.REFUSAL


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n{}\n</tool_call> and a little more text to be long enough.",
        '<invoke name="read_file"><parameter name="path">a.py</parameter></invoke>',
        '{"name": "read_file", "arguments": {"path": "src/app/names.py"}}',
        '```json\n{"tool": "bash", "input": {"command": "ls -la the/whole/tree"}}\n```',
        "[TOOL_CALLS] something that looks like a call to the tool of the day",
    ],
)
@pytest.mark.seed("R32")
def test_a_tool_call_in_words_does_not(text: str) -> None:
    assert verdict(text) is Refusal.TOOL_CALL


def test_a_tool_call_by_finish_reason_does_not_and_code_that_quotes_one_does() -> None:
    assert verdict(GOOD, finish="tool_use") is Refusal.TOOL_CALL
    assert verdict(GOOD + "\nThe parser must accept `<tool_call>` as text.") is None


@pytest.mark.seed("R32")
def test_the_instructions_said_back_do_not() -> None:
    assert verdict(ENGLISH.task.split("{")[0] + "\n" + "\n".join(ENGLISH.sections)) is Refusal.EMPTY
    assert verdict("1. [Detailed description]\n2. [Detailed description]\n3. [Concept 1] [Concept 2]") is Refusal.EMPTY


@pytest.mark.seed("R31")
@pytest.mark.seed("R32")
def test_another_language_does_not() -> None:
    assert verdict(GOOD_JA, language="en") is Refusal.WRONG_LANGUAGE
    assert verdict(GOOD, language="ja") is Refusal.WRONG_LANGUAGE


def test_a_summary_of_values_is_in_no_language() -> None:
    assert verdict("`" + "src/app/names.py " * 5 + "`: 1, 2, 3, 4, 5.", language="ja") is None


@pytest.mark.seed("R32")
def test_one_that_is_not_smaller_than_what_it_replaces_does_not() -> None:
    assert verdict(GOOD, before=count(GOOD)) is Refusal.GREW
    assert verdict(GOOD, before=count(GOOD) + 1) is None


def test_one_far_over_its_budget_does_not() -> None:
    long = GOOD + "\nMore words about the same work." * 60
    assert check(long, asked(budget=200), count, before=100_000) is Refusal.GREW
    assert check(long, asked(budget=1_000), count, before=100_000) is None


def test_every_reason_is_a_short_slug() -> None:
    assert all(str(reason) == reason.value and " " not in reason for reason in Refusal)
