"""One story on every PostgreSQL that is here: Debian's, and those that a package for Python brings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import StoreError
from tests.postgres_server import PostgresServer, installations, running_server, schema_of

pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")
MODEL = "claude-sonnet-4-5"
OTHERS = installations()[1:]  # every other test runs on the first


@pytest.fixture(params=OTHERS, ids=lambda where: where.parent.name)
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    with running_server(where=request.param) as server:
        yield server


def test_turns_forks_forgetting_and_walls_are_the_same_on_every_version(server: PostgresServer, tmp_path: Path) -> None:
    from contextfold.logs.postgres import migrate  # noqa: PLC0415  # an extra

    address = schema_of(server.address)
    migrate(address)
    with cf.open(address) as store:
        session = cf.Session.on(store, "a", MODEL)
        answers: list[int] = []
        for number in range(6):
            session.append({"role": "user", "content": f"question {number}"}, key=f"k{number}")
            session.prepare(system="Be brief.")
            answers.append(
                session.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}]})
            )
        assert session.append({"role": "user", "content": "question 0"}, key="k0") == 1
        session.thread.fold([1], "They began.")
        fork = session.thread.fork(at=answers[-1])
        fork.append({"role": "user", "content": "another way"})
        assert store.forget("a", answers[-1]) >= 1
        assert {row.title for row in store.threads(order="activity")} == {"a", fork.name}
        assert store.recall("question 4", "a")
        assert store.verify() == []
        assert len(store.changes()) > 20
        store.export("a", tmp_path / "a.jsonl")
        assert store.import_(tmp_path / "a.jsonl", name="b").body() == session.thread.body()
    _other_tenants_see_nothing(server, address)


def _other_tenants_see_nothing(server: PostgresServer, address: str) -> None:
    import psycopg  # noqa: PLC0415  # an extra

    from contextfold.logs.postgres import grant  # noqa: PLC0415

    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
    grant(address, role="stranger", space="theirs")
    theirs = address.replace("owner@", "stranger@", 1)
    with cf.open(theirs, space="theirs") as store:
        store.thread("mine").append({"role": "user", "content": "ours"})
        assert len(store.threads()) == 1
    with cf.open(theirs) as walled, pytest.raises(StoreError):
        walled.thread("new")
    with cf.open(theirs) as walled:
        assert not walled.threads()
