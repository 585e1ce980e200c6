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
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn

import contextfold as cf
from contextfold.gateway import Gateway, GatewaySecrets, GatewaySettings
from contextfold.gateway.server import GatewayServer, bound, serve

SECRETS = GatewaySecrets("tok-0123456789abcdef", b"k" * 32)
DELAY = 0.02
BARE = "/v1/embeddings"  # no turn: forwarded as it is
TURN = "/v1/messages"
WORDS = "the quick brown fox jumps over the lazy dog and runs away into the woods "  # 15 tokens


async def _upstream(_: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(DELAY)
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


def _run_gateway(told: Connection, upstream: str, path: str) -> None:
    settings = GatewaySettings(port=0, upstreams=dict.fromkeys(("anthropic", "openai"), upstream), window=1_000_000)
    listening = bound(settings)
    port = listening.getsockname()[1]
    gateway = Gateway(settings, SECRETS, lambda space: cf.open(path, space=space), port=port)
    serve(GatewayServer(gateway, lambda: told.send(port)), listening)


def _started(target: Any, *arguments: Any) -> tuple[multiprocessing.Process, int]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    return process, ours.recv()


async def _timed(client: aiohttp.ClientSession, url: str, body: bytes) -> float:
    start = time.perf_counter()
    async with client.post(url, data=body, headers={"x-api-key": "k"}) as answer:
        await answer.read()
    assert answer.status == 200, answer.status
    return (time.perf_counter() - start) * 1_000


def _body(messages: Sequence[dict[str, str]]) -> bytes:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    share = 0.1 if parser.parse_args().quick else 1.0
    with tempfile.TemporaryDirectory() as directory:
        upstream, port = _started(_run_upstream)
        direct = f"http://127.0.0.1:{port}"
        gateway, port = _started(_run_gateway, direct, str(Path(directory) / "store.db"))
        try:
            found = asyncio.run(_measure(direct, f"http://127.0.0.1:{port}/{SECRETS.token}", share))
        finally:
            for process in (gateway, upstream):
                process.terminate()
                process.join()
    for name, numbers in found.items():
        print(f"{name:<24}", "  ".join(f"{what} {value:8.2f}" for what, value in numbers.items()))


if __name__ == "__main__":
    main()
