"""Who is served, what is kept of a request, scripts, and every way of failing as bytes on a connection."""

import threading
from typing import Any

import httpx
import pytest

from contextfold.testing.server import Call, Fault, Held, Question, Rejection, Say, StrictServer, faults, strict_server

from .conftest import PATHS, Post, headers

BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "claude-haiku-5-5", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}]},
    "chat": {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "gpt-6-sol", "input": "Hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
FORMATS = list(BODIES)


@pytest.mark.parametrize("where", FORMATS)
@pytest.mark.parametrize("token", ["x", "sk-somebody-elses"])
def test_only_the_right_key_is_served(client: httpx.Client, server: StrictServer, where: str, token: str) -> None:
    given = {name: value.replace(server.token, token) for name, value in headers(server, where).items()}
    answer = client.post(server.url + PATHS[where], json=BODIES[where], headers=given)
    assert answer.status_code == 401
    assert "error" in answer.json()


@pytest.mark.parametrize("where", FORMATS)
def test_web_pages_and_other_hosts_are_not_served(post: Post, where: str) -> None:
    assert post(where, BODIES[where], origin="https://example.com").status_code == 403
    assert post(where, BODIES[where], host="example.com").status_code == 403
    assert post(where, BODIES[where], host="localhost:80").status_code == 200


def test_keys_are_never_kept(post: Post, server: StrictServer) -> None:
    for where in FORMATS:
        post(where, BODIES[where])
    assert len(server.exchanges) == 4
    assert server.token not in repr(server.exchanges)


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
def test_what_is_no_json_object_is_refused(client: httpx.Client, server: StrictServer, body: bytes) -> None:
    answer = client.post(server.url + PATHS["chat"], content=body, headers=headers(server, "chat"))
    assert (answer.status_code, server.last.status) == (400, 400)


def test_what_is_too_large_is_refused(client: httpx.Client, server: StrictServer) -> None:
    content = b'{"x": "' + b"a" * 32_000_000 + b'"}'
    answer = client.post(server.url + PATHS["anthropic"], content=content, headers=headers(server, "anthropic"))
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")


def test_a_script_is_said_in_order_and_then_the_usual(post: Post, server: StrictServer) -> None:
    def about(asked: Question) -> str:
        return f"{asked.format} asked {asked.model}"

    server.answer("First.", about)
    texts = [post("chat", BODIES["chat"]).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["First.", "openai-chat asked gpt-5", "Understood."]


def test_a_refused_request_takes_no_step_of_the_script(post: Post, server: StrictServer) -> None:
    server.answer("Kept.")
    assert post("chat", {**BODIES["chat"], "messages": []}).status_code == 400
    assert post("chat", BODIES["chat"]).json()["choices"][0]["message"]["content"] == "Kept."
    assert [each.status for each in server.refused] == [400]


def test_an_answer_longer_than_asked_is_cut(post: Post, server: StrictServer) -> None:
    server.answer(*["many words " * 100] * 4)
    limits = [("anthropic", {"max_tokens": 5}), ("chat", {"max_completion_tokens": 5})]
    answers = [post(where, {**BODIES[where], **limit}).json() for where, limit in limits]
    assert (answers[0]["stop_reason"], answers[1]["choices"][0]["finish_reason"]) == ("max_tokens", "length")
    response = post("responses", {**BODIES["responses"], "max_output_tokens": 5}).json()
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    short = {**BODIES["gemini"], "generationConfig": {"maxOutputTokens": 5}}
    assert post("gemini", short).json()["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert answers[0]["usage"]["output_tokens"] <= 5


def test_a_held_answer_waits_until_it_is_released(post: Post, server: StrictServer) -> None:
    held = Held("At last.")
    server.answer(held)
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(post("responses", BODIES["responses"]).text))
    thread.start()
    assert not answers
    held.release()
    held.release()
    thread.join()
    assert "At last." in answers[0]
    server.wait_for(1)
    with pytest.raises(TimeoutError, match="1 of 2 requests"):
        server.wait_for(2, timeout=0.01)


@pytest.mark.parametrize("where", FORMATS)
@pytest.mark.parametrize(
    ("fault", "statuses"),
    [
        (faults.rate_limited(retry_after=2), {429}),
        (faults.broken(), {500}),
        (faults.overloaded(), {503, 529}),
        (faults.unauthorized(), {401}),
        (faults.overflow(), {400}),
        (faults.break_off(), {503, 529}),
    ],
    ids=["rate", "broken", "overloaded", "unauthorized", "overflow", "break off"],
)
def test_a_fault_with_a_status_has_the_providers_shape(
    post: Post, server: StrictServer, where: str, fault: Fault, statuses: set[int]
) -> None:
    server.answer(fault)
    answer = post(where, BODIES[where])
    assert answer.status_code in statuses
    assert answer.json()["error"]["message"]
    assert not server.refused
    assert answer.headers.get("retry-after") == ("2" if 429 in statuses else None)
    assert post(where, BODIES[where]).status_code == 200


def streaming(where: str) -> tuple[str, dict[str, Any]]:
    return ("gemini-stream", BODIES[where]) if where == "gemini" else (where, {**BODIES[where], "stream": True})


@pytest.mark.parametrize("where", FORMATS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_reset_and_a_cut_break_the_connection(post: Post, server: StrictServer, where: str, is_stream: bool) -> None:
    path, body = streaming(where) if is_stream else (where, BODIES[where])
    server.answer(faults.reset(), faults.cut())
    for _ in range(2):
        with pytest.raises(httpx.TransportError):
            post(path, body)
    assert post(path, body).status_code == 200


@pytest.mark.parametrize("where", FORMATS)
def test_a_stream_breaks_off_with_an_error_event(post: Post, server: StrictServer, where: str) -> None:
    path, body = streaming(where)
    server.answer(faults.break_off(after=2))
    assert "Overloaded" in post(path, body).text.split("\n\n")[2]


@pytest.mark.parametrize("where", FORMATS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_garbage_comes_with_a_good_status(post: Post, server: StrictServer, where: str, is_stream: bool) -> None:
    path, body = streaming(where) if is_stream else (where, BODIES[where])
    server.answer(faults.garbage())
    answer = post(path, body)
    assert (answer.status_code, answer.text[:6]) == (200, "<html>")


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_drip_never_ends(server: StrictServer, is_stream: bool) -> None:
    path, body = streaming("anthropic") if is_stream else ("anthropic", BODIES["anthropic"])
    server.answer(faults.drip(pause=0.001))
    got = 0
    with httpx.Client(trust_env=False, timeout=60) as client:
        url, given = server.url + PATHS[path], headers(server, path)
        with client.stream("POST", url, json=body, headers=given) as answer:
            for _ in answer.iter_raw():
                got += 1
                if got == 40:
                    break
    assert got == 40


def test_a_server_that_hangs_can_still_be_stopped() -> None:
    with strict_server() as server, httpx.Client(trust_env=False, timeout=60) as client:
        server.answer(faults.hang(), faults.hang(), Held("never"))
        url, given = server.url + PATHS["chat"], headers(server, "chat")
        for _ in range(3):
            with pytest.raises(httpx.ReadTimeout):
                client.post(url, json=BODIES["chat"], headers=given, timeout=httpx.Timeout(60, read=0.05))


def test_without_an_end_of_the_pieces_a_fault_is_an_error() -> None:
    refused = Rejection("x", kind="not_found")
    assert (refused.status, Say(calls=(Call("a"),)).reason, Say().reason) == (404, "calls", "end")
