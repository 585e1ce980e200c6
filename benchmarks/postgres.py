"""PostgreSQL: an append beside a bare INSERT, bytes on disk, large stores, several processes, LangGraph's saver.

One server of our own, fsync on. What is compared takes turns in one process. A server that is already there can be
named with CONTEXTFOLD_POSTGRES.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from statistics import median, quantiles
from typing import Any, Literal
from uuid import uuid4

import contextfold as cf
from benchmarks.frame import ROOT, Row, absent, at_least, at_most, reported
from contextfold.domain import Appended, BlockShape, Measure, NewEvent, Shape, ThreadRow
from contextfold.store import postgres_logs
from contextfold.testing import histories

MODEL = "claude-sonnet-5-5"
APPENDS = 400
TURNS = 60
MANY = int(os.environ.get("CONTEXTFOLD_BENCH_THREADS", "100000"))
SECONDS = 6.0
_SHAPE = Shape("user", (BlockShape("text", 2_000, Measure((1_500, 500))),), 2_030)


def run() -> list[Row]:
    try:
        import psycopg  # noqa: F401, PLC0415  # an extra
    except ImportError:
        return [absent("PostgreSQL", "pip install 'contextfold[postgres]'")]
    with server() as address:
        measures = (beside_a_bare_insert, bytes_kept, beside_a_saver, large, long, processes)
        return [row for measure in measures for row in measure(address)]


@contextmanager
def server() -> Iterator[str]:
    if named := os.environ.get("CONTEXTFOLD_POSTGRES"):
        yield named
        return
    from tests.postgres_server import running_server  # noqa: PLC0415  # needs pytest

    with running_server(fsync=True) as found:
        yield found.address


def fresh(address: str) -> str:
    """An empty store in a schema of its own."""
    made = f"{address}{'&' if '?' in address else '?'}schema=bench_{uuid4().hex[:12]}"
    postgres_logs().migrate(made)
    return made


def texts(size: int) -> Iterator[str]:
    """Pieces of generated sessions: prose, code and outputs of tools, as agents send them."""
    for seed in count():
        said = "\n".join(str(message.get("content", "")) for message in histories.session(seed, tokens=60_000))
        for start in range(0, len(said) - size, size):
            yield said[start : start + size]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def beside_a_bare_insert(address: str) -> list[Row]:
    import psycopg  # noqa: PLC0415  # an extra

    settings = postgres_logs().PostgresSettings.of(fresh(address))
    log = postgres_logs().PostgresLog(settings, space="default")
    log.create(ThreadRow("t"))
    ours: list[float] = []
    bare: list[float] = []
    with psycopg.connect(settings.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS bare_bytes")
        connection.execute("CREATE TABLE bare_bytes (id bigserial PRIMARY KEY, body bytea)")
        for number, text in zip(range(APPENDS), texts(2_000), strict=False):
            body = text.encode()
            draft = NewEvent(Appended(_SHAPE, "anthropic"), number, 1.5, body)
            bare.append(timed(lambda: connection.execute("INSERT INTO bare_bytes (body) VALUES (%s)", (body,))))  # noqa: B023
            ours.append(timed(lambda: log.append("t", [draft], expected=number)))  # noqa: B023
        connection.execute("DROP TABLE bare_bytes")
    log.close()
    ratio = median(ours[20:]) / median(bare[20:])
    slow = quantiles(ours[20:], n=100)[98] / median(ours[20:])
    return [
        reported("append of 2 KB, p50", 1_000 * median(ours[20:]), "ms"),
        at_most("append / bare INSERT and COMMIT", ratio, 1.5),
        at_most("append, p99 / p50", slow, 3.0),
    ]


def sizes(address: str) -> int:
    import psycopg  # noqa: PLC0415  # an extra

    settings = postgres_logs().PostgresSettings.of(address)
    statement = (
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class AS c"
        " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
    )
    with psycopg.connect(settings.dsn, autocommit=True) as connection:
        connection.execute("VACUUM")
        return int(connection.execute(statement, (settings.schema,)).fetchone()[0])  # type: ignore[index]


def turn(session: cf.Session, question: str, answer: str) -> float:
    """A question, a request and its answer; how long making the request took."""
    session.append({"role": "user", "content": question})
    preparing = timed(lambda: session.prepare(system="Be brief."))
    session.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return preparing


def bytes_kept(address: str) -> list[Row]:
    made = fresh(address)
    empty = sizes(made)
    raw, spoken = 0, texts(2_000)
    times: list[float] = []
    preparing: list[float] = []
    with cf.open(made) as store:
        session = cf.Session.on(store, "t", MODEL)
        for _ in range(500):
            question, answer = next(spoken), next(spoken)
            raw += len(question.encode()) + len(answer.encode())
            times.append(timed(lambda: preparing.append(turn(session, question, answer))))  # noqa: B023
    writing = [whole - part for whole, part in zip(times, preparing, strict=True)]
    longer = "the request is five times as long, and is written whole"
    return [
        at_most("bytes stored / raw", (sizes(made) - empty) / raw, 1.35, note="500 turns of 2 x 2 KB, no folding"),
        reported("a turn of 2 x 2 KB, p50", 1_000 * median(times[20:]), "ms"),
        at_most("both appends of a turn, at 500 / at 100", median(writing[450:]) / median(writing[60:140]), 1.3),
        reported(
            "the request of a turn, at 500 / at 100", median(preparing[450:]) / median(preparing[60:140]), "", longer
        ),
    ]


def beside_a_saver(address: str) -> list[Row]:
    """LangGraph keeps a turn with its PostgresSaver, plain: a state with the whole list of messages, every turn."""
    try:
        empty_checkpoint = import_module("langgraph.checkpoint.base").empty_checkpoint
        saver_class = import_module("langgraph.checkpoint.postgres").PostgresSaver
    except ImportError:  # only compared with, and not in the lock
        return [absent("LangGraph PostgresSaver, a turn", "langgraph-checkpoint-postgres is not installed")]
    said: list[dict[str, str]] = []
    times: list[float] = []
    spoken = texts(2_000)
    with saver_class.from_conn_string(address) as saver:
        saver.setup()
        config = {"configurable": {"thread_id": uuid4().hex, "checkpoint_ns": ""}}
        for number in range(100):
            said += [{"role": role, "content": next(spoken)} for role in ("user", "assistant")]
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = {"messages": list(said)}
            checkpoint["channel_versions"] = {"messages": number}
            step = {"source": "loop", "step": number, "parents": {}}
            times.append(timed(lambda: saver.put(config, checkpoint, step, {"messages": number})))  # noqa: B023
    note = "one checkpoint a turn"
    return [
        reported("LangGraph PostgresSaver, a turn, p50", 1_000 * median(times[5:]), "ms", note),
        reported("LangGraph PostgresSaver, at turn 100 / at 10", median(times[90:]) / median(times[5:15])),
    ]


def large(address: str) -> list[Row]:
    """A turn among few threads and among very many, in stores beside each other."""
    small, big = fresh(address), fresh(address)
    filled(big, MANY)
    filled(small, 100)
    with cf.open(small) as few, cf.open(big) as many:
        sessions = [cf.Session.on(store, "spoken", MODEL) for store in (few, many)]
        times: tuple[list[float], list[float]] = ([], [])
        spoken = texts(2_000)
        for _ in range(TURNS):
            question, answer = next(spoken), next(spoken)
            for session, spent in zip(sessions, times, strict=True):
                spent.append(timed(lambda: turn(session, question, answer)))  # noqa: B023
        opening = [timed(lambda: store.thread("t7")) for store in (few, many)]  # noqa: B023
    note = f"{MANY:,} threads of one message each"
    return [
        at_most("a turn among many threads / among 100", median(times[1][10:]) / median(times[0][10:]), 1.3, note=note),
        reported("opening a thread among many", 1_000 * opening[1], "ms"),
    ]


def long(address: str) -> list[Row]:
    """A turn in a thread of very many messages and in one of 100, whose views show the same."""
    made = fresh(address)
    log = postgres_logs().open_postgres(made)
    for name, messages in (("short", 100), ("long", MANY)):
        log.create(ThreadRow(name, settings={"model": MODEL}))
        for start in range(0, messages, 2_000):
            seqs = range(start, min(messages, start + 2_000))
            log.append(name, [_said(seq) for seq in seqs], expected=start)
    log.close()
    times: tuple[list[float], list[float]] = ([], [])
    with cf.open(made) as store:
        sessions = [cf.Session.on(store, name, MODEL) for name in ("short", "long")]
        sessions[1].thread.fold(range(1, MANY - 99), "All of that.")
        spoken = texts(2_000)
        for _ in range(TURNS):
            question, answer = next(spoken), next(spoken)
            for session, spent in zip(sessions, times, strict=True):
                spent.append(timed(lambda: turn(session, question, answer)))  # noqa: B023
    ratio = median(times[1][10:]) / median(times[0][10:])
    return [at_most("a turn behind many messages / behind 100", ratio, 1.3, note=f"{MANY:,} messages in one thread")]


def _said(seq: int) -> NewEvent:
    role: Literal["user", "assistant"] = "assistant" if seq % 2 else "user"
    body = b'{"role":"%s","content":"%07d"}' % (role.encode(), seq)
    shape = Shape(role, (BlockShape("text", 7, Measure((7, 2))),), len(body))
    return NewEvent(Appended(shape, "anthropic"), seq, 1.5, body)


def filled(address: str, threads: int) -> None:
    """Threads with a message each, written by the server itself from one that was written by us."""
    import psycopg  # noqa: PLC0415  # an extra
    from psycopg import sql  # noqa: PLC0415

    settings = postgres_logs().PostgresSettings.of(address)
    with cf.open(address) as store:
        store.thread("t1").append({"role": "user", "content": next(texts(200))})
    name = sql.Identifier(settings.schema)
    with psycopg.connect(settings.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL(_MORE_THREADS).format(schema=name), (threads,))
        connection.execute(sql.SQL(_MORE_NAMES).format(schema=name))
        connection.execute(sql.SQL(_MORE_EVENTS).format(schema=name))
        connection.execute("VACUUM ANALYZE")


_MORE_THREADS = (
    "INSERT INTO {schema}.threads (space, name, title, start, base, created, at, settings, last, link, changed,"
    " messages, size) SELECT space, convert_to('t' || n, 'UTF8'), convert_to('t' || n, 'UTF8'), 0, base, created, at,"
    " settings, last, link, changed - n, messages, size FROM {schema}.threads, generate_series(2, %s) AS n"
)
_MORE_NAMES = (
    "INSERT INTO {schema}.names (space, digest, name, thread, is_title) SELECT space, sha256(name), name, id, true"
    " FROM {schema}.threads WHERE name <> 't1'"
)
_MORE_EVENTS = (
    "INSERT INTO {schema}.events (space, thread, seq, parent, step, moment, at, event, salt, body, link)"
    " SELECT e.space, t.id, 1, e.parent, 0, t.changed, e.at, e.event, e.salt, e.body, e.link"
    " FROM {schema}.events AS e, {schema}.threads AS t WHERE t.name <> 't1'"
)


def processes(address: str) -> list[Row]:
    """Turns in a second of one process and of four, on 100 threads each, beside bare inserts of one and of four."""
    made = fresh(address)
    postgres = postgres_logs().PostgresSettings.of(made)
    with _connected(postgres.dsn) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare_turns (id bigserial PRIMARY KEY, body bytea)")
    bare = [sum(_speak("bare", postgres.dsn, many)) for many in (1, 4)]
    one, four = (sum(_speak("turns", made, many)) for many in (1, 4))
    with _connected(postgres.dsn) as connection:
        connection.execute("DROP TABLE bare_turns")
    cores = os.cpu_count() or 1
    note = f"{cores} cores for clients and server together"
    scaled = at_least("turns a second, four processes / one", four / one, 2.5, note=note)
    limit = reported(
        "bare inserts a second, four processes / one", bare[1] / bare[0], "", "what the database itself gains"
    )
    if cores < 8:
        scaled = Row(scaled.name, scaled.value, scaled.bar, None, note=f"{note}: not held to the bar")
    gained = at_least("gain of four processes / gain of bare inserts", four / one / (bare[1] / bare[0]), 0.8)
    return [
        reported("turns a second, one process", one),
        reported("turns a second, four processes", four),
        reported("bare inserts a second, one process", bare[0]),
        limit,
        scaled,
        gained,
    ]


def _connected(dsn: str) -> Any:
    import psycopg  # noqa: PLC0415  # an extra

    return psycopg.connect(dsn, autocommit=True)


def _speak(what: str, address: str, many: int) -> list[float]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.postgres", what, address, str(number)],
            env={**os.environ, "PYTHONPATH": path},
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        for number in range(many)
    ]
    return [float(each.communicate(timeout=120)[0]) for each in running]


def speak(address: str, number: str) -> float:
    """Turns a second on threads of our own, after a start that is not counted."""
    spoken = texts(2_000)
    with cf.open(address) as store:
        sessions = [cf.Session.on(store, f"{number}/{each}", MODEL) for each in range(100)]
        for session in sessions:
            turn(session, next(spoken), next(spoken))
        done, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            turn(sessions[done % 100], next(spoken), next(spoken))
            done += 1
    return done / SECONDS


def insert(dsn: str) -> float:
    """Bare inserts a second of what turns would keep."""
    spoken = texts(2_000)
    with _connected(dsn) as connection:
        done, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            connection.execute("INSERT INTO bare_turns (body) VALUES (%s)", (next(spoken).encode(),))
            done += 1
    return done / SECONDS


if __name__ == "__main__":
    print(speak(sys.argv[2], sys.argv[3]) if sys.argv[1] == "turns" else insert(sys.argv[2]))
