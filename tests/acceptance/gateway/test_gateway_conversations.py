"""How requests of one conversation relate, as real clients send them: growth, resumption, forks, edits, side calls."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import find
from contextfold.dialects.endpoint import AskedTurn
from contextfold.domain import Appended, Folded, Measured, Rewound
from contextfold.gateway import ClientPolicy, GatewaySettings
from contextfold.gateway.door import Visit
from contextfold.gateway.families import Asking
from contextfold.gateway.ledger import Ledger
from contextfold.gateway.recognition import OLD_START
from contextfold.gateway.tenants import space_of
from contextfold.gateway.turns import BusyThread, OpenTurn
from contextfold.session import Session
from tests.acceptance.gateway.house import SECRETS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream

KEY = "sk-tenant-one"
SESSION = {"x-claude-code-session-id": "5f0c3b1e"}
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
SUMMARY = "The user sent long texts and asked to keep their numbers. The port is 8443. " * 6
LONG = "alpha beta gamma delta epsilon " * 150

Message = dict[str, Any]


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture
def house(tmp_path: Path, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000) as house:
        yield house


def user(text: str, **block: Any) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text, **block}] if block else text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def called(number: int) -> list[Message]:
    """A call and its result."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"n": number}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number}: {LONG}"}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


class Client:
    """A client that sends what it is told to, and what it is answered."""

    def __init__(self, house: House, upstream: PlainUpstream, headers: dict[str, str] | None = None) -> None:
        self._house, self._upstream, self._headers = house, upstream, headers or {}
        self.key = KEY

    def ask(self, messages: list[Message], answer: str = "Done.", **fields: Any) -> Message:
        """Send a history; the answer as the client keeps it."""
        said = {"id": "msg", "type": "message", "role": "assistant", "content": assistant(answer)["content"]}
        said |= {"model": "claude-sonnet-5-5", "stop_reason": "end_turn"}
        self._upstream.answer(Answer([json.dumps(said).encode()]))
        body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages, "tools": TOOLS, **fields}
        reply = web().post(
            f"{self._house.url}/v1/messages", json=body, headers={**self._headers, "x-api-key": self.key}
        )
        assert reply.status_code == 200, reply.text
        self._house.settle()
        return assistant(answer)

    @property
    def forwarded(self) -> list[Message]:
        messages: list[Message] = json.loads(self._upstream.arrived[-1].body)["messages"]
        return messages


def count(house: House, kind: type, key: str = KEY) -> int:
    """How many events of a kind there are, in all threads."""
    with house.store(key) as store:
        names = [row.title for row in store.threads()]
        return sum(isinstance(entry.event, kind) for name in names for entry in store.thread(name).events)


def test_moving_marks_and_blocks_that_become_strings_are_growth(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, SESSION)
    mark = {"cache_control": {"type": "ephemeral"}}
    first = client.ask([user("One.", **mark)])
    second = client.ask([user("One."), first, user("Two.", **mark)])
    client.ask([user("One."), first, {"role": "user", "content": "Two."}, second, user("Three.", **mark)])
    (messages,) = house.threads(KEY).values()
    assert len(messages) == 6
    assert count(house, Rewound) == 0


def reminded(day: str, words: str = "Be brief.") -> Message:
    return user(f"<system-reminder>\n{words}\nToday's date is {day}.\n</system-reminder>One.")


def test_a_date_that_a_known_client_renews_is_growth(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, SESSION)
    first = client.ask([reminded("2026-11-17")])
    client.ask([reminded("2026-11-18"), first, user("Two.")])
    assert len(house.threads(KEY)) == 1
    assert count(house, Rewound) == 0


def test_a_reminder_that_a_known_client_renews_is_a_branch_of_its_thread(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, SESSION)
    first = client.ask([reminded("2026-11-17")])
    client.ask([reminded("2026-11-17", "Be thorough."), first, user("Two.")])
    (messages,) = house.threads(KEY).values()
    assert messages[0] == reminded("2026-11-17", "Be thorough.")


@pytest.mark.finding("K9")
def test_what_a_program_writes_into_tags_of_other_clients_is_its_own_words(
    house: House, upstream: PlainUpstream
) -> None:
    client = Client(house, upstream)
    first = client.ask([reminded("2026-11-17")])
    client.ask([reminded("2026-11-18"), first, user("Two.")])
    assert [len(messages) for messages in house.threads(KEY).values()] == [2, 4]


def test_a_conversation_that_was_kept_under_keys_of_the_old_kind_goes_on(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    """Stores of earlier versions numbered prefixes without reminders and dates."""
    history = [reminded("2026-11-17"), assistant("Done."), user("Two."), assistant("Done.")]
    space = space_of(Visit("POST", b"/", b"", ((b"x-api-key", KEY.encode()),)), SECRETS.tenant_key)
    with cf.open(tmp_path / "store.db", space=space) as store:
        session = Session.on(store, "claude-code/5f0c3b1e", "claude-sonnet-5-5", dialect="anthropic")
        for at, message in enumerate(history):
            session.append(message, key=f"{OLD_START}{at:032}", dialect="anthropic")
    with gateway(tmp_path / "store.db", upstream.url, window=20_000) as house:
        Client(house, upstream, SESSION).ask([*history, user("Three.")])
        assert list(house.threads(KEY).values()) == [[*history, user("Three."), assistant("Done.")]]
        assert count(house, Rewound) == 0


def test_a_retry_writes_nothing_twice(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream)
    client.ask([user("One.")])
    client.ask([user("One.")])
    (messages,) = house.threads(KEY).values()
    assert len(messages) == 2


def test_a_conversation_goes_on_after_gateway_and_client_restarted(tmp_path: Path, upstream: PlainUpstream) -> None:
    history: list[Message] = []
    for turn in range(12):
        with gateway(tmp_path / "store.db", upstream.url, window=20_000) as house:
            client = Client(house, upstream)
            history.append(user(f"Turn {turn}. {LONG} {LONG}"))
            history.append(client.ask(history, f"Answer {turn}."))
    with gateway(tmp_path / "store.db", upstream.url, window=20_000) as house:
        (messages,) = house.threads(KEY).values()
        assert messages == history
        assert count(house, Rewound) == 0
        assert count(house, Folded) >= 1


def test_a_system_prompt_that_changes_on_resume_is_the_same_thread(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, SESSION)
    first = client.ask([user("One.")], system="You are Sonnet.")
    client.ask([user("One."), first, user("Two.")], system="You are Opus.", tools=[])
    assert len(house.threads(KEY)) == 1


def test_going_back_in_the_client_is_another_branch_and_so_is_returning(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream)
    first = client.ask([user("One.")], "A.")
    second = client.ask([user("One."), first, user("Two.")], "B.")
    client.ask([user("One."), first, user("Instead of two.")], "C.")
    (messages,) = house.threads(KEY).values()
    assert [each["role"] for each in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[2] == user("Instead of two.")
    client.ask([user("One."), first, user("Two."), second, user("Three.")], "D.")
    (messages,) = house.threads(KEY).values()
    assert messages == [user("One."), first, user("Two."), second, user("Three."), assistant("D.")]


def test_an_answer_that_the_client_dropped_is_left_and_stays_in_the_log(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream)
    client.ask([user("One.")], "No call in here.")
    client.ask([user("One. You must call a tool.")], "Sorry.")
    client.ask([user("One. You must call a tool."), assistant("Sorry."), user("Go on.")])
    assert any(len(messages) == 4 for messages in house.threads(KEY).values())


def test_a_constant_reminder_that_moves_to_the_end_keeps_one_thread(house: House, upstream: PlainUpstream) -> None:
    client, reminder = Client(house, upstream), user("Answer in diffs only.")
    first = client.ask([user("One."), reminder], "A.")
    second = client.ask([user("One."), first, user("Two."), reminder], "B.")
    client.ask([user("One."), first, user("Two."), second, user("Three."), reminder], "C.")
    (messages,) = house.threads(KEY).values()
    assert messages == [user("One."), first, user("Two."), second, user("Three."), reminder, assistant("C.")]


@pytest.mark.parametrize("headers", [SESSION, {}])
def test_an_edited_early_message_is_the_same_thread_and_folds_apply_again(
    house: House, upstream: PlainUpstream, headers: dict[str, str]
) -> None:
    client = Client(house, upstream, headers)
    history = [user("Begin.")]
    for number in range(18):
        history += called(number)
        client.ask(history, f"Step {number}.")
    history += [assistant("Step 17."), user("And now?")]
    client.ask(history)
    folded = client.forwarded
    assert folded != history
    edited = [user("Begin otherwise."), *history[1:]]
    client.ask(edited)
    (messages,) = house.threads(KEY).values()
    assert messages[0] == user("Begin otherwise.")
    assert client.forwarded[0] == user("Begin otherwise.")
    assert client.forwarded[1:] == folded[1:]


def test_a_title_call_is_kept_apart_and_never_folded(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, SESSION)
    first = client.ask([user("One.")])
    form = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    client.ask([user(f"Write a title. {LONG * 8}")], "Title", tools=[], output_config=form)
    client.ask([user("One."), first, user("Two.")])
    threads = house.threads(KEY)
    assert set(threads) == {"claude-code/5f0c3b1e", "claude-code/5f0c3b1e/aside"}
    assert len(threads["claude-code/5f0c3b1e"]) == 4


def test_a_lone_question_without_tools_under_a_known_id_is_kept_apart(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream, {"x-session-id": "ses_1"})
    client.ask([user("One.")])
    client.ask([user("Generate a title for this conversation.")], tools=[])
    assert set(house.threads(KEY)) == {"opencode/ses_1", "opencode/ses_1/aside"}


def test_a_sub_agent_has_a_thread_of_its_own(house: House, upstream: PlainUpstream) -> None:
    main = Client(house, upstream, SESSION)
    sub = Client(house, upstream, {**SESSION, "x-claude-code-agent-id": "agent-7"})
    first = main.ask([user("One.")])
    inner = sub.ask([user("Search for it.")])
    sub.ask([user("Search for it."), inner, user("Go on.")])
    main.ask([user("One."), first, user("Two.")])
    threads = house.threads(KEY)
    assert set(threads) == {"claude-code/5f0c3b1e", "claude-code/5f0c3b1e.agent-7"}
    assert {len(messages) for messages in threads.values()} == {4}


def test_a_forked_session_with_a_new_id_is_a_thread_of_its_own(house: House, upstream: PlainUpstream) -> None:
    first = Client(house, upstream, SESSION).ask([user("One.")])
    Client(house, upstream, {"x-claude-code-session-id": "other"}).ask([user("One."), first, user("Two.")])
    assert set(house.threads(KEY)) == {"claude-code/5f0c3b1e", "claude-code/other"}


def test_a_clients_own_compaction_passes_and_its_summary_is_kept_as_a_fold(
    house: House, upstream: PlainUpstream
) -> None:
    client = Client(house, upstream, SESSION)
    first = client.ask([user("One.")])
    wish = user("CRITICAL: Respond with TEXT ONLY. Summarize the conversation.")
    client.ask([user("One."), first, wish], "They said one.")
    assert client.forwarded == [user("One."), first, wish]
    client.ask([user("This session is continued. They said one."), user("Two.")])
    with house.store(KEY) as store:
        (fold,) = store.thread("claude-code/5f0c3b1e").folds
    assert fold.stand_in.text == "They said one."
    assert set(house.threads(KEY)) == {"claude-code/5f0c3b1e", "claude-code/5f0c3b1e/2"}
    client.ask([user("One."), first, user("Back again.")])
    assert client.forwarded == [user("One."), first, user("Back again.")]


def test_equal_conversations_of_two_tenants_never_meet(house: House, upstream: PlainUpstream) -> None:
    one, two = Client(house, upstream), Client(house, upstream)
    two.key = "sk-tenant-two"
    first = one.ask([user("One.")])
    two.ask([user("One.")])
    one.ask([user("One."), first, user("Two.")])
    assert [len(each) for each in house.threads(KEY).values()] == [4]
    assert [len(each) for each in house.threads("sk-tenant-two").values()] == [2]


def test_only_what_is_folded_changes_and_all_else_passes_as_it_came(house: House, upstream: PlainUpstream) -> None:
    client = Client(house, upstream)
    history: list[Message] = []
    for turn in range(14):
        history.append(user(f"Turn {turn}. {LONG}{LONG}", x_unknown=[1, {"z": 1, "a": 2}]))
        history.append(client.ask(history, f"Answer {turn}.", zeta={"b": 1, "a": 2}, alpha=True))
    history.append(user("The last one.", cache_control={"type": "ephemeral"}))
    client.ask(history, zeta={"b": 1, "a": 2}, alpha=True)
    sent = json.loads(upstream.arrived[-1].body)
    assert list(sent) == ["model", "max_tokens", "messages", "tools", "zeta", "alpha"]
    assert list(sent["zeta"]) == ["b", "a"]
    assert len(sent["messages"]) < len(history)
    kept = [message for message in sent["messages"] if message in history]
    assert kept[-1] == history[-1]
    assert len(kept) >= 3
    assert json.dumps(kept[-1]) == json.dumps(history[-1])
    assert sum("cache_control" in json.dumps(message) for message in sent["messages"]) == 1


def test_observing_changes_nothing_and_keeps_everything(tmp_path: Path, upstream: PlainUpstream) -> None:
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, mode="observe") as house:
        client, history = Client(house, upstream), list[Message]()
        for turn in range(14):
            history.append(user(f"Turn {turn}. {LONG}{LONG}"))
            history.append(client.ask(history, f"Answer {turn}."))
        assert client.forwarded == history[:-1]
        assert count(house, Folded) == 0
        (messages,) = house.threads(KEY).values()
        assert messages == history


def test_settings_hold_per_client_and_model(tmp_path: Path, upstream: PlainUpstream) -> None:
    clients = {"claude-code": ClientPolicy(mode="observe")}
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, clients=clients) as house:
        history = [user(f"{at}. {LONG}{LONG}") if at % 2 == 0 else assistant("a") for at in range(31)]
        observed, folded = Client(house, upstream, SESSION), Client(house, upstream)
        observed.ask(history)
        assert observed.forwarded == history
        folded.ask(history)
        assert folded.forwarded != history


def test_a_small_request_passes_while_another_conversation_is_being_worked_on(
    house: House, upstream: PlainUpstream
) -> None:
    client, gate = Client(house, upstream), threading.Event()
    client.ask([user("One.")])
    upstream.answer(Answer([json.dumps({"type": "message", "role": "assistant", "content": []}).encode()]))
    house.occupy(KEY, lambda: gate.wait(60))
    try:
        body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": [user("Meanwhile.")]}
        reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY})
    finally:
        gate.set()
    assert reply.status_code == 200
    assert [user("Meanwhile.")] in [messages[:1] for messages in house.threads(KEY).values()]


def test_answers_are_kept_and_billed_in_order_however_far_behind_the_store_is(
    house: House, upstream: PlainUpstream
) -> None:
    history, gate = [user("Say one.")], threading.Event()
    house.occupy(KEY, lambda: gate.wait(60))
    try:
        for turn in range(3):
            upstream.answer(billed(f"Answer {turn}.", 100 + turn))
            body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": history}
            reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY})
            assert reply.status_code == 200
            history = [*history, assistant(f"Answer {turn}."), user(f"Say {turn}.")]
    finally:
        gate.set()
    assert list(house.threads(KEY).values()) == [history[:-1]]
    assert count(house, Rewound) == 0
    with house.store(KEY) as store:
        events = [entry.event for row in store.threads() for entry in store.thread(row.title).events]
    assert [event.billed for event in events if isinstance(event, Measured)] == [100, 101, 102]


def test_an_answer_that_comes_while_its_conversation_is_folded_waits_for_that(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    began, asked, answered = threading.Event(), threading.Event(), threading.Event()

    def slowly() -> Iterator[bytes]:
        began.set()
        (whole,) = billed("Late.", 13_000).pieces
        yield whole[:10]
        asked.wait(60)
        yield whole[10:]

    def summary() -> Iterator[bytes]:
        asked.set()
        answered.wait(60)
        yield from billed(SUMMARY, 13_000).pieces

    history = [user(f"{at}. {LONG}") if at % 2 == 0 else assistant("Yes.") for at in range(23)]
    longer = [*history[:-1], user(f"Another question. {LONG * 9}")]
    upstream.answer(Answer(slowly()), Answer(summary()), billed("Done.", 13_000))
    with gateway(tmp_path / "store.db", upstream.url, window=20_000, summarizer="same") as house:

        def ask(messages: list[Message]) -> int:
            body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages, "tools": TOOLS}
            reply = web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": KEY})
            return reply.status_code

        with ThreadPoolExecutor() as threads:
            late = threads.submit(ask, history)
            assert began.wait(60)
            folded = threads.submit(ask, longer)
            assert late.result(60) == 200
            answered.set()
            assert folded.result(60) == 200
        forwarded = json.loads(upstream.arrived[-1].body)["messages"]
        assert "The port is 8443." in str(forwarded)
        assert forwarded[-1] == longer[-1]
        assert list(house.threads(KEY).values()) == [[*longer, assistant("Done.")]]
        assert {row["content"][0]["text"] for row in every_answer(house)} >= {"Late.", "Done."}


def test_a_client_that_hangs_up_while_its_refused_request_is_folded_can_go_on(
    house: House, upstream: PlainUpstream
) -> None:
    gate, refused, occupied = threading.Event(), threading.Event(), threading.Event()
    history = [user(f"{at}. {LONG}") if at % 2 == 0 else assistant("Yes.") for at in range(15)]
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": history, "tools": TOOLS}

    def hold() -> None:
        occupied.set()
        gate.wait(60)

    def too_long() -> Iterator[bytes]:
        house.occupy(KEY, hold)
        assert occupied.wait(60)
        yield b'{"error": {"type": "invalid_request_error", "message": "prompt is too long: 300000 > 1"}}'
        refused.set()

    upstream.answer(Answer(too_long(), 400))
    with socket.create_connection(("127.0.0.1", house.port), timeout=60) as connection:
        content = json.dumps(body).encode()
        head = f"POST /{SECRETS.token}/v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {KEY}\r\n"
        head += f"user-agent: {web().headers['user-agent']}\r\ncontent-length: {len(content)}\r\n\r\n"
        connection.sendall(head.encode() + content)
        assert refused.wait(60)
        (ledger,) = house.gateway.tenants.ledgers
        house.until(lambda: not ledger.clerk._jobs.empty())  # it waits to be folded
    house.until(lambda: house.gateway.metrics.value("under_way") == 0)  # that the client is gone is known
    gate.set()
    client = Client(house, upstream)
    answer = client.ask(history)
    assert list(house.threads(KEY).values()) == [[*history, answer]]


@pytest.mark.parametrize("models", [("claude-sonnet-5-5", "claude-sonnet-5-5"), ("claude-sonnet-5-5", "claude-opus-5")])
def test_a_conversation_that_is_folded_is_nobody_elses_by_whatever_model(
    models: tuple[str, str], tmp_path: Path
) -> None:
    history = [user(f"{at}. {LONG}") if at % 2 == 0 else assistant("Yes.") for at in range(51)]
    ledger = Ledger(lambda: cf.open(tmp_path / "store.db"), GatewaySettings(window=20_000))
    try:
        opened = ledger.take(asking(models[0], history))
        assert isinstance(opened, OpenTurn)
        assert isinstance(ledger.take(asking(models[1], history[:-1])), BusyThread)
        ledger.free(opened.turn)
        assert not isinstance(ledger.take(asking(models[1], history[:9])), BusyThread)
    finally:
        ledger.close()


def asking(model: str, messages: list[Message]) -> Asking:
    """A request as a ledger is handed it."""
    dialect = find("anthropic")
    assert dialect.endpoint is not None
    body = json.dumps({"model": model, "max_tokens": 1_000, "messages": messages}).encode()
    visit = Visit("POST", b"/v1/messages", b"", ())
    return Asking(visit, dialect, dialect.endpoint, dialect.endpoint.open(body, AskedTurn()))


def billed(answer: str, tokens: int) -> Answer:
    """An answer with its bill."""
    said = {"id": "msg", "type": "message", "role": "assistant", "content": assistant(answer)["content"]}
    said |= {"model": "claude-sonnet-5-5", "stop_reason": "end_turn", "usage": {"input_tokens": tokens}}
    return Answer([json.dumps(said).encode()])


def every_answer(house: House) -> list[Message]:
    """What the model said, on whatever branch."""
    with house.store(KEY) as store:
        threads = [store.thread(row.title) for row in store.threads()]
        said = [
            json.loads(thread.message(entry.seq).raw)
            for thread in threads
            for entry in thread.events
            if isinstance(entry.event, Appended)
        ]
    return [each for each in said if each["role"] == "assistant"]


def test_a_tenant_whose_request_is_still_to_be_kept_is_not_let_go_for_another(
    tmp_path: Path, upstream: PlainUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextfold.gateway.tenants._MOST_TENANTS", 1)
    monkeypatch.setattr("contextfold.gateway.keeper._HEAD_START", 1.0)
    body = {"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": [user("One.")]}
    with gateway(tmp_path / "store.db", upstream.url) as house:
        for key in ("first", "second", "third"):
            upstream.answer(Answer([b'{"error": {}}'], 500))
            assert web().post(f"{house.url}/v1/messages", json=body, headers={"x-api-key": key}).status_code == 500
        house.settle()
        assert [len(house.threads(key)) for key in ("first", "second", "third")] == [1, 1, 1]
