"""What must hold for every recipe on every history, however nasty: the fifteen invariants of the papers.

Each history goes through each recipe in a window so small that it folds again and again. The names say the invariant.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

import contextfold as cf
from contextfold import dialects, testing
from contextfold.domain import Appended, Logged, Projection, ViewItem, check_view, encode
from contextfold.folding import Policy, budget_for
from contextfold.folding.recipes import RECIPES
from contextfold.logs import MemoryLog
from contextfold.session.desk import LOOSE
from contextfold.testing import histories, nasty

MODEL = "claude-sonnet-4-5"
SEEDS = (0, 2)
SYSTEM = "Rules: keep the tests green; never touch the file called sacred.txt."

Recipe = Callable[[], Policy]
Message = dict[str, object]


@pytest.fixture(params=RECIPES)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return RECIPES[request.param]


@pytest.fixture(params=[*(f"nasty {seed}" for seed in SEEDS), "日本語"])
def history(request: pytest.FixtureRequest) -> list[Message]:
    kind, _, seed = str(request.param).partition(" ")
    if kind == "nasty":
        return list(nasty.history(Random(seed), length=60, dialect="anthropic"))
    return list(histories.session(11, tokens=14_000, language="ja"))


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")
    return 6_000


def turns(session: cf.Session, history: list[Message]) -> Iterator[cf.Request]:
    """Say everything; prepare before each answer."""
    for message in history:
        if message["role"] == "assistant" and something_was_said(session):
            try:
                yield session.prepare(system=SYSTEM, max_tokens=500)
            except cf.CannotFit as error:
                assert_it_really_cannot(error)
        session.append(message)


def seqs_of_messages(session: cf.Session) -> list[int]:
    return [entry.seq for entry in session.thread.events if isinstance(entry.event, Appended)]


def something_was_said(session: cf.Session) -> bool:
    return any(item.shape.role != "system" and not item.shape.is_blank for item in session.view.items)


def assert_it_really_cannot(error: cf.CannotFit) -> None:
    mandatory = sum(size for part, size in error.parts.items() if part != LOOSE)
    assert mandatory > error.limit * 0.9, error.parts


def opened(recipe: Recipe) -> cf.Session:
    """A session whose clock stands still: a thread's frames are made of its name and its birth."""
    return cf.Session.on(cf.Store(MemoryLog(), clock=lambda: 0.0), "t", MODEL, recipe(), owns_store=True)


def test_1_and_11_nothing_is_lost_and_everything_hidden_can_be_recalled(recipe: Recipe, history: list[Message]) -> None:
    with opened(recipe) as session:
        for _ in turns(session, history):
            pass
        said = seqs_of_messages(session)
        assert [session.thread.message(seq).raw for seq in said] == [encode(message) for message in history]
        shown = {item.seq for item in session.view.items if item.kind == "message"}
        hidden = {encode(history[index]) for index, seq in enumerate(said) if seq not in shown}
        recalled = {
            each.raw for item in session.view.items if item.kind == "stand_in" for each in session.recall(fold=item.seq)
        }
        assert hidden <= recalled


def test_2_3_4_every_request_is_one_its_provider_accepts(recipe: Recipe, history: list[Message]) -> None:
    anthropic = dialects.find("anthropic")
    with opened(recipe) as session:
        for request in turns(session, history):
            assert anthropic.check(request.body) == []
            assert check_view(session.view.items) == []


def test_5_the_rendered_request_fits(recipe: Recipe, history: list[Message], window: int) -> None:
    with opened(recipe) as session:
        for request in turns(session, history):
            counted = cf.count(request.body["messages"], model=MODEL, system=SYSTEM).tokens
            assert counted + 500 <= window


def test_6_pins_system_and_the_live_request_are_always_there(recipe: Recipe, history: list[Message]) -> None:
    rule = {"role": "user", "content": "PINNED: answer in verse."}
    with opened(recipe) as session:
        session.thread.pin(session.append(rule))
        live = "nothing yet"
        for message in history:
            if message["role"] == "assistant" and something_was_said(session):
                try:
                    body = session.prepare(system=SYSTEM, max_tokens=500).json
                except cf.CannotFit as error:
                    assert_it_really_cannot(error)
                else:
                    assert b"PINNED: answer in verse." in body
                    assert SYSTEM.encode() in body
                    assert live.encode() in body or live == "nothing yet"
            session.append(message)
            if message["role"] == "user" and isinstance(message["content"], str) and message["content"].isascii():
                words = message["content"].strip()
                live = words[:40] if words.isprintable() and '"' not in words and "\\" not in words and words else live
            elif message["role"] == "user":
                live = "nothing yet"


def test_7_the_same_history_gives_the_same_bytes_and_fitting_twice_changes_nothing(
    recipe: Recipe, history: list[Message]
) -> None:
    def bodies() -> list[bytes]:
        with opened(recipe) as session:
            return [request.json for request in turns(session, history)]

    with opened(recipe) as session:
        for request in turns(session, history):
            assert session.prepare(system=SYSTEM, max_tokens=500).json == request.json
    assert bodies() == bodies()


def test_8_each_fold_makes_the_view_smaller(recipe: Recipe, history: list[Message]) -> None:
    with opened(recipe) as session:
        for request in turns(session, history):
            report = request.report
            assert sum(fold.after for fold in report.folds) <= sum(fold.before for fold in report.folds)
            assert len(report.attempts) <= 40
            if report.folds:
                assert report.after < report.before


def test_9_undoing_every_fold_gives_the_history_back(recipe: Recipe, history: list[Message]) -> None:
    with opened(recipe) as session:
        for _ in turns(session, history):
            pass
        for fold in reversed(session.folds):
            session.thread.unfold(fold.id)
        kept = [item for item in session.view.items if item.kind == "message"]
        assert [session.thread.message(item.seq).raw for item in kept] == [encode(message) for message in history]
        assert replayed(session.thread.events) == [(item.kind, item.seq) for item in session.view.items]


def replayed(events: Sequence[Logged]) -> list[tuple[str, int]]:
    """The view by a projection that sees all events at once, from scratch."""
    projection = Projection()
    for entry in events:
        projection.take(entry)

    class Blind:
        def weigh(self, _item: object) -> int:
            return 0

        def read(self, item: object) -> cf.Message:
            raise NotImplementedError

        def unread(self, item: object) -> Callable[[], cf.Message]:
            raise NotImplementedError

        def size(self, item: object) -> int:
            raise NotImplementedError

        def count(self, tokens: int, size: int, images: int) -> cf.Count:
            raise NotImplementedError

    return [(item.kind, item.seq) for item in projection.view(Blind()).items]


def test_10_appending_changes_only_the_end(recipe: Recipe, history: list[Message]) -> None:
    with opened(recipe) as session:
        before: list[ViewItem] = []
        folds = 0
        for message in history:
            session.append(message)
            now = list(session.view.items)
            if len(session.folds) == folds:
                assert now[: len(before)] == before
            before, folds = now, len(session.folds)
            if message["role"] == "user" and something_was_said(session):
                try:
                    session.prepare(system=SYSTEM, max_tokens=500)
                except cf.CannotFit as error:
                    assert_it_really_cannot(error)
                before, folds = list(session.view.items), len(session.folds)


FAULTS: dict[str, Callable[[], testing.models.Scripted]] = {
    "raises": testing.models.raising,
    "times out": testing.models.timing_out,
    "says nothing": testing.models.saying_nothing,
    "is cut off": testing.models.cut_off,
    "refuses": testing.models.refusing,
    "calls a tool": testing.models.calling_a_tool,
    "is too long": testing.models.too_long,
    "speaks another language": testing.models.in_the_wrong_language,
    "repeats its instructions": testing.models.repeating_its_instructions,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", [name for name in RECIPES if name != "sliding_window"])
def test_13_a_summarizer_that_fails_leaves_history_and_a_valid_view(name: str, fault: str) -> None:
    model = FAULTS[fault]()
    policy = RECIPES[name](summarizer=model)
    history = list(histories.session(4, tokens=10_000, language="en"))
    with cf.Session.open(model=MODEL, policy=policy) as session:
        refused = 0
        for request in turns(session, history):
            assert dialects.find("anthropic").check(request.body) == []
            refused += sum(attempt.strategy == "summarizer" for attempt in request.report.attempts)
        said = seqs_of_messages(session)
        assert [session.thread.message(seq).raw for seq in said] == [encode(message) for message in history]
        assert refused == model.calls
        assert model.calls <= policy.breaker or name == "duckflow"


@pytest.mark.parametrize("window", [1_000, 2_000, 8_192, 16_000, 32_000, 200_000, 1_000_000, 2_000_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.25, 0.5, 1.0])
def test_15_any_window_and_answer_give_a_sane_decision(
    window: int, share: float, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5", str(window))
    output = max(1, int(window * share))
    budget = budget_for(cf.model(MODEL), output=output)
    assert 0 < budget.reserve < window
    assert budget.usable > 0
    with opened(recipe) as session:
        session.append({"role": "user", "content": "hello"})
        assert not session.will_fold
        assert session.prepare(max_tokens=output).report.folds == ()
