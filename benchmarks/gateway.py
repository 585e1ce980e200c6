"""What the gateway adds to a request, against a direct connection and against a bare passthrough of the same stack.

The upstream answers after 20 ms. Direct, bare and kept requests alternate, so that all three meet the same machine;
what is told is the difference of each pair. `python -m benchmarks.gateway` runs everything; `--quick` a tenth of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn

from contextfold.gateway import Gateway, GatewaySecrets, GatewaySettings, spaces_in
from contextfold.gateway.server import GatewayServer, bound, serve

SECRETS = GatewaySecrets("tok-0123456789abcdef", b"k" * 32)
DELAY, PAUSE, PIECES = 0.02, 0.1, 20
KEYS, SHARES, WARM = 4, 10, 3  # of a soak: keys, measurements, and those of them in which everything is filled
MOST_GROWTH = 1.15  # of memory, from there to the end
BARE = "/v1/embeddings"  # no turn: forwarded as it is
TURN = "/v1/messages"
WORDS = "the quick brown fox jumps over the lazy dog and runs away into the woods "  # 15 tokens


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


_STREAM = (
    _event("message_start", message={"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []})
    + _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    _event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a few more words "}),
    _event("content_block_stop", index=0)
    + _event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 9})
    + _event("message_stop"),
)


async def _streamed(send: Any) -> None:
    """A first event at once, then one each tenth of a second."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    first, more, last = _STREAM
    for piece in (first, *[more] * PIECES):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(PAUSE)
    await send({"type": "http.response.body", "body": last})


async def _upstream(_: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await asyncio.sleep(DELAY)
    if b'"stream": true' in body:
        await _streamed(send)
        return
    said = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "ok"}],
    }
    body = json.dumps({**said, "stop_reason": "end_turn"}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


def _run_upstream(told: Connection) -> None:
    listening = bound(GatewaySettings(port=0))
    listening.listen()
    told.send(listening.getsockname()[1])
    settings: dict[str, Any] = {"lifespan": "off", "log_config": None, "access_log": False}
    asyncio.run(uvicorn.Server(uvicorn.Config(_upstream, **settings)).serve(sockets=[listening]))


def _run_gateway(told: Connection, upstream: str, path: str, window: int = 1_000_000) -> None:
    settings = GatewaySettings(port=0, upstreams=dict.fromkeys(("anthropic", "openai"), upstream), window=window)
    listening = bound(settings)
    port = listening.getsockname()[1]
    gateway = Gateway(settings, SECRETS, spaces_in(path, settings), port=port)
    serve(GatewayServer(gateway, lambda: told.send(port)), listening)


def _started(target: Any, *arguments: Any) -> tuple[multiprocessing.Process, int]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    return process, ours.recv()


async def _timed(client: aiohttp.ClientSession, url: str, body: bytes, key: str = "k") -> float:
    start = time.perf_counter()
    async with client.post(url, data=body, headers={"x-api-key": key}) as answer:
        await answer.read()
    assert answer.status == 200, answer.status
    return (time.perf_counter() - start) * 1_000


def _body(messages: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps({"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages}).encode()


async def _paired(client: aiohttp.ClientSession, direct: str, gateway: str, bodies: Sequence[bytes]) -> dict[str, Any]:
    bare, kept = [], []
    for body in bodies:
        straight = await _timed(client, direct + TURN, body)
        bare.append(await _timed(client, gateway + BARE, body) - straight)
        kept.append(await _timed(client, gateway + TURN, body) - straight)
    half = len(kept) // 2
    return {
        "bare p50": statistics.median(bare),
        "kept p50": statistics.median(kept),
        "kept p95": statistics.quantiles(kept, n=20)[-1],
        "first half": statistics.median(kept[:half]),
        "second half": statistics.median(kept[half:]),
    }


def _growing(tokens: int, turns: int) -> list[bytes]:
    history = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} " + WORDS * 66}
        for at in range(2 * (tokens // 2_000) + 1)
    ]
    bodies = [_body(history)]
    for turn in range(turns):
        history += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": f"{turn} " + WORDS * 66}]
        bodies.append(_body(history))
    return bodies


async def _throughput(client: aiohttp.ClientSession, url: str, requests: int, at_once: int) -> float:
    """Requests a second of so many clients, each with a conversation of its own that grows by a turn a request."""

    async def talk(number: int) -> None:
        history: list[dict[str, str]] = []
        for turn in range(requests // at_once):
            if turn % 10 == 0:
                history = [{"role": "user", "content": f"Client {number} begins {turn} at {url}."}]
            await _timed(client, url, _body(history))
            history += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": f"Turn {turn}."}]

    start = time.perf_counter()
    await asyncio.gather(*(talk(number) for number in range(at_once)))
    return requests // at_once * at_once / (time.perf_counter() - start)


async def _measure(direct: str, gateway: str, share: float) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    async with aiohttp.ClientSession() as client:
        small = [_body([{"role": "user", "content": f"Hello {at}."}]) for at in range(int(200 * share))]
        await _paired(client, direct, gateway, small[:20])
        found["small"] = await _paired(client, direct, gateway, small)
        for name, tokens, turns in (("100k tokens", 100_000, 30), ("400k tokens", 400_000, 10)):
            first, *rest = _growing(tokens, max(4, int(turns * share)))
            opening = await _timed(client, gateway + TURN, first)
            found[name] = {"opening": opening, **await _paired(client, direct, gateway, rest)}
        requests = int(1_280 * share)
        found["32 at once, requests/s"] = {
            "direct": await _throughput(client, direct + TURN, requests, 32),
            "bare": await _throughput(client, gateway + BARE, requests, 32),
            "kept": await _throughput(client, gateway + TURN, requests, 32),
        }
    return found


async def _first_byte(client: aiohttp.ClientSession, url: str, body: bytes) -> float:
    start = time.perf_counter()
    async with client.post(url, data=body, headers={"x-api-key": "k"}) as answer:
        await answer.content.readany()
        return (time.perf_counter() - start) * 1_000


async def _first_bytes(client: aiohttp.ClientSession, direct: str, gateway: str, times: int) -> dict[str, float]:
    bare, kept = [], []
    for at in range(times):
        body = json.dumps(
            {**json.loads(_body([{"role": "user", "content": f"Stream {at}."}])), "stream": True}
        ).encode()
        straight = await _first_byte(client, direct + TURN, body)
        bare.append(await _first_byte(client, gateway + BARE, body) - straight)
        kept.append(await _first_byte(client, gateway + TURN, body) - straight)
    return {"bare p50": statistics.median(bare), "kept p50": statistics.median(kept)}


async def _held(gateway: str, process: multiprocessing.Process, streams: int) -> dict[str, float]:
    """So many streams at once, each two seconds long: how many ended whole, and the gateway's memory."""
    before = _memory(process)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:

        async def one(number: int) -> bool:
            said = {"role": "user", "content": f"Hold {number}."}
            body = json.dumps({**json.loads(_body([said])), "stream": True}).encode()
            async with client.post(gateway + TURN, data=body, headers={"x-api-key": "k"}) as answer:
                return (await answer.read()).endswith(_STREAM[-1])

        start = time.perf_counter()
        ended = await asyncio.gather(*(one(number) for number in range(streams)))
    seconds = time.perf_counter() - start
    return {"whole": sum(ended), "seconds": seconds, "MiB before": before, "MiB after": _memory(process)}


async def _beside_folds(client: aiohttp.ClientSession, gateway: str, turns: int) -> dict[str, float]:
    """Small requests alone, and while a long conversation is folded in the same store."""

    async def small(times: int, tag: str) -> list[float]:
        bodies = [_body([{"role": "user", "content": f"{tag} {at}."}]) for at in range(times)]
        return [await _timed(client, gateway + TURN, body) for body in bodies]

    alone = await small(100, "Alone")
    done = asyncio.Event()
    beside: list[float] = []

    async def meanwhile() -> None:
        while not done.is_set():
            beside.extend(await small(5, f"Beside {len(beside)}"))

    other = asyncio.ensure_future(meanwhile())
    folds = [await _timed(client, gateway + TURN, body) for body in _growing(30_000, turns)]
    done.set()
    await other
    return {
        "alone p99": statistics.quantiles(alone, n=100)[-1],
        "beside p99": statistics.quantiles(beside, n=100)[-1],
        "longest of the folded": max(folds),
    }


def _large(size: int) -> dict[str, bytes]:
    """Requests of one size in very different shapes: what a stranger may send at any time."""
    line = "line %d the quick brown fox jumps over the lazy dog\n"
    calls: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for at in range(4_500):
        text = "".join(line % number for number in range(size // 4_500 // len(line)))
        call = {"type": "tool_use", "id": f"t{at}", "name": "Read", "input": {"file_path": f"/b{at}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": text}
        calls += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    tiny = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"a{at}"} for at in range(size // 40)]
    text = "".join(line % number for number in range(size // len(line)))
    shapes = {"one text": [{"role": "user", "content": text}], "9,000 calls and results": calls, "tiny messages": tiny}
    return {name: _body(messages) for name, messages in shapes.items()}


async def _beside_large(client: aiohttp.ClientSession, gateway: str) -> dict[str, float]:
    """Small requests of one client alone, and while another sends 32 MiB in one request."""

    async def small(times: int, tag: str) -> list[float]:
        bodies = [_body([{"role": "user", "content": f"{tag} {at}."}]) for at in range(times)]
        return [await _timed(client, gateway + TURN, body) for body in bodies]

    found = {"alone p99": statistics.quantiles(await small(200, "Before"), n=100)[-1]}
    for name, body in _large(32 << 20).items():
        sending = asyncio.ensure_future(asyncio.to_thread(_send, gateway + TURN, body))
        beside: list[float] = []
        while not sending.done() or len(beside) < 200:
            beside.extend(await small(5, f"{name} {len(beside)}"))
        await sending
        found[f"beside {name}, p99"] = statistics.quantiles(beside, n=100)[-1]
    return found


def _send(url: str, body: bytes) -> None:
    """One request of another tenant, from a thread of its own."""
    request = urllib.request.Request(url, body, {"x-api-key": "other", "content-type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310  # this machine's own address
        answer.read()


async def _soak(client: aiohttp.ClientSession, gateway: str, process: multiprocessing.Process, seconds: float) -> Any:
    """Memory while conversations of several keys come and go, most of them short, some long enough to be folded."""
    start, found, number = time.perf_counter(), dict[str, float](), 0
    for share in range(SHARES + 1):
        while time.perf_counter() - start < seconds * share / SHARES:
            bodies = _growing(40_000, 4) if number % 10 == 9 else _growing(4_000, 4)
            for body in bodies:
                own = body.replace(b"0 the quick", f"{number} the quick".encode(), 1)
                await _timed(client, gateway + TURN, own, f"k{number % KEYS}")
            number += 1
        found[f"MiB {100 * share // SHARES}%"] = _memory(process)
    return {**found, "conversations": number}


def _memory(process: multiprocessing.Process) -> float:
    """MiB that a process holds now."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def _measure_more(
    direct: str, gateway: str, folding: str, process: multiprocessing.Process, share: float
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with aiohttp.ClientSession() as client:
        found["first streamed byte"] = await _first_bytes(client, direct, gateway, max(5, int(60 * share)))
        found["beside folds"] = await _beside_folds(client, folding, max(5, int(30 * share)))
        found["beside 32 MiB"] = await _beside_large(client, gateway)
        found["streams held"] = await _held(gateway, process, int(1_000 * share))
    return found


async def _measure_soak(gateway: str, process: multiprocessing.Process, seconds: float) -> dict[str, Any]:
    async with aiohttp.ClientSession() as client:
        return {"soak": await _soak(client, gateway, process, seconds)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parts = "requests alone; streams and folds alone; or memory over a soak alone"
    parser.add_argument("--only", choices=("speed", "more", "soak"), help=parts)
    parser.add_argument("--minutes", type=float, default=2.0, help="the length of the soak (default: 2)")
    asked = parser.parse_args()
    share = 0.1 if asked.quick else 1.0
    with tempfile.TemporaryDirectory() as directory:
        upstream, port = _started(_run_upstream)
        direct = f"http://127.0.0.1:{port}"
        gateway, port = _started(_run_gateway, direct, str(Path(directory) / "store.db"))
        folding, other = _started(_run_gateway, direct, str(Path(directory) / "folded.db"), 24_000)
        url, folds = (f"http://127.0.0.1:{each}/{SECRETS.token}" for each in (port, other))
        found: dict[str, dict[str, Any]] = {}
        try:
            if asked.only in (None, "speed"):
                found |= asyncio.run(_measure(direct, url, share))
            if asked.only in (None, "more"):
                found |= asyncio.run(_measure_more(direct, url, folds, gateway, share))
            if asked.only in (None, "soak"):
                found |= asyncio.run(_measure_soak(folds, folding, 60 * share * asked.minutes))
        finally:
            for process in (gateway, folding, upstream):
                process.terminate()
                process.join()
    for name, numbers in found.items():
        print(f"{name:<24}", "  ".join(f"{what} {value:8.2f}" for what, value in numbers.items()))
    if (soak := found.get("soak")) is not None:
        growth = soak["MiB 100%"] / soak[f"MiB {100 * WARM // SHARES}%"]
        print(f"memory from {100 * WARM // SHARES} % of the soak to its end: {growth:.2f} (most {MOST_GROWTH})")
        return int(growth > MOST_GROWTH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
