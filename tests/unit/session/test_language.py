"""The language of a thread's stand-ins is that of the user's first messages, and stays."""

from __future__ import annotations

import pytest

import contextfold as cf

ENGLISH = "Look at the parser again."
JAPANESE = "パーサーをもう一度確認して、テストが通るように修正してください。" * 20  # outweighs all English before it


def summary_after(english: int) -> str:
    """The stand-in of a fold, where the user spoke English so often and then Japanese, at length."""
    with cf.Session.open(model="claude-sonnet-4-5", policy="balanced") as session:
        for text in [ENGLISH] * english + [JAPANESE] * 3:
            session.append({"role": "user", "content": text})
            session.append({"role": "assistant", "content": "Done: `src/parse.py` was changed. " * 40})
        session.append({"role": "user", "content": ENGLISH})
        session.fold()
        return session.thread.folds[-1].stand_in.text


@pytest.mark.finding("H9")
def test_the_first_eight_messages_of_the_user_decide_and_a_later_one_does_not() -> None:
    assert "折りたたまれ" in summary_after(7)
    assert "were folded away" in summary_after(8)
