"""Every request that was ever sent is rebuilt byte for byte: on generated sessions, and on recorded ones."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Folded, Sent
from contextfold.errors import ContextFoldError
from contextfold.inspector.request_history import Requests
from contextfold.inspector.request_page import shown_request
from contextfold.testing import histories, nasty
from contextfold.transcripts import read
from tests.conftest import SOAK

MODELS = {
    "anthropic": ("claude-sonnet-4-5", "claude-opus-4-8"),
    "openai-chat": ("gpt-4.1", "deepseek-reasoner"),
    "openai-responses": ("gpt-5.5",),
    "gemini": ("gemini-2.5-pro", "gemini-3-pro"),
}
MODEL_OF = {"claude-code": "claude-sonnet-4-5", "codex": "gpt-5.5", "pi": "claude-opus-4-8"}
MOST = 120 if SOAK == 1 else 250  # messages of a recorded session
SYSTEMS = (None, "Keep the tests green.", "Never touch sacred.txt. " * 30)
SETTINGS: Sequence[dict[str, Any]] = ({}, {"stream": True}, {"metadata": {"user": "ü"}}, {"cache": True})


class Sender:
    """Says a history, prepares now and then, goes back now and then; keeps what was sent beside the log."""

    def __init__(self, session: cf.Session, random: Random) -> None:
        self.session, self.random = session, random
        self.sent: list[cf.Request] = []
        self.pending: cf.Request | None = None

    def say(self, message: object) -> None:
        if self.random.random() < 0.5:
            self.prepare()
        try:
            seq = self.session.append(message)
        except ContextFoldError:
            return
        if self.session.thread.message(seq).role == "assistant":
            self.pending = None
        if self.random.random() < 0.05:
            self.travel(seq)

    def prepare(self) -> None:
        chosen = self.random.choice
        try:
            request = self.session.prepare(
                system=chosen(SYSTEMS), tools=chosen([None, histories.tools()]), max_tokens=500, **chosen(SETTINGS)
            )
        except ContextFoldError:
            return
        if self.pending is not None and self.pending.json == request.json:
            self.sent.pop()  # the same again, perhaps from another place
        self.sent.append(request)
        self.pending = request

    def travel(self, seq: int) -> None:
        if self.session.folds and self.random.random() < 0.5:
            try:
                self.session.unfold(self.session.folds[-1].id, make_room=True)
            except ContextFoldError:
                return
        else:
            self.session.rewind(before=seq)
        self.pending = None


def assert_rebuilt(session: cf.Session, sent: Sequence[cf.Request]) -> None:
    session.desk.leave()
    seqs = [each.seq for each in session.thread.events if isinstance(each.event, Sent)]
    rebuilt = [session.request_at(seq) for seq in seqs]
    assert sorted((each.json, each.head) for each in rebuilt) == sorted((each.json, each.head) for each in sent)
    told = {(each.json, each.head): (each.parts, each.betas) for each in sent}
    for past in rebuilt:
        assert (past.parts, past.betas) == told[past.json, past.head]
        body = past.body
        messages = next(body[name] for name in ("messages", "input", "contents") if name in body)
        assert len(past.parts) == len(messages)


def assert_shown(session: cf.Session) -> None:
    """The page about a request tells its parts, and of everything said that it was sent, or what hid it."""
    requests = Requests(session.thread)
    for number in range(1, requests.history(0).total + 1, 40):
        request = requests.numbered(number)
        shown = shown_request(session, requests, request)
        past = session.request_at(request.seq)
        assert shown.is_exact
        assert [(part.seq, part.kind) for part in shown.parts] == [(part.seq, part.kind) for part in past.parts]
        hidden = [run for run in shown.history if run.fate == "folded"]
        assert all(run.fold is not None for run in hidden)
        assert sum(run.tokens for run in hidden) == sum(each.tokens for each in shown.left_out)
        sent = {part.seq for part in past.parts if part.kind == "message"}
        assert sent <= {run.first for run in shown.history if run.fate != "folded"}


def talked(model: str, history: Iterable[object], random: Random, window: int) -> tuple[cf.Session, list[cf.Request]]:
    session = cf.Session.open(model=model, window=window)
    sender = Sender(session, random)
    for message in history:
        sender.say(message)
    return session, sender.sent


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dialect", "model"), [(name, model) for name, models in MODELS.items() for model in models])
def test_every_request_of_a_generated_session_is_rebuilt(dialect: str, model: str, seed: int) -> None:
    random = Random(f"{dialect} {model} {seed}")
    history = nasty.history(random, length=60, dialect=dialect)  # type: ignore[arg-type]  # a name of ours
    session, sent = talked(model, history, random, 12_000)
    assert len(sent) > 5
    assert_rebuilt(session, sent)


def test_every_request_of_ten_recorded_sessions_is_rebuilt(shared_data: Path) -> None:
    random = Random("recorded")
    found = sorted(path for kind in MODEL_OF for path in (shared_data / kind).rglob("*.jsonl*"))
    sampled = random.sample([path for path in found if 20_000 < path.stat().st_size < 2_000_000], 10)
    requests = folds = 0
    for path in sampled:
        model = MODEL_OF[path.relative_to(shared_data).parts[0]]
        messages = [turn.raw for recording in read(path) for turn in recording.turns][:MOST]
        session, sent = talked(model, messages, random, 24_000)
        assert_rebuilt(session, sent)
        assert_shown(session)
        requests += len(sent)
        folds += len([each for each in session.thread.events if isinstance(each.event, Folded)])
    assert requests > 100
    assert folds > 10
