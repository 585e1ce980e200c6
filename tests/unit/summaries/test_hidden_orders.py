"""Orders that are no message of their own survive a fold in every wire format, in both languages."""

from __future__ import annotations

import pytest

import contextfold as cf
from contextfold.domain import PERSON
from contextfold.summaries.passages import HistoryPassage
from contextfold.summaries.sayings import sayings
from contextfold.testing.wire import WRITERS, Answered, Called, Step, StepQuestion, Worked

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n{}"
)
ANSWERED = 'User has answered your questions: "How?"="{}". You can now continue with the user\'s answers in mind.'
ORDERS = {
    "en": ("always use git clone here", "keep the old parser beside it", "start with the smallest file", "never amend"),
    "ja": (
        "必ずgit cloneを使ってください",
        "古いパーサーも残してください",
        "一番小さいファイルから始めて",
        "amendは禁止",
    ),
}


def history(orders: tuple[str, ...]) -> list[Step]:
    """Four orders, none of them a message, among work that fills the window."""
    clone, keep, start, never = orders
    noise = "\n".join(f"line {number}: value_{number} = compute_{number}(state)" for number in range(150))
    work = [
        Worked("", "Reading on.", (Called(f"w{number}", "read_file", {"path": f"src/part_{number}.py"}, noise, False),))
        for number in range(12)
    ]
    return [
        StepQuestion("Please bring the importer up to date."),
        Worked("", "Fetching.", (Called("a", "bash", {"command": "curl x"}, REJECTED.format(clone), True),)),
        StepQuestion(f"<command-name>/plan</command-name>\n<command-args>{keep}</command-args>"),
        Worked("", "Asking.", (Called("b", "ask_user", {"question": "Where?"}, start, False),)),
        Worked("", "Asking more.", (Called("c", "AskUserQuestion", {"q": "How?"}, ANSWERED.format(never), False),)),
        *work,
        Answered("", "Half of it is done."),
        StepQuestion("Go on with the second half."),
    ]


@pytest.mark.finding("Q1")
@pytest.mark.parametrize("language", ORDERS)
@pytest.mark.parametrize("dialect", MODELS)
def test_orders_in_results_commands_and_answers_survive_a_fold(dialect: str, language: str) -> None:
    with cf.Session.open(model=MODELS[dialect]) as session:
        for step in history(ORDERS[language]):
            for message in WRITERS[dialect](step):
                session.append(message)
        session.fold(to=1_500)
        shown = "\n".join(message.text for message in session.view.messages)
        assert all(order in shown for order in ORDERS[language])
        assert "doesn't want to proceed" not in shown
        assert session.view.count.tokens <= 1_500


@pytest.mark.finding("K2")
def test_of_a_paste_of_very_many_lines_both_ends_are_weighed() -> None:
    text = "Never rename it.\n" + "x\n" * 60_000 + "Always keep the parser.\n"
    said = sayings(text, HistoryPassage(0, 1, PERSON, ""))
    assert len(said) == 40_000
    assert (said[0].text, said[-1].text) == ("Never rename it.", "Always keep the parser.")
    assert said[-1].index == 60_001
