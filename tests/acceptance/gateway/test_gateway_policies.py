"""What a configuration says of conversations: who writes summaries, what stands behind the system prompt."""

import json
import logging
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextfold.dialects import find
from contextfold.dialects.endpoint import AskedTurn
from contextfold.errors import ProviderFailed
from contextfold.gateway import ClientPolicy, gateway_settings
from contextfold.gateway.clients_model import ClientsModel, SummaryCall
from contextfold.gateway.door import Visit
from contextfold.gateway.relay import Outgoing, Upstreams
from contextfold.session import telemetry
from contextfold.summaries import Prompt
from contextfold.testing.server import Exchange, Fault, Held, Question, StrictServer, faults, strict_server
from tests.acceptance.gateway.house import FORMATS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.speakers import SPEAKERS, Claude, raw_request
from tests.crash.traces import readable

WINDOW, LIMIT = 24_000, 14_000
LONG = "The parser in src/parse.py keeps the port 8443 and the flag --strict. " * 90
ASKED = "six headings"
SUMMARY = """\
1. Previous conversation: The user asked for question after question about the parser.
2. Current work: The parser in src/parse.py is being changed.
3. Key technical concepts: The port is 8443 and the flag is --strict.
4. Relevant files and code: src/parse.py
5. Problem solving: Nothing is open.
6. Pending tasks and next steps: Answer the next question."""
MOST_TURNS = 25
KEY = "sk-canary-of-summaries-5519"


class CachingClaude(Claude):
    """As agents use it: the end of each request is marked for the cache."""

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    with strict_server(window=WINDOW) as server:
        yield server


@pytest.fixture
def scripted(server: StrictServer) -> StrictServer:
    server.forget()
    server.always(lambda asked: SUMMARY if is_summary(asked.body) else "Done.")
    return server


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, server: StrictServer) -> Iterator[House]:
    path = tmp_path_factory.mktemp("same") / "store.db"
    with gateway(path, server.url, window=WINDOW, limit=LIMIT, summarizer="same") as house:
        yield house


def is_summary(body: object) -> bool:
    return ASKED in str(body)


def summaries(server: StrictServer) -> list[Exchange]:
    return [each for each in server.exchanges if is_summary(each.request)]


@pytest.mark.parametrize("how", ["sync", "stream"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_clients_own_model_writes_the_summary_and_reads_it_from_its_cache(
    house: House, scripted: StrictServer, format: str, how: str
) -> None:
    kind = CachingClaude if format == "anthropic" else SPEAKERS[format]
    with kind(house.url, scripted.token, how, {"x-contextfold-thread": f"{format}-{how}"}) as speaker:
        for turn in range(MOST_TURNS):
            assert speaker.say(f"Question {turn}. {LONG}") == "Done."
            if summaries(scripted):
                break
    assert scripted.refused == []
    written = summaries(scripted)[0]
    assert written.stream is (how == "stream")
    assert written.usage.read >= 0.7 * written.usage.input > 5_000
    assert "The port is 8443 and the flag is --strict." in str(scripted.last.request)
    assert scripted.token.encode() not in readable(house.path)


def ask(house: House, server: StrictServer, texts: list[str], thread: str) -> str:
    """One turn of a conversation in chat; the answer is put behind the texts."""
    reply = web().send(raw_request(house.url, server.token, "openai-chat", texts, thread=thread))
    assert reply.status_code == 200, reply.text
    texts.append(reply.json()["choices"][0]["message"]["content"])
    return texts[-1]


def test_a_model_that_writes_for_long_holds_up_its_own_conversation_alone(house: House, scripted: StrictServer) -> None:
    held, is_asked = Held(SUMMARY), threading.Event()

    def answer(asked: Question) -> str | Held:
        if not is_summary(asked.body):
            return "Done."
        is_asked.set()
        return held

    scripted.always(answer)
    texts: list[str] = []

    def talk() -> None:
        while not is_asked.is_set() and len(texts) < 2 * MOST_TURNS:
            texts.append(f"Question {len(texts)}. {LONG}")
            ask(house, scripted, texts, "long")

    talking = threading.Thread(target=talk, daemon=True)
    talking.start()
    try:
        assert is_asked.wait(60)
        assert ask(house, scripted, [f"Beside it. {LONG}"], "beside") == "Done."
        assert talking.is_alive()
    finally:
        held.release()
        talking.join(60)
    assert texts[-1] == "Done."
    assert scripted.refused == []


def test_two_requests_of_a_conversation_that_is_being_folded_wait_for_one_another(
    house: House, scripted: StrictServer
) -> None:
    held, is_asked = Held(SUMMARY), threading.Event()
    texts = [f"Question {at}. {LONG}" if at % 2 == 0 else "Done." for at in range(17)]

    def answer(asked: Question) -> str | Held:
        if is_summary(asked.body):
            is_asked.set()
        return held if is_summary(asked.body) else "Done."

    scripted.always(answer)
    talking = [threading.Thread(target=ask, args=(house, scripted, texts[:], "twice"), daemon=True) for _ in range(2)]
    for each in talking:
        each.start()
    assert is_asked.wait(60)
    held.release()
    for each in talking:
        each.join(60)
    assert len(summaries(scripted)) == 1
    (messages,) = house.threads(scripted.token, "named/twice").values()
    assert len(messages) == 18


@pytest.mark.parametrize("fault", [faults.broken(), faults.overflow(), faults.unauthorized(), faults.reset()])
def test_where_the_model_writes_no_summary_the_digest_does(house: House, scripted: StrictServer, fault: Fault) -> None:
    scripted.always(lambda asked: fault if is_summary(asked.body) else "Done.")
    texts: list[str] = []
    thread = f"failed-{fault.how}.{fault.refused.kind if fault.refused else 0}"
    while not summaries(scripted) and len(texts) < 2 * MOST_TURNS:
        texts.append(f"Question {len(texts)}. {LONG}")
        assert ask(house, scripted, texts, thread) == "Done."
    assert summaries(scripted)
    with house.store(scripted.token) as store:
        assert any(fold.is_live for fold in store.thread(f"named/{thread}").branch.folds)


# -- the key -----------------------------------------------------------------------------------------------------------


def test_the_key_is_in_no_trace_number_log_or_error_while_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry_seen = pytest.importorskip("tests.unit.session.test_telemetry", reason="OpenTelemetry is not here")
    trace, metrics = pytest.importorskip("opentelemetry.trace"), pytest.importorskip("opentelemetry.metrics")
    seen = telemetry_seen.Seen()
    monkeypatch.setattr(trace, "get_tracer", seen.tracers.get_tracer)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: seen.tracers)
    monkeypatch.setattr(metrics, "get_meter", seen.meters.get_meter)
    telemetry._instruments.cache_clear()
    caplog.set_level(logging.DEBUG)
    echo = Answer([f'{{"error": {{"message": "not with {KEY}"}}}}'.encode()], 400)
    done = Answer([b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}}]}'])
    path = tmp_path / "store.db"
    with plain_upstream() as provider, gateway(path, provider.url, window=WINDOW, summarizer="same") as house:
        texts = [f"Question {at}. {LONG}" if at % 2 == 0 else "Done." for at in range(25)]
        provider.answer(echo, done)
        reply = web().send(raw_request(house.url, KEY, "openai-chat", texts))
        house.settle()
        numbers = web().get(f"{house.url}/metrics").text
    telemetry._instruments.cache_clear()
    assert (len(provider.arrived), reply.status_code) == (2, 200), "a summary was refused, then the digest stood"
    assert ASKED in provider.arrived[0].body.decode()
    logged = "".join(f"{each.getMessage()} {each.__dict__}" for each in caplog.records)
    assert "chat gpt-6-sol" in seen.everything()
    assert "summarizer" in logged
    assert KEY not in seen.everything() + numbers + logged
    assert KEY.encode() not in readable(path)


async def test_an_error_of_a_summary_holds_nothing_of_the_key_however_it_is_shown() -> None:
    found = find("openai-chat")
    assert found.endpoint is not None
    visit = Visit("POST", b"/v1/chat/completions", f"key={KEY}".encode(), ((b"authorization", KEY.encode()),))
    with plain_upstream() as provider:
        upstreams = Upstreams({"openai": provider.url})
        plain = Outgoing("openai", visit, KEY.encode())
        call = SummaryCall(upstreams, plain, found, found.endpoint, AskedTurn(), "gpt-6-sol", 1_000)
        writer = ClientsModel("gpt-6-sol")
        answers = [Answer([f'{{"error": "{KEY}"}}'.encode()], 401), Answer([KEY.encode()]), Answer([b"9" * 2_000])]
        provider.answer(*answers, Answer([f'["{KEY}"]'.encode()]))
        shown = ""
        for _ in range(4):
            with writer.lent(call), pytest.raises(ProviderFailed) as raised:
                await writer(Prompt("Summarize.", "This."))
            whole = traceback.TracebackException.from_exception(raised.value, capture_locals=True)
            ours = [frame for frame in whole.stack if "contextfold" in frame.filename and "tests" not in frame.filename]
            shown += "".join(f"{frame.locals}" for frame in ours) + repr(vars(raised.value))
            shown += "".join(whole.format_exception_only()) + repr(raised.value.__context__)
        await upstreams.close()
        assert len(provider.arrived) == 4
    assert "answered 401" in shown
    assert KEY not in shown
    with pytest.raises(ProviderFailed, match="no key"):
        await writer(Prompt("Summarize.", "This."))


# -- layer L0 ----------------------------------------------------------------------------------------------------------

RULE = "Never print secrets."
L0 = gateway_settings({"system": {"role": "A careful engineer.", "policies": [RULE]}}).system


PROMPTS: dict[str, dict[str, Any]] = {
    "anthropic": {"system": [{"type": "text", "text": "You help."}]},
    "openai-chat": {},  # where it is a message
    "openai-responses": {"instructions": "You help."},
    "gemini": {"systemInstruction": {"parts": [{"text": "You help."}]}},
}


@pytest.fixture
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        upstream.always = Answer([b'{"error": {}}'], 500)
        yield upstream


@pytest.mark.parametrize("format", FORMATS)
def test_layer_0_stands_behind_the_clients_own_system_prompt(
    tmp_path: Path, upstream: PlainUpstream, format: str
) -> None:
    said = PROMPTS[format]
    policy = ClientPolicy(system=L0)
    with gateway(tmp_path / "store.db", upstream.url, clients={"named": policy}) as house:
        for texts in (["Hello."], ["Hello.", "Hi.", "Go on."]):
            request = raw_request(house.url, "key", format, texts, thread="layered")
            body = {**json.loads(request.content), **said, "a_field": 1}
            if format == "openai-chat":
                body["messages"].insert(0, {"role": "system", "content": "You help."})
            headers = {name: value for name, value in request.headers.items() if name != "content-length"}
            web().post(str(request.url), json=body, headers=headers)
        other = raw_request(house.url, "key", format, ["Hello."])
        web().send(other)
    first, second, plain = (each.body.decode() for each in upstream.arrived)
    for forwarded in (first, second):
        assert 0 < forwarded.index("You help.") < forwarded.index(RULE)
        assert forwarded.count(RULE) == 1
        assert json.loads(forwarded)["a_field"] == 1
    assert [each for each in json.loads(second) if each not in json.loads(first)] == []
    if format == "openai-chat":
        assert [each["role"] for each in json.loads(first)["messages"]] == ["system", "system", "user"]
    assert plain.encode() == other.content


def test_layer_0_that_leaves_no_room_is_refused_with_its_size(tmp_path: Path, upstream: PlainUpstream) -> None:
    large = gateway_settings({"system": {"role": LONG * 4}}).system
    with gateway(tmp_path / "store.db", upstream.url, window=8_000, system=large) as house:
        reply = web().send(raw_request(house.url, "key", "anthropic", ["Hello."]))
    assert reply.status_code == 400
    assert "layer system" in reply.json()["error"]["message"]
    assert upstream.arrived == []


def test_what_is_only_watched_gets_no_layer(tmp_path: Path, upstream: PlainUpstream) -> None:
    with gateway(tmp_path / "store.db", upstream.url, mode="observe", system=L0) as house:
        request = raw_request(house.url, "key", "anthropic", ["Hello."])
        web().send(request)
    assert upstream.arrived[0].body == request.content


# -- other settings while conversations are open ----------------------------------------------------------------------


def spoken(house: House, server: StrictServer, how: str = "sync") -> Claude:
    return Claude(house.url, server.token, how, {"x-contextfold-thread": "open"})


def test_a_smaller_window_pins_and_another_summarizer_reach_a_conversation_that_is_open(
    tmp_path: Path, scripted: StrictServer
) -> None:
    with gateway(tmp_path / "store.db", scripted.url, window=WINDOW) as house, spoken(house, scripted) as speaker:
        for turn in range(4):
            speaker.say(f"Question {turn}. {LONG}")
        assert house.gateway.metrics.total("folds_total") == 0
        house.reload(clients={"named": ClientPolicy(limit=5_000, pins=1, summarizer="same")})
        speaker.say(f"Question 4. {LONG}")
        house.settle()
        assert house.gateway.metrics.total("folds_total") >= 1
        assert len(summaries(scripted)) >= 1
        with house.store(scripted.token) as store:
            thread = store.thread(store.threads()[0].title)
            first = thread.branch.items.items[0].seq
            assert first in thread.view.pinned
        folds = house.gateway.metrics.total("folds_total")
        house.reload(clients={"named": ClientPolicy(limit=WINDOW)})
        speaker.say("Question 5.")
        assert house.gateway.metrics.total("folds_total") == folds
    assert scripted.refused == []


def test_layer_0_comes_and_goes_with_the_settings_in_a_conversation_that_is_open(
    tmp_path: Path, upstream: PlainUpstream
) -> None:
    with gateway(tmp_path / "store.db", upstream.url) as house:
        for system in (None, L0, None):
            house.reload(clients={"named": ClientPolicy(system=system)})
            web().send(raw_request(house.url, "key", "anthropic", ["Hello."], thread="layered"))
    assert [RULE.encode() in each.body for each in upstream.arrived] == [False, True, False]
