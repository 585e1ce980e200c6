"""Write docs/compared.md: contextfold beside others' ways of keeping a history small, on the same recorded runs.

`make compare` runs it. Each way runs in a process and an environment of its own (scripts/peers.py); here every request
that it made is sent to the strict server, counted and priced, all of them the same way.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx

import contextfold as cf
from contextfold import dialects, transcripts
from contextfold.domain import encode
from contextfold.testing.server import StrictServer, strict_server

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
PEERS = ROOT / "scripts" / "peers.py"
MODEL, PRICED, WINDOW = "gpt-4.1", "claude-sonnet-5-5", 32_000
SOURCES, MOST_MESSAGES = ("claude-code", "codex", "pi", "swe-agent"), 200
PRICE: Any = cf.model(PRICED).prices
NAME = re.compile(r"[A-Za-z_][\w./-]{5,}")
LONGEST = 900  # seconds for one way, on a machine with much else to do
ENVIRONMENTS = {"openhands": ".venv-openhands"}
WAYS = (
    *("contextfold", "langchain", "pydantic-ai", "adk", "openhands", "openai-agents"),
    *("litellm-trim", "litellm-compress", "headroom", "everything"),
)
Chat = list[dict[str, Any]]


# -- recorded runs ----------------------------------------------------------------------------------------------------


def recorded(path: Path) -> Chat:
    """A recorded run as Chat Completions messages, up to one that alone takes a quarter of the window."""
    (first, *_) = transcripts.read(path)
    found = [entry.message for entry in first.entries() if isinstance(entry, transcripts.Recorded)]
    with cf.Session.open(model=MODEL, dialect="openai-chat", window=8_000_000) as session:
        for message in found:
            session.append(message, dialect=dialects.detect(message) or transcripts.DIALECT)
        chunks = session.thread.rendering("openai-chat").chunks(session.view, session.thread.lens)
    messages: Chat = [_plain(each) for each in json.loads(b"[" + b",".join(filter(None, chunks)) + b"]")]
    start = next(at for at, each in enumerate(messages) if each["role"] == "user")
    large = (at for at, each in enumerate(messages) if at > start and tokens(encode(each)) > WINDOW // 4)
    return whole(messages[start : min(next(large, len(messages)), start + MOST_MESSAGES)])


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """What every way takes: words and calls."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text") or "") for part in content)
    kept: dict[str, Any] = {name: message[name] for name in ("role", "tool_calls", "tool_call_id") if name in message}
    return {**kept, "content": content or ""}


def whole(messages: Chat) -> Chat:
    """Up to the last answer whose calls are all answered, and none that says nothing."""
    said = [each for each in messages if each["content"] or each.get("tool_calls") or each["role"] == "tool"]
    while said and (said[-1]["role"] != "assistant" or said[-1].get("tool_calls")):
        said.pop()
    return said


def runs() -> list[Chat]:
    """Of each source the run that is longest in tokens."""
    chosen: list[Chat] = []
    for source in SOURCES:
        files = sorted((DATA / source).glob("*.gz"), key=lambda path: -path.stat().st_size)[:6]
        chosen.append(max(map(recorded, files), key=lambda run: sum(tokens(encode(each)) for each in run)))
    return chosen


@cache
def tokens(written: bytes) -> int:
    return cf.count([{"role": "user", "content": written.decode()}], model=MODEL).tokens


# -- judged -----------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The requests of one way: how many are refused or too long, what they cost, what the next answer finds in them."""

    requests: int = 0
    refused: int = 0
    long: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    why: dict[str, int] = field(default_factory=dict)

    def take(self, shown: Chat, before: Sequence[bytes], answer: Names, seconds: float) -> list[bytes]:
        written = [encode(message) for message in shown]
        pairs = enumerate(zip(before, written, strict=False))
        known = next((at for at, (old, new) in pairs if old != new), min(len(before), len(written)))
        sizes = [tokens(each) for each in written]
        self.money += (sum(sizes[:known]) * PRICE.read + sum(sizes[known:]) * PRICE.write) / 1_000_000
        self.requests += 1
        self.tokens += sum(sizes)
        self.long += sum(sizes) > WINDOW
        self.seconds.append(seconds)
        if answer:
            text = b"\n".join(written).decode()
            self.found.append(sum(name in text for name in answer) / len(answer))
        return written

    def refuse(self, rule: str) -> None:
        self.refused += 1
        self.why[rule] = self.why.get(rule, 0) + 1


Names = frozenset[str]


def names_of(run: Chat) -> dict[int, Names]:
    """For each answer the names in it that were said before: what it needed to have in view."""
    before: set[str] = set()
    needed: dict[int, Names] = {}
    for at, message in enumerate(run):
        said = set(NAME.findall(json.dumps(message, ensure_ascii=False)))
        if message["role"] == "assistant":
            needed[at] = frozenset(said & before)
        before |= said
    return needed


def judged(written: Path, recorded_runs: Sequence[Chat], server: StrictServer) -> Tally:
    tally, needed, tools = Tally(), [names_of(run) for run in recorded_runs], [tools_of(run) for run in recorded_runs]
    before: list[bytes] = []
    number = -1
    with httpx.Client(base_url=server.url, timeout=60, headers={"authorization": f"Bearer {server.token}"}) as client:
        for line in lines(written):
            if line["run"] != number:
                number, before = line["run"], []
            before = tally.take(line["shown"], before, needed[number].get(line["at"], frozenset()), line["seconds"])
            body = {"model": MODEL, "messages": line["shown"], **tools[number]}
            if client.post("/v1/chat/completions", json=body).status_code != 200:
                refused = server.last.refused
                tally.refuse(refused.rule if refused is not None else "refused")
    return tally


def lines(written: Path) -> Iterator[dict[str, Any]]:
    with written.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def tools_of(run: Chat) -> dict[str, Any]:
    names = sorted({call["function"]["name"] for message in run for call in message.get("tool_calls") or ()})
    made = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    return {"tools": made} if made else {}


# -- the page ---------------------------------------------------------------------------------------------------------

PAGE = """# Compared

<!-- Made by scripts/compare.py; `make compare` writes it anew. -->

The same {runs} recorded agent runs ({sources}; {requests} requests, each run up to {most} messages and up to a message
that alone takes a quarter of the window, which nobody could fold), asked for again answer by answer in a window of
{window:,} tokens. Whoever summarizes does it with the same extractive digest, so no model's skill is compared. Every
request was sent to the strict server of contextfold's tests as Chat Completions.

{table}

- *Refused*: by the strict server, as providers do: {why}.
- *Too long*: above the window, where the JSON of each message is counted for {model}; whoever decides counts
  otherwise, and contextfold says `CannotFit` rather than send what is too long by its own count.
- *Found*: of the names that the recorded answer takes up from before, the share that the request shows.
- *USD*: the input of all requests at {priced}'s prices: what stands unchanged at the front is read from the cache, the
  rest is written to it. What a summarizing model would cost is in none of them.
  Where fewer requests were asked for, it says of how many: LiteLLM's `trim_messages` takes seconds for each.
- *ms*: the median of making a request, on a machine with much else to do; compare orders of magnitude.
- *Bytes*: of its file for each byte that was said. A dash: it keeps no file of its own here.

{kept}

Where contextfold is behind: it shows less of what was said, and with it fewer of the names, than those that fill the
window to its end or beyond; what it leaves out can be recalled. It takes longer a turn than what only counts or cuts,
because every message is kept in a file before the request is made, and that file is larger than what was said: events,
an index, room to grow. A tie: most of them wrote no request that was refused either.

## How it was run

```sh
make compare
```

Each way runs in a process of its own (`scripts/peers.py`), OpenHands from `requirements/openhands.txt` (Python 3.12),
the others from `requirements/peers.txt`. Thresholds are 80 % of the window, 20 messages are kept where a number is
asked for; nothing else was tuned for anybody. Undoing and `kill -9` were tried for contextfold; of the others it is
said how they are built, which was not measured.

Not run: OpenAI Agents' `OpenAIResponsesCompactionSession` and every other compaction on a provider's servers; LiteLLM's
guardrails that ask a service (its own `compress`, which needs none, was); Headroom's downloaded model.{absent}
"""
COLUMNS = ("", "refused", "too long", "tokens, mean", "found", "USD", "of full history", "ms", "bytes")


def row(told: Mapping[str, Any], tally: Tally, full: Tally) -> tuple[str, ...]:
    name = f"{told['name']} {told['version']}".strip()
    found = f"{100 * statistics.mean(tally.found):.1f} %"
    stored = f"{told['bytes']:.2f}" if "bytes" in told else "–"
    is_whole = tally.requests == full.requests
    money = (f"{tally.money:.2f}", f"{tally.money / full.money:.2f}") if is_whole else (f"of {tally.requests}", "–")
    middle = f"{1_000 * statistics.median(tally.seconds):.1f}"
    mean = f"{tally.tokens // tally.requests:,}"
    return name, str(tally.refused), str(tally.long), mean, found, *money, middle, stored


def table(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(each)} |" for each in (COLUMNS, ("---",) * len(COLUMNS), *rows))


def kept(told: Iterable[Mapping[str, Any]]) -> str:
    """What each keeps, whether a fold can be taken back, and what is there after a kill."""
    rows = [("", "keeps", "undo", "after kill -9"), ("---",) * 4]
    for each in told:
        undone, killed = each.get("undone", "no (not measured)"), each.get("killed", "what it keeps (not measured)")
        rows.append((each["name"].partition(",")[0], each["keeps"], undone, killed))
    return "\n".join(f"| {' | '.join(each)} |" for each in rows)


def asked(way: str, given: Path, written: Path) -> dict[str, Any] | None:
    """What a way tells of itself, having written its requests; None where it could not be run."""
    python = ROOT / ENVIRONMENTS.get(way, ".venv-peers") / "bin" / "python"
    if not python.is_file():
        return None
    done = subprocess.run(
        ["timeout", str(LONGEST), str(python), "-W", "ignore", str(PEERS), way, str(given), str(written)],
        cwd=written.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "HOME": str(written.parent)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def main(ways: Sequence[str]) -> None:
    chosen = runs()
    results: dict[str, tuple[dict[str, Any], Tally]] = {}
    with tempfile.TemporaryDirectory() as directory, strict_server(window=10_000_000) as server:
        server.always("Yes.")
        given, written = Path(directory) / "runs.jsonl", Path(directory) / "requests.jsonl"
        given.write_text("".join(json.dumps(run) + "\n" for run in chosen), encoding="utf-8")
        for way in ways:
            told = asked(way, given, written)
            if told is None:
                sys.stderr.write(f"{way} could not be run\n")
                continue
            results[way] = told, judged(written, chosen, server)
            server.forget()
            server.always("Yes.")
            sys.stdout.write(f"{' | '.join(row(*results[way], results[way][1]))}\n")
            sys.stdout.flush()
    write(chosen, results, [way for way in ways if way not in results])


def write(chosen: Sequence[Chat], results: Mapping[str, tuple[dict[str, Any], Tally]], absent: Sequence[str]) -> None:
    if "everything" not in results:
        return
    full = results["everything"][1]
    why = {rule for _, tally in results.values() for rule in tally.why}
    page = PAGE.format(
        runs=len(chosen),
        sources=", ".join(SOURCES),
        requests=full.requests,
        most=MOST_MESSAGES,
        window=WINDOW,
        priced=PRICED,
        model=MODEL,
        table=table(row(told, tally, full) for told, tally in results.values()),
        why=", ".join(f"`{rule}`" for rule in sorted(why)) or "none was",
        kept=kept(told for way, (told, _) in results.items() if way != "everything"),
        absent=f" Could not be run here: {', '.join(absent)}." if absent else "",
    )
    (ROOT / "docs" / "compared.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or WAYS)
