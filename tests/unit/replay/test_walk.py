"""A session through a policy: what would have been sent, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold import transcripts
from contextfold.domain import encode
from contextfold.folding.recipes import RECIPES
from contextfold.replay import RecordedSession, Row, Settings, Walk, full, recorded, walk
from contextfold.replay.recorded_session import DEFAULT_MODEL, sit_down
from contextfold.testing import histories
from tests.unit.replay.recordings import SETTINGS, claude_code, plain


def seated(path: Path) -> RecordedSession:
    (recording,) = transcripts.read(path)
    return sit_down(path.name, recording, 0)


@pytest.fixture
def sitting(tmp_path: Path) -> RecordedSession:
    return seated(plain(tmp_path))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_sends_valid_requests_that_fit_and_loses_nothing(sitting: RecordedSession, recipe: str) -> None:
    row = walk(sitting, RECIPES[recipe](), SETTINGS)
    assert (row.invalid, row.unfit, row.refused, row.lost) == (0, 0, 0, 0)
    assert row.requests == sum(role == "assistant" for role in sitting.roles)
    assert row.folds >= len(row.foldings) > 0
    assert row.peak == max(row.context) <= row.usable < row.window == 9_000
    assert row.tokens == sum(row.context) == row.read + row.written


def test_each_folding_says_where_why_and_how_far(sitting: RecordedSession) -> None:
    row = walk(sitting, RECIPES["sliding_window"](), SETTINGS)
    for folding in row.foldings:
        assert folding.trigger == "limit"
        assert "tokens are used" in folding.reason
        assert folding.before > row.usable >= folding.after
        assert row.context[folding.request - 1] == folding.after
        assert row.places[folding.request - 1] == folding.turn
        assert sitting.roles[folding.turn] == "assistant"


def test_what_is_out_of_view_comes_back_by_the_handles_the_model_sees(sitting: RecordedSession) -> None:
    for recipe in ("balanced", "sliding_window"):
        row = walk(sitting, RECIPES[recipe](), SETTINGS)
        assert row.recallable.of > 0
        assert row.recallable.kept == row.recallable.of


def test_the_cache_is_read_as_far_as_the_bytes_before_are_the_same(sitting: RecordedSession) -> None:
    """Prepared once more by hand: a request breaks the prefix when the one before is not its beginning."""
    sent = list(_sent(sitting))
    broken = [new for old, new in pairwise(sent) if new[: len(old)] != old]
    row = walk(sitting, RECIPES["balanced"](), SETTINGS)
    assert row.breaks == len(broken) == len(row.foldings)


def _sent(sitting: RecordedSession) -> Iterator[list[bytes]]:
    def after(state: Walk, place: int) -> None:
        request = state.desk.requests.newest
        if request is None and place + 1 < len(sitting.turns) and sitting.roles[place + 1] == "assistant":
            requests.append([encode(message) for message in _body(state)])

    def _body(state: Walk) -> list[dict[str, object]]:
        messages: list[dict[str, object]] = state.session.prepare(system=sitting.system or None).body["messages"]
        return messages

    requests: list[list[bytes]] = []
    walk(sitting, RECIPES["balanced"](), SETTINGS, after=after)
    return iter(requests)


@pytest.mark.finding("Q7")
def test_a_full_history_is_summarized_when_it_no_longer_fits_and_pays_for_that(sitting: RecordedSession) -> None:
    row = full(sitting, SETTINGS)
    assert (row.kind, row.invalid, row.unfit, row.refused, row.lost) == ("full", 0, 0, 0, 0)
    assert row.folds >= row.calls > 0
    assert row.cost is not None
    assert row.cost.summaries > 0
    for folding in row.foldings:
        assert folding.before > row.usable
    roomy = full(sitting, replace(SETTINGS, window=200_000))
    assert (roomy.folds, roomy.calls, roomy.breaks) == (0, 0, 0)
    assert list(roomy.context) == sorted(roomy.context)


@pytest.mark.finding("Q7")
def test_a_pause_in_the_recording_is_a_pause_for_the_policy(tmp_path: Path) -> None:
    """By the recording's clock the cache is cold after each pause, so that folding pays earlier."""
    times: list[float] = []

    def after(state: Walk, _: int) -> None:
        times.append(state.desk.now())

    sitting = seated(claude_code(tmp_path, pause=600.0, compacted=False))
    row = walk(sitting, RECIPES["balanced"](), SETTINGS, after=after)
    assert times == [turn.at for turn in sitting.turns]
    assert row.read == 0


@pytest.mark.finding("N6")
def test_what_the_client_sent_and_no_log_shows_is_in_every_request(tmp_path: Path) -> None:
    sitting = seated(claude_code(tmp_path, compacted=False))
    said = cf.count([sitting.turns[0].raw], model=sitting.model).tokens
    assert sitting.unseen == 1_203 - said > 0
    row, whole = walk(sitting, RECIPES["balanced"](), SETTINGS), full(sitting, SETTINGS)
    assert row.unseen == whole.unseen == sitting.unseen
    assert abs(row.context[0] - 1_203) <= 3
    assert row.context[0] == whole.context[0]
    assert row.peak <= row.usable
    small = walk(sitting, RECIPES["balanced"](), replace(SETTINGS, window=2_000))
    assert small.unseen == min(sitting.unseen, 1_000)


@pytest.mark.finding("N6")
def test_what_the_log_billed_stands_beside_what_was_simulated(tmp_path: Path) -> None:
    sitting = seated(claude_code(tmp_path))
    row = walk(sitting, RECIPES["balanced"](), SETTINGS)
    assert (row.bills, row.billed) == (row.requests, 1_203 * row.requests)
    prices = cf.model("claude-sonnet-4-5").prices
    assert prices is not None
    once = 3 * prices.input + 1_000 * prices.read + 200 * prices.write + 50 * prices.output
    assert row.paid is not None
    assert row.paid.total == pytest.approx(row.bills * once / 1e6)


@pytest.mark.finding("N6")
@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_that_ask_a_model_pay_for_it(sitting: RecordedSession, recipe: str) -> None:
    row = walk(sitting, RECIPES[recipe](), SETTINGS)
    summaries = sum(folding.kinds.get("summary", 0) for folding in row.foldings)
    asks = recipe in ("roo_code", "claude_code", "summary", "hybrid")
    assert row.calls == (summaries if asks else 0)
    assert row.cost is not None
    assert (row.cost.summaries > 0) == (row.calls > 0)


def test_the_products_own_compactions_are_a_row(tmp_path: Path) -> None:
    sitting = seated(claude_code(tmp_path))
    row = recorded(sitting, SETTINGS)
    assert (row.kind, row.folds, len(row.foldings), row.invalid, row.lost) == ("recorded", 1, 1, 0, 0)
    (folding,) = row.foldings
    assert folding.trigger == "auto"
    assert folding.after - row.unseen < 200 < 4_000 < folding.before
    assert folding.retained is not None
    assert folding.retained.strict.kept < folding.retained.strict.of
    assert row.recallable.kept == 0 < row.recallable.of  # its summary names no way back
    assert row.billed == 1_203 * row.requests


@pytest.mark.finding("N6")
def test_where_the_product_compacted_nothing_it_sent_everything(sitting: RecordedSession) -> None:
    row = recorded(sitting, SETTINGS)
    assert (row.folds, row.calls, row.breaks, row.requests) == (0, 0, 0, full(sitting, SETTINGS).requests)
    assert list(row.context) == sorted(row.context)
    assert row.peak > row.window


def test_folds_after_the_products_own_compaction_are_not_judged(tmp_path: Path) -> None:
    """There the agent itself no longer had everything, so that what it used says little."""
    untouched = seated(claude_code(tmp_path, "untouched.jsonl", compacted=False))
    row = walk(untouched, RECIPES["sliding_window"](), SETTINGS)
    kept = row.foldings[-1].retained
    assert kept is not None
    assert kept.strict.of - kept.strict.kept >= 6  # the names of the beginning are out of the window
    assert kept.imperatives.kept < kept.imperatives.of
    sitting = seated(claude_code(tmp_path))
    (compacted,) = sitting.compacted
    assert row.foldings[-1].turn > compacted
    assert walk(sitting, RECIPES["sliding_window"](), SETTINGS).foldings[-1].retained is None


def test_a_digest_keeps_what_a_window_loses(tmp_path: Path) -> None:
    sitting = seated(claude_code(tmp_path, compacted=False))
    window, digest = (walk(sitting, RECIPES[name](), SETTINGS).retained for name in ("sliding_window", "balanced"))
    assert (digest.grounded.value or 0) > (window.grounded.value or 0)
    assert (digest.imperatives.value or 0) > (window.imperatives.value or 0)


def test_a_session_is_replayed_for_the_model_it_was_recorded_with(tmp_path: Path) -> None:
    own = Settings(policies=("balanced",))
    assert walk(seated(claude_code(tmp_path)), RECIPES["balanced"](), own).model == "claude-sonnet-4-5-20250929"
    unnamed = walk(seated(plain(tmp_path)), RECIPES["balanced"](), own)
    assert unnamed.model == DEFAULT_MODEL
    assert unnamed.window == cf.model(DEFAULT_MODEL).window


def test_a_window_too_small_for_what_must_stay_is_told_not_sent(sitting: RecordedSession) -> None:
    row = walk(sitting, RECIPES["balanced"](), Settings(policies=("balanced",), window=600, model="gpt-4o"))
    assert row.refused > 0
    assert (row.invalid, row.unfit, row.lost) == (0, 0, 0)
    assert row.requests + row.refused == sum(role == "assistant" for role in sitting.roles)


def test_a_replay_may_keep_its_thread(sitting: RecordedSession, tmp_path: Path) -> None:
    row = walk(sitting, RECIPES["balanced"](), SETTINGS, store=tmp_path / "kept.db", thread="kept")
    with cf.open(tmp_path / "kept.db") as store:
        assert store.verify() == []
        assert len(store.thread("kept").folds) <= row.folds
        assert [entry.name for entry in store.threads()] == ["kept"]


def test_nothing_asked_means_no_request(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(encode({"role": "user", "content": "hello"}) + b"\n")
    row: Row = full(seated(path), SETTINGS)
    assert (row.requests, row.tokens, row.context) == (0, 0, ())


def test_tools_a_caller_knows_are_part_of_each_request(sitting: RecordedSession) -> None:
    tools = tuple(histories.tools())
    with_tools = RecordedSession(
        sitting.file, sitting.name, 0, sitting.format, sitting.system, sitting.turns, tools=tools
    )
    assert full(with_tools, SETTINGS).context[0] > full(sitting, SETTINGS).context[0] + 100


@pytest.mark.finding("P10")
def test_what_is_read_again_at_a_fold_is_bounded(sitting: RecordedSession) -> None:
    """However long a session is, what a fold is judged by is its newest two million characters."""
    notes = sitting.notes
    whole = "\n".join(note.said for note in notes.all)
    assert notes.said_before(len(notes.all)) == whole
    short = notes.said_before(len(notes.all), most=1_000)
    assert whole.endswith(short)
    assert 1_000 <= len(short) < len(whole) / 2
