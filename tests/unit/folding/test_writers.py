"""Who writes a summary, in which order, and what each class of failure leads to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration, ProviderFailed
from contextfold.folding import Answer, Policy
from contextfold.folding.writers import chain_of, refusal_of, words_of
from contextfold.summaries import Prompt, Refusal
from contextfold.testing import FAULTY, Scripted

from .scene import Scene, user

MODEL = "claude-sonnet-4-5"
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict. " * 10
SIX = """\
1. Previous conversation: The user asked for question after question about the parser.
2. Current work: The parser is being changed.
3. Key technical concepts: The port is 8443 and the flag is --strict.
4. Relevant files and code: src/parse.py
5. Problem solving: Nothing is open.
6. Pending tasks and next steps: Answer the next question."""
FIVE = "\n".join(SIX.splitlines()[:5])


class Named:
    """A summarizer with a model's name, as providers have."""

    def __init__(self, model: str, *answers: str | Exception) -> None:
        self.model, self._said = model, Scripted(*answers)
        self.asked: list[Prompt] = []

    def __call__(self, prompt: Prompt) -> Answer:
        self.asked.append(prompt)
        return Answer(self._said(prompt), "end_turn", self.model, 100, 10, 80, 0.25)

    def of(self, model: str) -> Named | None:
        return Named(model, SIX) if model.startswith("claude") else None


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The report of a session that must fold, with this policy."""
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")

    def fold(policy: Policy, turns: int = 16) -> Any:
        with cf.Session.open(model=MODEL, policy=policy.with_(backoff=0.0)) as session:
            for number in range(turns):
                session.append({"role": "user", "content": f"Question {number}. {SAID}"})
                session.append({"role": "assistant", "content": f"Answer {number}. {SAID}"})
            session.append({"role": "user", "content": "Go on."})
            return session.prepare(max_tokens=500).report

    return fold


def tried(report: Any) -> list[tuple[str, Refusal | None]]:
    return [
        (attempt.model, attempt.refusal) for attempt in report.attempts if attempt.strategy in ("summarizer", "summary")
    ]


@pytest.mark.seed("R4")
def test_a_chain_is_asked_in_order_until_somebody_answers(folded: Callable[..., Any]) -> None:
    first = Named("small", ProviderFailed("no", "auth"))
    report = folded(cf.recipes.summary(summarizer=first).with_(fallback=["small", Named("other", ""), "main"]))
    assert tried(report) == [("small", Refusal.AUTH), ("other", Refusal.EMPTY), (MODEL, None)]
    assert len(first.asked) == 1


@pytest.mark.parametrize(("kind", "asked"), [("transient", 3), ("overflow", 3), ("auth", 1), ("rejected", 1)])
def test_only_what_may_pass_is_tried_again(folded: Callable[..., Any], kind: str, asked: int) -> None:
    writer = Named("small", ProviderFailed("no", kind))
    report = folded(cf.recipes.summary(summarizer=writer))
    assert len(writer.asked) == asked
    assert tried(report)[-1] == ("", None)  # the digest
    sizes = [len(prompt.text) for prompt in writer.asked]
    assert (sizes == sorted(set(sizes), reverse=True)) is (kind == "overflow" or asked == 1)


def test_a_provider_that_asks_for_too_long_a_pause_is_given_up(folded: Callable[..., Any]) -> None:
    writer = Named("small", ProviderFailed("no", "transient", retry_after=3_600))
    folded(cf.recipes.summary(summarizer=writer))
    assert len(writer.asked) == 1


def test_without_a_digest_in_the_chain_the_next_stage_takes_over(folded: Callable[..., Any]) -> None:
    report = folded(cf.recipes.summary(summarizer=Named("small", "")).with_(fallback=[]))
    assert [(each.strategy, each.refusal) for each in report.attempts[:2]] == [
        ("summarizer", Refusal.EMPTY),
        ("summary", Refusal.EMPTY),
    ]
    assert [fold.kind for fold in report.folds] == ["window"]


@pytest.mark.seed("R32")
@pytest.mark.parametrize("fault", FAULTY)
def test_no_answer_that_cannot_stand_does(folded: Callable[..., Any], fault: str) -> None:
    report = folded(cf.recipes.summary(summarizer=FAULTY[fault]()))
    assert report.attempts[0].refusal is not None
    assert report.attempts[0].strategy == "summarizer"
    assert report.folds[0].kind == "summary"


def test_a_summary_costs_what_its_writer_says(folded: Callable[..., Any]) -> None:
    made = folded(cf.recipes.summary(summarizer=Named("small", SIX))).attempts[-1]
    assert (made.model, made.input_tokens, made.output_tokens, made.cache_read, made.cost) == (
        "small",
        100,
        10,
        80,
        0.25,
    )


def test_a_fold_names_who_wrote_its_summary_even_if_that_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")

    def writers(summarizer: Callable[[Prompt], Answer] | None) -> list[object]:
        with cf.Session.open(model=MODEL, policy=cf.recipes.summary(summarizer=summarizer)) as session:
            for number in range(16):
                session.append({"role": "user", "content": f"Question {number}. {SAID}"})
                session.append({"role": "assistant", "content": f"Answer {number}. {SAID}"})
            session.append({"role": "user", "content": "Go on."})
            session.prepare(max_tokens=500)
            return [fold.details.get("writer") for fold in session.thread.folds]

    assert writers(lambda _: Answer(SIX, "end_turn", "free")) == ["free"]
    assert writers(None) == [None]


@pytest.mark.seed("X7")
def test_a_prompt_fits_the_writers_own_window(folded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    roomy = Named("", SIX)
    folded(cf.recipes.summary(summarizer=roomy))
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS__GPT_4O", "3000")
    narrow = Named("gpt-4o", SIX)
    folded(cf.recipes.summary(summarizer=narrow))
    assert len(narrow.asked[0].text) < 0.6 * len(roomy.asked[0].text)


@pytest.mark.seed("D16")
def test_the_summary_of_a_gap_is_free_text_with_a_budget_both_ways() -> None:
    writer = Named("small", SIX)
    said = [{"role": role, "content": f"{n}. {SAID[:160]}"} for n in range(66) for role in ("user", "assistant")]
    said.append({"role": "user", "content": "Go on."})
    report = cf.fit(said, model="gpt-4o", policy=cf.recipes.duckflow(maximum=7_000, summarizer=writer)).report
    assert report.trigger == "ladder-90"
    (asked,) = writer.asked
    assert asked.budget >= 500
    assert 2_000 < len(asked.text) < 40_000  # whole messages, within the model's window
    assert SIX in report.folds[0].text


# -- ledger, sections, time -----------------------------------------------------------------------------------------


def test_the_ledger_adds_only_what_the_model_left_out(folded: Callable[..., Any]) -> None:
    plain = folded(cf.recipes.summary(summarizer=Named("small", SIX))).summary
    report = folded(cf.recipes.summary(summarizer=Named("small", SIX)).with_(ledger=True))
    assert plain == SIX
    assert report.summary.startswith(SIX)
    added = report.summary[len(SIX) :]
    assert "Question 3." in added
    assert "8443" not in added.splitlines()[1]


def test_balanced_keeps_a_ledger() -> None:
    assert cf.recipes.balanced().ledger
    assert not cf.recipes.roo_code().ledger


@pytest.mark.seed("R31")
def test_a_second_pass_asks_for_what_is_missing(folded: Callable[..., Any]) -> None:
    writer = Named("small", FIVE, SIX)
    report = folded(cf.recipes.summary(summarizer=writer).with_(second_pass=True))
    assert len(writer.asked) == 2
    assert "Pending tasks and next steps" in writer.asked[1].text
    assert report.summary == SIX
    made = report.attempts[-1]
    assert (made.input_tokens, made.output_tokens, made.cache_read, made.cost) == (200, 20, 160, 0.5)


def test_a_second_pass_that_fails_leaves_the_first_answer(folded: Callable[..., Any]) -> None:
    writer = Named("small", FIVE, ProviderFailed("no", "transient"))
    report = folded(cf.recipes.summary(summarizer=writer).with_(second_pass=True))
    assert report.summary == FIVE
    assert tried(report) == [("small", Refusal.TRANSIENT), ("small", None)]
    once = Named("small", FIVE)
    folded(cf.recipes.summary(summarizer=once))
    assert len(once.asked) == 1


@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_summarizer_that_takes_too_long_is_left(folded: Callable[..., Any], is_awaited: bool) -> None:
    never = threading.Event()

    def blocks(_prompt: Prompt) -> str:
        never.wait(60)
        return SIX

    async def waits(_prompt: Prompt) -> str:
        await asyncio.Event().wait()
        return SIX

    report = folded(cf.recipes.summary(summarizer=waits if is_awaited else blocks).with_(timeout=0.05))
    assert report.attempts[0].refusal is Refusal.TIMED_OUT
    assert report.folds
    never.set()


async def test_a_plain_session_may_be_used_inside_a_loop(folded: Callable[..., Any]) -> None:
    async def awaited(_prompt: Prompt) -> str:
        await asyncio.sleep(0)
        return SIX

    assert folded(cf.recipes.summary(summarizer=awaited)).summary == SIX


async def test_an_awaited_session_leaves_a_blocking_summarizer_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")
    never = threading.Event()

    def blocks(_prompt: Prompt) -> str:
        never.wait(60)
        return SIX

    policy = cf.recipes.summary(summarizer=blocks).with_(timeout=0.05)
    session = await cf.aio.Session.open(model=MODEL, policy=policy)
    for number in range(30):
        await session.append({"role": "user", "content": f"Question {number}. {SAID}"})
    request = await session.prepare(max_tokens=500)
    assert request.report.attempts[0].refusal is Refusal.TIMED_OUT
    await session.close()
    never.set()


# -- settings -------------------------------------------------------------------------------------------------------


def test_a_chain_may_be_a_list_and_one_name_alone() -> None:
    policy = cf.recipes.balanced()
    assert policy.with_(fallback=["gpt-6-luna", "main"]).fallback == ("gpt-6-luna", "main")
    assert policy.with_(fallback="extractive").fallback == ("extractive",)


@pytest.mark.parametrize("changes", [{"fallback": [""]}, {"fallback": [3]}, {"timeout": 0}, {"retries": -1}])
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration):
        cf.recipes.balanced().with_(**changes)


def test_a_failure_is_told_without_what_a_provider_said() -> None:
    assert words_of(ProviderFailed("anthropic answered 401.", "auth")) == "anthropic answered 401."
    assert words_of(RuntimeError("down")) == "RuntimeError: down"
    assert refusal_of(TimeoutError()) is Refusal.TIMED_OUT
    assert refusal_of(ProviderFailed("x", "broken")) is Refusal.FAILED


def test_an_answer_that_says_nothing_of_its_cost_has_none() -> None:
    answer = Answer("words")
    assert (answer.finish, answer.model) == ("", "")
    assert (answer.input_tokens, answer.output_tokens, answer.cache_read, answer.cost) == (0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("background", "trigger", "asks"),
    [
        (False, "percent", True),
        (True, "percent", False),
        (True, "overflow", False),
        (True, "explicit", True),
        (True, "ahead", True),
    ],
)
def test_with_a_background_only_it_and_whoever_asks_wait_for_a_model(
    background: bool, trigger: str, asks: bool
) -> None:
    policy = Policy("test", (), (), summarizer=lambda _prompt: "", background=background)
    chain = chain_of(policy, Scene([user("hi")]).situation(trigger=trigger))
    assert chain == ((policy.summarizer, "extractive") if asks else ("extractive",))


def test_everybody_is_asked_once_and_the_digest_alone_where_nobody_else_is_named() -> None:
    situation = Scene([user("hi")]).situation()
    policy = Policy("test", (), (), fallback=("a", "main", "a", "extractive", "test"))
    assert chain_of(policy, situation) == ("a", "test", "extractive")
    assert chain_of(policy.with_(fallback=("extractive",)), situation) == ("extractive",)
    assert chain_of(policy.with_(fallback=()), situation) == ("extractive",)
