"""Previews of fold and unfold: they tell what then happens, and nothing happens."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import CannotUnfold, NotFound
from contextfold.folding import Native
from contextfold.session import Preview
from contextfold.testing import histories, models


@pytest.fixture
def session(tmp_path: Path) -> Iterator[cf.Session]:
    with opened(tmp_path / "store.db") as made:
        yield made


def opened(path: Path, **options: object) -> cf.Session:
    made = cf.Session.open(path, model="claude-sonnet-4-5", **options)  # type: ignore[arg-type]
    for message in histories.session(2, tokens=14_000, language="en"):
        made.append(message)
    made.append({"role": "user", "content": "And now?"})
    return made


def shown(session: cf.Session, kind: str) -> set[int]:
    return {item.seq for item in session.view.items if item.kind == kind}


def folded_blocks(session: cf.Session) -> set[tuple[int, int]]:
    return {(item.seq, part.block) for item in session.view.items for part in item.folded}


@pytest.mark.parametrize("to", [None, 3_000, 9_000])
@pytest.mark.parametrize("recipe", [cf.recipes.balanced, cf.recipes.sliding_window, cf.recipes.claude_code])
def test_a_fold_does_what_its_preview_told(tmp_path: Path, recipe: type, to: int | None) -> None:
    with opened(tmp_path / "store.db", policy=recipe()) as session:
        messages, blocks = shown(session, "message"), folded_blocks(session)
        preview = session.preview_fold(instructions="the API", to=to)
        report = session.fold(instructions="the API", to=to)
        assert report.folds
        assert (preview.before, preview.after, preview.usable) == (report.before, report.after, report.usable)
        assert (preview.folds, preview.attempts, preview.cache) == (report.folds, report.attempts, report.cache)
        assert set(preview.hides.messages) == messages - shown(session, "message")
        left = shown(session, "message")
        assert set(preview.hides.blocks) == {pair for pair in folded_blocks(session) - blocks if pair[0] in left}
        assert set(preview.shows.stand_ins) == shown(session, "stand_in")
        assert preview.shows.messages == ()
        assert preview.fits


def test_requests_without_an_answer_do_not_change_what_is_told(session: cf.Session) -> None:
    for words in ("Be brief.", "Be thorough.", "Be kind."):
        session.prepare(system=words)
    preview, report = session.preview_fold(to=3_000), session.fold(to=3_000)
    assert preview.folds == report.folds
    assert preview.after == report.after


def test_a_provider_is_not_asked_to_compact(tmp_path: Path) -> None:
    asked = list[object]()
    stage = Native(lambda *given: asked.append(given), "anthropic")  # type: ignore[arg-type]
    policy = cf.recipes.balanced().with_(stages=(stage, *cf.recipes.balanced().stages))
    with opened(tmp_path / "store.db", policy=policy) as session:
        assert session.preview_fold(to=3_000).folds
    assert asked == []


def test_a_fold_of_folds_tells_which_stand_ins_go_inside(session: cf.Session) -> None:
    inner = session.thread.fold([2, 3, 4, 5, 6, 7], "They looked around in the project and found the service. " * 9)
    preview = session.preview_fold(to=3_000)
    session.fold(to=3_000)
    assert preview.hides.stand_ins == (inner,)
    assert inner not in shown(session, "stand_in")


def test_an_unfold_does_what_its_preview_told(session: cf.Session) -> None:
    session.fold(to=3_000)
    fold = session.folds[-1].id
    messages, before = shown(session, "message"), session.preview().used
    preview = session.preview_unfold(fold)
    session.unfold(fold)
    assert (preview.before, preview.after) == (before, session.preview().used)
    assert set(preview.shows.messages) == shown(session, "message") - messages
    assert preview.hides.stand_ins == (fold,)
    assert preview.fits
    assert preview.cache is not None
    assert preview.cache.kept + preview.cache.rewritten == session.view.tokens()


def test_an_inner_fold_shows_again_as_its_stand_in(session: cf.Session) -> None:
    inner = session.thread.fold([2, 3], "They looked around.")
    outer = session.thread.fold([inner, 4, 5], "They looked around, and further.")
    preview = session.preview_unfold(outer)
    assert (preview.shows.stand_ins, preview.shows.messages) == ((inner,), (4, 5))
    assert preview.hides.stand_ins == (outer,)


def test_parts_of_messages_show_again(session: cf.Session) -> None:
    place = next(
        (item.seq, index)
        for item in session.view.items
        for index, block in enumerate(item.shape.blocks)
        if block.kind == "result"
    )
    fold = session.thread.fold([place], "[cleared]", kind="clear")
    preview = session.preview_unfold(fold)
    assert preview.shows.blocks == (place,)
    assert preview.after > preview.before


def test_the_price_of_unfolding_is_what_comes_back_and_what_is_read_anew(session: cf.Session) -> None:
    session.fold(to=3_000)
    preview = session.preview_unfold(session.folds[0].id)
    assert preview.price is not None
    assert preview.price.unit == "USD"
    assert preview.price.price > 0 > preview.price.saves


def test_an_unfold_that_would_be_refused_does_not_fit(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as made:
        made.fold(to=3_000)
        fold = max(made.folds, key=lambda each: each.before).id
    with cf.Session.open(tmp_path / "store.db", limit=6_000) as session:
        preview = session.preview_unfold(fold)
        assert not preview.fits
        assert preview.after > preview.usable
        with pytest.raises(CannotUnfold):
            session.unfold(fold)


def test_room_that_is_made_for_an_unfold_is_in_its_preview(tmp_path: Path) -> None:
    words = "The rounding of prices is wrong in the service and right in the tests. "
    with cf.Session.open(tmp_path / "store.db", model="gpt-4o", limit=1_500) as session:
        for number in range(12):
            session.append({"role": "user", "content": f"Step {number}. {words * 8}"})
            session.append({"role": "assistant", "content": f"Done with {number}."})
        fold = session.thread.fold([1, 2, 3, 4], "gone")
        refused, preview = session.preview_unfold(fold), session.preview_unfold(fold, make_room=True)
        made = session.unfold(fold, make_room=True)
        assert made
        assert (refused.fits, preview.fits) == (False, True)
        assert preview.after == session.preview().used
        assert set(preview.shows.stand_ins) == set(made)


def test_a_fold_that_is_not_there_has_no_preview(session: cf.Session) -> None:
    with pytest.raises(NotFound, match="no live fold 4 "):
        session.preview_unfold(4)


def test_nothing_happens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, told = tmp_path / "store.db", list[object]()
    summarizer = models.Scripted("It went well. " * 20)
    policy = cf.recipes.balanced(summarizer=summarizer)
    hooks = {name: lambda *given: told.append(given) for name in ("on_fold", "on_unfold", "on_progress")}
    with opened(path, policy=policy, **hooks) as session:
        fold = session.thread.fold([2, 3], "They looked around.")
        before, events, next_decision = log_of(tmp_path), session.thread.events, session.preview()
        with caplog.at_level(logging.DEBUG, "contextfold"):
            assert session.preview_fold(to=3_000).folds
            assert session.preview_unfold(fold).shows.messages == (2, 3)
        assert log_of(tmp_path) == before
        assert session.thread.events == events
        assert session.preview() == next_decision
        assert (told, summarizer.asked, caplog.records) == ([], [], [])


def log_of(directory: Path) -> dict[str, bytes]:
    """The bytes of a store, its write-ahead log included."""
    return {each.name: each.read_bytes() for each in directory.iterdir() if not each.name.endswith("-shm")}


def test_a_preview_where_nothing_can_be_folded_says_why(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "store.db", model="gpt-4o") as session:
        session.append({"role": "user", "content": "Hello"})
        preview = session.preview_fold()
    assert (preview.folds, preview.cache, preview.price) == ((), None, None)
    assert preview.before == preview.after
    assert any(attempt.refusal for attempt in preview.attempts)


def test_a_trial_of_a_thread_takes_what_is_said_and_keeps_it_to_itself(session: cf.Session) -> None:
    before, trial = session.thread.events, session.thread.trial()
    seq = trial.append({"role": "user", "content": "What if?"})
    assert trial.message(seq).text == "What if?"
    assert session.thread.events == before
    with pytest.raises(NotFound, match="Fork the thread itself"):
        trial.fork()


def test_the_awaited_twin_tells_the_same(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as session:
        fold = session.thread.fold([2, 3], "They looked around.")
        expected = session.preview_fold(to=3_000), session.preview_unfold(fold)

    async def previews() -> tuple[Preview, Preview]:
        async with await cf.aio.Session.open(tmp_path / "store.db", model="claude-sonnet-4-5") as session:
            return await session.preview_fold(to=3_000), await session.preview_unfold(fold)

    assert asyncio.run(previews()) == expected


def test_an_unfold_that_makes_a_request_smaller_is_never_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as made:
        fold = made.thread.fold([2, 3, 4, 5], "word " * 9_000)
        before = made.preview().used
    with cf.Session.open(tmp_path / "store.db", limit=before // 2) as session:
        preview = session.preview_unfold(fold)
        assert preview.after < preview.before
        session.unfold(fold)
        assert session.preview().used == preview.after


def test_a_refused_unfold_tells_how_much_would_have_come_back(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as made:
        made.fold(to=3_000)
        fold = max(made.folds, key=lambda each: each.before).id
        preview = made.preview_unfold(fold)
    with cf.Session.open(tmp_path / "store.db", limit=6_000) as session, pytest.raises(CannotUnfold) as refused:
        session.unfold(fold)
    assert preview.after - preview.before in refused.value.parts.values()
