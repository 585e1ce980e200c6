"""A store that fails under a gateway: readiness is right while it does, and service comes back by itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

import contextfold as cf
from contextfold.cli.inspect import store_opener
from contextfold.domain import Appended
from contextfold.gateway import GatewaySettings
from contextfold.gateway.door import Visit
from contextfold.gateway.health import FRESH, LIMIT
from contextfold.gateway.tenant_store import OpenSpace
from contextfold.gateway.tenants import space_of, spaces_in
from tests.acceptance.gateway.house import SECRETS, House, gateway, said, web
from tests.acceptance.gateway.plain_upstream import Answer, plain_upstream
from tests.conftest import SOAK
from tests.crash.store_faults import DiskStore, StoreFault, fill, server_faults, small_disk
from tests.postgres_server import PostgresServer, binaries, schema_of, through
from tests.unit.logs.postgres.proxy import Wire

pytestmark = [pytest.mark.crash, pytest.mark.finding("K12")]

KEYS = ("sk-of-a-tenant", "sk-of-another")
RECOVERED = 10.0  # seconds after a fault ended, at most
NOTICED = FRESH + LIMIT + 2  # seconds after it began, at most, where nobody wrote
LONGEST = 0.3 if SOAK == 1 else 5.0  # seconds that a fault lasts after it was noticed
ROUNDS = 1 if SOAK == 1 else 6
SERVER_ROUNDS = 1 if SOAK == 1 else 7


class Talk:
    """One conversation through a strict gateway; what was answered with 200 is acknowledged."""

    def __init__(self, house: House, key: str = KEYS[0]) -> None:
        self._house, self._key, self.acknowledged, self._number = house, key, list[Any](), 0

    def say(self, text: str = "") -> int:
        spoken = {"role": "user", "content": text or f"question {self._number}"}
        body = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": [*self.acknowledged, spoken]}
        headers = {"x-api-key": self._key, "x-contextfold-thread": "talk"}
        try:
            answer = web().post(f"{self._house.url}/v1/messages", json=body, headers=headers)
        except httpx.HTTPError:  # the answer broke off: it could not be kept
            return 0
        if answer.status_code == 200:
            heard = answer.json()
            self.acknowledged += [spoken, {"role": "assistant", "content": heard["content"]}]
            self._number += 1
        return answer.status_code


def ready(house: House) -> bool:
    return web().get(f"{house.url}/readyz").status_code == 200


def until(house: House, is_ready: bool, most: float) -> float:
    """Seconds until readiness is so."""
    start = time.monotonic()
    while ready(house) is not is_ready:
        assert time.monotonic() - start < most, f"readiness is not {is_ready} after {most} seconds"
    return time.monotonic() - start


def stays_unready(house: House, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert not ready(house)


def endured(house: House, talks: Sequence[Talk], fault: StoreFault, *, writes: bool, lasts: float) -> float:
    """Go through a fault; the seconds from its end until the next request of everybody was kept."""
    assert [talk.say() for talk in talks] == [200] * len(talks)
    talk, begun = talks[0], time.monotonic()
    fault.begin()
    try:
        if fault.is_passing:
            if writes:
                talk.say()
        elif writes and not fault.blocks:
            assert talk.say() != 200
            assert not ready(house)
        else:
            until(house, False, NOTICED)
        if not fault.is_passing:
            stays_unready(house, lasts)
    finally:
        fault.end()
    start, statuses = time.monotonic(), [0]
    while set(statuses) != {200}:
        asked_at = time.monotonic()
        assert asked_at - start < RECOVERED, f"no service {RECOVERED:g} seconds after the fault ended"
        if ready(house):
            statuses = [each.say() for each in talks]
            # Only a proof from before the fault may still stand, for as long as the documentation says.
            assert set(statuses) == {200} or asked_at - begun < FRESH, "ready was said and a write failed"
    return time.monotonic() - start


def space(key: str = KEYS[0]) -> str:
    return space_of(Visit("POST", b"/", b"", ((b"x-api-key", key.encode()),)), SECRETS.tenant_key)


def check_kept(store: cf.Store, talk: Talk) -> None:
    """Everything acknowledged is there, in order, once, and proven."""
    thread = store.thread("named/talk")
    assert said(thread) == talk.acknowledged
    texts = [thread.message(each.seq).raw for each in thread.events if isinstance(each.event, Appended)]
    assert len(texts) == len(talk.acknowledged)
    assert store.verify() == []


@contextmanager
def strict_gateway(path: Path, open_space: OpenSpace, **settings: Any) -> Iterator[House]:
    content = [{"type": "text", "text": "an answer"}]
    told = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "stop_reason": "end_turn"}
    with plain_upstream() as upstream:
        upstream.always = Answer(
            [json.dumps({**told, "content": content, "usage": {"input_tokens": 9, "output_tokens": 3}}).encode()]
        )
        with gateway(path, upstream.url, open_space=open_space, **{"mode": "strict", **settings}) as house:
            yield house


def note(record: Callable[[str, object], None], took: Mapping[str, list[float]]) -> None:
    """Keep what was measured with the test's result: `--junitxml` writes it down."""
    every = [each for kind in took.values() for each in kind]
    record("faults", len(every))
    record("mean seconds until service", round(sum(every) / len(every), 3))
    record("most seconds until service", round(max(every), 3))
    for kind, each in took.items():
        record(kind, f"{len(each)} faults, mean {sum(each) / len(each):.3f} s, most {max(each):.3f} s")


def test_readiness_is_right_and_service_comes_back_after_every_fault_of_a_disk(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    kept_in, chance = DiskStore(tmp_path), Random(12)
    took: dict[str, list[float]] = {}
    with strict_gateway(kept_in.path, kept_in.open) as house:
        talks = [Talk(house, key) for key in KEYS]
        for number in range(ROUNDS):
            faults = list(kept_in.faults().items())
            chance.shuffle(faults)
            for at, (kind, fault) in enumerate(faults):
                lasts, writes = chance.random() * LONGEST, (at + number) % 2 == 0
                took.setdefault(kind, []).append(endured(house, talks, fault, writes=writes, lasts=lasts))
        for key, talk in zip(KEYS, talks, strict=True):
            with kept_in.open(space(key)) as beside:  # as after a crash: nobody closed anything
                check_kept(beside, talk)
    for key, talk in zip(KEYS, talks, strict=True):
        with kept_in.open(space(key)) as store:
            check_kept(store, talk)
    note(record_property, took)


def test_readiness_is_right_and_service_comes_back_after_every_fault_of_a_server(
    postgres_server: PostgresServer,
    postgres_store: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    psycopg = pytest.importorskip("psycopg")
    from contextfold.logs.postgres import PostgresSettings  # noqa: PLC0415  # an extra

    settings = PostgresSettings.of(postgres_store)

    def run(statement: str) -> None:
        with psycopg.connect(settings.dsn, autocommit=True) as connection:
            connection.execute(statement)

    took: dict[str, list[float]] = {}
    chance = Random(12)
    with Wire(postgres_server.directory / ".s.PGSQL.5432") as wire:
        address = through(postgres_store, wire.port) + "&patience=0.5"
        with strict_gateway(tmp_path, spaces_in(address, GatewaySettings())) as house:
            talks = [Talk(house, key) for key in KEYS]
            for number in range(SERVER_ROUNDS):
                faults = server_faults(postgres_server, wire, run, settings.schema)
                for at, (kind, fault) in enumerate(faults.items()):
                    lasts, writes = chance.random() * LONGEST, (at + number) % 2 == 0
                    took.setdefault(kind, []).append(endured(house, talks, fault, writes=writes, lasts=lasts))
        for key, talk in zip(KEYS, talks, strict=True):
            with cf.open(postgres_store, space=space(key)) as store:
                check_kept(store, talk)
    note(record_property, took)


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A small file system of the test's own."""
    with ExitStack() as mounted:
        try:
            folder = mounted.enter_context(small_disk(request.param))
        except OSError as error:
            pytest.skip(f"{error}")
        yield folder


@pytest.mark.parametrize("disk", [4], indirect=True)
def test_a_disk_that_is_full_lets_people_read_and_is_used_again_once_there_is_room(disk: Path) -> None:
    path, ballast = disk / "store.db", disk / "ballast"
    with strict_gateway(path, spaces_in(path, GatewaySettings())) as house:
        talk = Talk(house)
        for _ in range(SOAK):
            assert talk.say() == 200
            fill(ballast)
            until(house, False, NOTICED)
            assert "Make room" in web().get(f"{house.url}/readyz").text
            with store_opener(str(path), read_only=False)(space()) as store:  # as the page does
                assert said(store.thread("named/talk")) == talk.acknowledged
            ballast.unlink()
            until(house, True, RECOVERED)
            assert talk.say() == 200
    with cf.open(path, space=space()) as store:
        check_kept(store, talk)


@pytest.mark.parametrize("disk", [160], indirect=True)
def test_a_server_whose_disk_is_full_is_not_ready_from_the_first_append_that_fails(disk: Path, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    from contextfold.logs.postgres import migrate  # noqa: PLC0415  # an extra

    server = PostgresServer(disk, binaries())
    server.start()
    try:
        address = schema_of(server.address, patience=1)
        migrate(address)
        with strict_gateway(tmp_path, spaces_in(address, GatewaySettings())) as house:
            talk = Talk(house)
            assert talk.say() == 200
            fill(disk / "ballast")
            assert talk.say(Random(12).randbytes(100_000).hex()) == 503
            assert not ready(house)
            stays_unready(house, LONGEST)
            (disk / "ballast").unlink()
            until(house, True, RECOVERED)
            assert talk.say() == 200
        with cf.open(address, space=space()) as store:
            check_kept(store, talk)
    finally:
        server.stop()
