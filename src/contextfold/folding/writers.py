"""Who writes a summary: the policy's summarizer, then those it falls back to, and what each failure leads to.

Overloaded or out of reach: the same one again, a little later. Larger than its window: the same one with less. Anything
else, refused answers too: the next one. Whoever is asked ends in the report, with the reason and the cost. The embedded
digest needs no model and does not fail; it takes its time, so that it is made aside, while others have the thread.
Nothing here knows a provider; names are found by whoever carries effects out.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import Counter, View
from contextfold.errors import ProviderFailed
from contextfold.models import find
from contextfold.summaries import (
    Notebook,
    OutOfTime,
    Prompt,
    Refusal,
    Rest,
    Shared,
    Stopwatch,
    SummaryRequest,
    check,
    closing_request,
    digest,
    ledger,
    missing_sections,
    prompt,
    quick_digest,
    second_pass,
    unlike_digest,
)

from .plan import Plan, PlannedFold, Situation, hidden
from .policy import Answer, Policy, Writer
from .steps import Attempt, Made, Steps, summarize, wait, worked_out

EXTRACTIVE, MAIN = "extractive", "main"
Told: TypeAlias = tuple[str, int, int, int, float]  # of a summary: model, input, output, read from cache, USD

_REFUSALS = {"auth": Refusal.AUTH, "overflow": Refusal.OVERFLOW, "transient": Refusal.TRANSIENT}
_AROUND = 1_000  # tokens of a summarizer's window that neither its prompt nor its answer may use
_MOST_SHRINKS = 2
_LONGEST_PAUSE = 30.0  # seconds; a provider that asks for more is given up for now


class Breaker:
    """How often all summarizers together failed in a row; after so many failures they are left alone."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures

    def failed(self) -> None:
        self.failures += 1

    def worked(self) -> None:
        self.failures = 0


class Summarizable(Protocol):
    """A thread that is only looked at, as whoever writes a summary needs it."""

    @property
    def breaker(self) -> Breaker: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def counter(self) -> Counter: ...

    def view(self) -> View: ...


class Unwritten(Exception):
    """Nobody could write the summary that a plan asked for."""

    def __init__(self, refusal: Refusal, error: str = "") -> None:
        self.refusal, self.error = refusal, error


class _Task(Struct, frozen=True):
    """One summary to be written."""

    request: SummaryRequest
    situation: Situation
    policy: Policy
    hidden: int  # raw tokens that it would stand for
    notebook: Notebook | None
    attempts: list[Attempt]

    def note(self, refusal: Refusal, error: str, writer: Writer, answer: Answer | None = None) -> None:
        told = cost_of(answer) if answer is not None else (model_of(writer), 0, 0, 0, 0.0)
        self.attempts.append(Attempt("summarizer", (), refusal, error, *told))


def texts_of(desk: Summarizable, plan: Plan, situation: Situation, made: Made) -> Steps[tuple[list[str], Told]]:
    """The summary each fold asked for, and what they cost together."""
    texts: list[str] = []
    told: Told = ("", 0, 0, 0, 0.0)
    for planned in plan.folds:
        if planned.summary is None:
            texts.append("")
            continue
        text, answer = yield from _summary(desk, planned.summary, planned, situation, made)
        texts.append(text)
        if answer is not None:
            model, *numbers = cost_of(answer)
            told = (model, *(old + new for old, new in zip(told[1:], numbers, strict=True)))  # type: ignore[assignment]
    return texts, told


def cost_of(answer: Answer) -> Told:
    return answer.model, answer.input_tokens, answer.output_tokens, answer.cache_read, answer.cost


def model_of(writer: Writer) -> str:
    """The model behind a writer, where it has a name."""
    name = writer if isinstance(writer, str) else getattr(writer, "model", "")
    return name if isinstance(name, str) else ""


def chain_of(policy: Policy, situation: Situation) -> tuple[Writer, ...]:
    """Everybody who may be asked, in order. In the background's time nobody is waited for but by the background."""
    if policy.background and situation.trigger not in ("explicit", "ahead"):
        return (EXTRACTIVE,)
    chain: list[Writer] = [] if policy.summarizer is None else [policy.summarizer]
    for entry in policy.fallback:
        writer = entry if entry == EXTRACTIVE else _resolved(entry, policy, situation)
        if not any(writer == each or (model_of(writer) and model_of(writer) == model_of(each)) for each in chain):
            chain.append(writer)
    return tuple(chain) if any(writer != EXTRACTIVE for writer in chain) else (EXTRACTIVE,)


def _resolved(entry: Writer, policy: Policy, situation: Situation) -> Writer:
    """A model by name is spoken to as the policy's summarizer is, where that can speak to it."""
    if not isinstance(entry, str):
        return entry
    name, like = situation.model.name if entry == MAIN else entry, getattr(policy.summarizer, "of", None)
    return (like(name) if callable(like) else None) or name


def _summary(
    desk: Summarizable, request: SummaryRequest, planned: PlannedFold, situation: Situation, made: Made
) -> Steps[tuple[str, Answer | None]]:
    """The summary of the first in the chain who can write it, and what it cost where a model wrote it."""
    policy, refusal = desk.policy, Refusal.FAILED
    is_left_alone, has_failed = desk.breaker.failures >= policy.breaker, False
    request = replace(request, prompt=policy.prompt)
    task = _Task(
        request, situation, policy, hidden(desk.counter, desk.view(), planned), planned.notebook, made.attempts
    )
    for writer in chain_of(policy, situation):
        if writer == EXTRACTIVE:
            if has_failed:
                desk.breaker.failed()
            return (yield from worked_out(lambda rest: _digest(task, rest))), None
        if is_left_alone:
            continue
        written = yield from _written(task, writer)
        if not isinstance(written, Refusal):
            desk.breaker.worked()
            return written
        refusal, has_failed = written, True
    if has_failed:
        desk.breaker.failed()
    raise Unwritten(refusal)


def _digest(task: _Task, rest: Rest) -> str:
    """The digest, or a quick one where it took too long, which the report then says."""
    policy, request, count = task.policy, task.request, task.situation.count
    try:
        watch = Stopwatch.on(request, policy.digest_clock, policy.digest_seconds, rest)
        return digest(request, count, watch, task.notebook)
    except OutOfTime:
        error = f"The digest took longer than {policy.digest_seconds:g} s; a quick one stands instead."
        task.attempts.append(Attempt("digest", (), Refusal.TIMED_OUT, error))
        return quick_digest(request, count)


def _written(task: _Task, writer: Writer) -> Steps[tuple[str, Answer] | Refusal]:
    """One writer, as often as its failures allow; the last refusal when it gives nothing that may stand."""
    room, is_shared = _room(task, writer), _can_share(task, writer)
    shrinks, tries = 0, 0
    while True:
        asked, conversation = prompt(task.request, task.situation.count, room), task.situation.conversation
        if is_shared and conversation is not None:
            shared = Shared(conversation.dialect, conversation.body(), closing_request(task.request))
            asked = replace(asked, shared=shared)
        try:
            answer = yield from summarize(writer, asked, task.policy.timeout)
        except Exception as error:  # noqa: BLE001  # whatever a summarizer raises must not end the conversation
            refusal = refusal_of(error)
            task.note(refusal, words_of(error), writer)
            if refusal is Refusal.OVERFLOW and shrinks < _MOST_SHRINKS:
                room, is_shared, shrinks = room if is_shared else room // 2, False, shrinks + 1
                continue
            asked_for = error.retry_after if isinstance(error, ProviderFailed) else None
            pause = task.policy.backoff * 2**tries if asked_for is None else asked_for
            if refusal is Refusal.TRANSIENT and tries < task.policy.retries and pause <= _LONGEST_PAUSE:
                tries += 1
                yield from wait(pause)
                continue
            return refusal
        return (yield from _checked(task, writer, asked, answer))


def _checked(task: _Task, writer: Writer, asked: Prompt, answer: Answer) -> Steps[tuple[str, Answer] | Refusal]:
    problem = _problem(task, answer)
    if problem is not None:
        task.note(problem, "", writer, answer)
        return problem
    missing = missing_sections(answer.text, task.request)
    if missing and task.policy.second_pass and not task.request.prompt:
        answer = yield from _again(task, writer, second_pass(asked, answer.text, missing, task.request), answer)
    return (yield from worked_out(lambda rest: _with_ledger(task, answer.text, rest))), answer


def _again(task: _Task, writer: Writer, asked: Prompt, first: Answer) -> Steps[Answer]:
    """A second answer if it is better than the first, and what both cost."""
    try:
        second = yield from summarize(writer, asked, task.policy.timeout)
    except Exception as error:  # noqa: BLE001  # the first answer may stand
        task.note(refusal_of(error), words_of(error), writer)
        return first
    lacking = [len(missing_sections(each.text, task.request)) for each in (first, second)]
    better = second if _problem(task, second) is None and lacking[1] < lacking[0] else first
    return replace(
        better,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        cache_read=first.cache_read + second.cache_read,
        cost=first.cost + second.cost,
    )


def _problem(task: _Task, answer: Answer) -> Refusal | None:
    return check(answer.text, task.request, task.situation.count, finish=answer.finish, before=task.hidden)


def _with_ledger(task: _Task, text: str, rest: Rest) -> str:
    """Behind what a model wrote stands what it left out, as far as there is room."""
    text = unlike_digest(text)
    if not task.policy.ledger:
        return text
    budget, count = task.request.budget, task.situation.count
    room = max(budget - count(text), budget // 4)
    missing = ledger(replace(task.request, budget=room), count, text, task.notebook, rest)
    return f"{text.rstrip()}\n\n{missing}" if missing else text


# -- what is asked --------------------------------------------------------------------------------------------------


def _room(task: _Task, writer: Writer) -> int:
    """Raw tokens of a prompt: within the window of the model that is spoken to, and within the writer's own."""
    situation, needed = task.situation, task.request.budget + _AROUND
    room = situation.raw(situation.budget.usable) - needed
    name = model_of(writer)
    if name and name != situation.model.name:
        own = find(name)
        room = room if own.assumed else min(room, own.window * 9 // 10 - needed)
    return max(_AROUND, room)


def _can_share(task: _Task, writer: Writer) -> bool:
    """The model that is spoken to may be asked at the end of its own conversation, if the question still fits."""
    conversation, situation = task.situation.conversation, task.situation
    if conversation is None or not conversation.is_shown or model_of(writer) != situation.model.name:
        return False
    return conversation.tokens + _AROUND <= situation.budget.window  # which is of input alone


# -- what went wrong ------------------------------------------------------------------------------------------------


def refusal_of(error: Exception) -> Refusal:
    """The class of a failure, which decides what is done about it."""
    if isinstance(error, ProviderFailed):
        return _REFUSALS.get(error.kind, Refusal.FAILED)
    return Refusal.TIMED_OUT if isinstance(error, TimeoutError) else Refusal.FAILED


_KEY_LIKE = expression(r"[A-Za-z0-9_+/=-]{16,}")


def words_of(error: Exception) -> str:
    """What is told of a failure. Whatever could be a key is left out: libraries repeat the header they sent."""
    if isinstance(error, ProviderFailed):
        return str(error)
    return f"{type(error).__name__}: {_KEY_LIKE.sub('[…]', str(error))}"
