"""Bodies sealed with keys outside the database: same chain, same bytes, and nothing to read without the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import quote

import pytest

import contextfold as cf
from contextfold.domain import Origin, ThreadRow, digest
from contextfold.errors import StoreError
from contextfold.testing.log_contract import appended, blob_sent, message

pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")

from contextfold.logs.postgres import PostgresLog, PostgresSettings, open_postgres  # an extra
from contextfold.logs.postgres.connections import Connections

SECRET = b"the word is swordfish"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def opened(postgres_store: str, keys: Path) -> Iterator[Callable[..., PostgresLog]]:
    with ExitStack() as stack:

        def open_one(directory: Path | None = keys) -> PostgresLog:
            ours = "" if directory is None else f"&encrypt_bodies={quote(str(directory), safe='')}"
            return stack.enter_context(closing(open_postgres(postgres_store + ours)))

        yield open_one


def everything(address: str) -> bytes:
    """All rows of all tables, as the server tells them."""
    settings = PostgresSettings.of(address)
    with closing(Connections(settings)) as connections:
        rows = [
            connections.once("SELECT body, salt, event, key FROM {schema}.events"),
            connections.once("SELECT bytes FROM {schema}.blobs"),
        ]
    return b"\n".join(bytes(value) for found in rows for row in found for value in row if value is not None)


def test_a_sealed_thread_reads_as_any_other_and_its_rows_tell_nothing(
    opened: Callable[..., PostgresLog], postgres_store: str, keys: Path
) -> None:
    log = opened()
    log.create(ThreadRow("a"))
    system = b"you are " + SECRET
    log.append("a", [message(SECRET, key="k"), blob_sent(system=system, parent=1)], expected=0, blobs=[system])
    assert log.bodies("a", [1, 2]) == {1: SECRET, 2: b""}
    assert log.blob(digest(system)) == system
    assert log.append("a", [message(SECRET, key="k")], expected=0)[0].seq == 1
    assert log.verify() == []
    assert opened().bodies("a", [1]) == {1: SECRET}
    assert SECRET not in everything(postgres_store)
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in keys.iterdir())


def test_nobody_reads_or_writes_without_the_keys(opened: Callable[..., PostgresLog], tmp_path: Path) -> None:
    log = opened()
    log.create(ThreadRow("a"))
    appended(log, "a", SECRET)
    with pytest.raises(StoreError, match="sealed"):
        opened(None).bodies("a", [1])
    with pytest.raises(StoreError, match="sealed"):
        appended(opened(None), "a", b"plain among sealed")
    with pytest.raises(StoreError, match="key"):
        opened(tmp_path / "other keys").bodies("a", [1])
    opened(None).create(ThreadRow("plain"))
    with pytest.raises(StoreError, match="unsealed"):
        appended(log, "plain", b"sealed among plain")


def test_forgetting_a_thread_destroys_its_key(
    opened: Callable[..., PostgresLog], postgres_store: str, keys: Path
) -> None:
    """Whatever heap, WAL and backups still hold is sealed with a key that is nowhere any more."""
    log = opened()
    log.create(ThreadRow("a"))
    appended(log, "a", SECRET)
    before = {file.name: file.read_bytes() for file in keys.iterdir()}
    kept = everything(postgres_store)
    assert log.forget("a") == 1
    after = [file.read_bytes() for file in keys.iterdir()]
    assert all(secret not in after for secret in before.values())
    assert len(after) == 1
    assert SECRET not in kept
    appended(log, "a", b"afterwards")
    assert opened().bodies("a", [1, 2]) == {2: b"afterwards"}
    assert log.verify() == []


def test_forgetting_a_message_seals_the_rest_anew(opened: Callable[..., PostgresLog], keys: Path) -> None:
    log, other = opened(), opened()
    log.create(ThreadRow("a"))
    appended(log, "a", b"kept", SECRET, b"kept too")
    assert other.bodies("a", [1]) == {1: b"kept"}
    (before,) = (file.read_bytes() for file in keys.iterdir())
    assert log.forget("a", [2]) == 1
    (after,) = (file.read_bytes() for file in keys.iterdir())
    assert before != after
    assert other.bodies("a", [1, 2, 3]) == {1: b"kept", 3: b"kept too"}
    appended(other, "a", b"by one who knew the old key")
    assert log.bodies("a", [4]) == {4: b"by one who knew the old key"}
    assert log.verify() == []


def test_a_blob_and_its_key_go_with_the_last_request_that_names_it(
    opened: Callable[..., PostgresLog], keys: Path
) -> None:
    log = opened()
    log.create(ThreadRow("a"))
    log.append("a", [blob_sent(system=SECRET)], expected=0, blobs=[SECRET])
    assert len(list(keys.iterdir())) == 2
    log.forget("a")
    assert len(list(keys.iterdir())) == 1


def test_sealed_threads_are_forked_and_copied(opened: Callable[..., PostgresLog]) -> None:
    log = opened()
    log.create(ThreadRow("a"))
    appended(log, "a", b"1", b"2")
    log.create(ThreadRow("b", origin=Origin("a", 1)))
    appended(log, "b", b"b2")
    log.restore(ThreadRow("copy"), list(log.sealed("a")))
    assert (log.bodies("b", [2]), log.bodies("copy", [1, 2])) == ({2: b"b2"}, {1: b"1", 2: b"2"})
    assert log.verify() == []


def test_a_whole_session_runs_on_a_sealed_store(postgres_store: str, keys: Path) -> None:
    address = f"{postgres_store}&encrypt_bodies={quote(str(keys), safe='')}"
    with cf.open(address) as store:
        session = cf.Session.on(store, "a", "claude-sonnet-4-5")
        session.append({"role": "user", "content": SECRET.decode()})
        session.prepare(system=SECRET.decode())
        session.append({"role": "assistant", "content": [{"type": "text", "text": "So it is."}]})
        assert store.recall("what is the word?", "a")[0].text == SECRET.decode()
        with pytest.raises(StoreError, match="batch"), store.batch():
            store.forget("a")
    assert not re.search(b"swordfish", everything(postgres_store))
