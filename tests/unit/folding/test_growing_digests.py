"""Folds of one thread: each digest costs what is new, and goes on as if it had read everything again."""

from __future__ import annotations

from pathlib import Path

import pytest

import contextfold as cf
from contextfold.testing import histories

MODEL, WINDOW = "claude-sonnet-4-5", 20_000


def tell(session: cf.Session, turn: int) -> None:
    """A short exchange; no two are alike."""
    answer = "".join(f"handler_{turn} calls step_{turn}_{part} with queue_{part}. " for part in range(40))
    session.append({"role": "user", "content": f"Please move handler_{turn} to module_{turn % 7}. "})
    session.append({"role": "assistant", "content": answer})


def folded(session: cf.Session, to: int) -> str:
    return "\n".join(fold.text for fold in session.fold(to=to).folds)


@pytest.mark.finding("P5")
def test_a_late_fold_reads_no_more_than_an_early_one_though_all_of_it_might_be_read() -> None:
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1  # a digest looks at its clock while it reads and weighs
        return 0.0

    policy = cf.recipes.balanced().with_(digest_clock=clock)
    work: list[int] = []
    with cf.Session.open(":memory:", model=MODEL, policy=policy, window=WINDOW) as session:
        for turn in range(140):
            tell(session, turn)
            session.append({"role": "user", "content": "Go on."})
            before = looks
            session.prepare(max_tokens=100)
            work += [looks - before] if looks > before else []
    assert len(work) >= 8
    assert max(work[-3:]) <= 1.5 * max(work[:3])


@pytest.mark.finding("P5")
def test_a_thread_that_was_opened_again_folds_as_if_it_had_stayed_open(tmp_path: Path) -> None:
    said = histories.session(11, tokens=14_000, language="en")
    half = len(said) // 2
    found = []
    for closes in (False, True):
        store = tmp_path / f"{closes}.db"
        session = cf.Session.open(store, model=MODEL, thread="one")
        for message in said[:half]:
            session.append(message)
        session.fold(to=1_500)
        if closes:
            session.close()
            session = cf.Session.open(store, model=MODEL, thread="one")
        for message in said[half:]:
            session.append(message)
        found.append(folded(session, 2_000))
        session.close()
    assert found[0] == found[1]
    assert found[0]


@pytest.mark.finding("P5")
def test_a_preview_of_folding_changes_nothing_of_the_fold_that_is_made() -> None:
    said = histories.session(12, tokens=12_000)
    found = []
    for looks_first in (False, True):
        with cf.Session.open(":memory:", model=MODEL) as session:
            for message in said[:-6]:
                session.append(message)
            session.fold(to=1_500)
            for message in said[-6:]:
                session.append(message)
            if looks_first:
                session.preview_fold(to=900)
            found.append(folded(session, 1_200))
    assert found[0] == found[1]


@pytest.mark.finding("P5")
def test_what_was_forgotten_stands_in_no_later_digest() -> None:
    with cf.Session.open(":memory:", model=MODEL) as session:
        secret = session.append({"role": "user", "content": "Please use the key SECRET_KEY_4711 for src/vault.py."})
        for turn in range(12):
            tell(session, turn)
        session.append({"role": "user", "content": "Go on."})
        assert "SECRET_KEY_4711" in folded(session, 1_500)
        session.store.forget(session.thread.name, secret)
        for turn in range(12, 20):
            tell(session, turn)
        session.append({"role": "user", "content": "Go on."})
        again = folded(session, 1_500)
        assert "handler_19" in again
        assert "SECRET_KEY_4711" not in again
