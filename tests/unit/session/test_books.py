"""What a session's books say could be cleared: by tokens, and less is kept in a smaller window."""

from __future__ import annotations

import contextfold as cf
from contextfold.folding import Clear, Economy, Percent, Policy


def removable(limit: int, steps: int = 10) -> int:
    """Raw tokens that clearing could take of results of about 2,400 tokens each, once all of them are answered."""
    policy = Policy("clearing", (Percent(99),), (Clear(),), economy=Economy(), limit=limit)
    with cf.Session.open(model="claude-sonnet-4-5", policy=policy) as session:
        session.append({"role": "user", "content": "Read on."})
        for number in range(steps):
            use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
            session.append({"role": "assistant", "content": [use]})
            found = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} " + "word " * 3_000}
            session.append({"role": "user", "content": [found]})
        session.append({"role": "assistant", "content": "Read."})
        session.append({"role": "user", "content": "And?"})
        session.preview()
        return session.desk.books.rents.removable


def test_a_quarter_of_the_window_is_kept_of_the_newest_results() -> None:
    each = removable(48_000, 9) - removable(48_000, 8)
    assert each > 2_000
    assert removable(48_000) == 6 * each, "four of ten fit into 12,000 tokens"


def test_no_more_than_forty_thousand_tokens_are_kept_in_any_window() -> None:
    assert removable(190_000) == 0
    assert removable(160_000, 30) == removable(190_000, 30) > 0
