"""What a request that does not fit says of itself: every part once, and their sum is what is needed."""

import pytest

import contextfold as cf
from contextfold.errors import CannotFit

WORD = "word "


def test_each_part_of_a_request_that_does_not_fit_is_told_once() -> None:
    by_hand = cf.recipes.balanced().with_(automatic=False)
    with cf.Session.open(model="gpt-5", window=3_000, policy=by_hand) as session:
        session.append({"role": "user", "content": "pinned " + WORD * 1_000})
        session.append({"role": "assistant", "content": "loose " + WORD * 400})
        session.append({"role": "user", "content": "live " + WORD * 4_000})
        session.thread.pin(1)
        with pytest.raises(CannotFit) as raised:
            session.prepare(max_tokens=500)
        parts, tokens = raised.value.parts, session.view.tokens
        assert parts["the live request"] == tokens(2)
        assert parts["pins and system messages"] == tokens(0, 1)
        assert parts["what is kept before it"] == tokens(1, 2)
        assert parts["room for the answer"] == 500
        assert sum(parts.values()) == session.preview().used + 500
