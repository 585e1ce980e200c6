"""Files of outputs that were put aside go with their messages, whatever was forgotten before."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextfold as cf
from contextfold.folding import Offload
from tests.conftest import SOAK

pytestmark = pytest.mark.finding("K15")
MODEL = "claude-sonnet-5-5"
NUMBERS = itertools.count()


class Place:
    """A fresh store of one kind, and a directory for outputs."""

    def __init__(self, address: str | Path, directory: Path) -> None:
        self.address, self.artifacts = address, directory / "aside"

    @contextmanager
    def opened(self) -> Iterator[cf.Store]:
        with cf.open(self.address, space=f"files-{next(NUMBERS)}") as store:
            yield store

    def session(self, store: cf.Store, thread: str) -> cf.Session:
        policy = cf.recipes.balanced().with_(door=Offload(over=100))
        return cf.Session.on(store, thread, MODEL, policy, artifacts=self.artifacts)

    def files(self) -> set[str]:
        return {path.name for path in self.artifacts.iterdir()} if self.artifacts.exists() else set()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(tmp_path / "store.db", tmp_path)
    return Place(request.getfixturevalue("postgres_tables"), tmp_path)


def output(number: int) -> str:
    return "\n".join(f"line {line} of output {number}" for line in range(400))


def file_of(number: int) -> str:
    return f"{sha256(output(number).encode()).hexdigest()[:16]}.txt"


def say(session: cf.Session, number: int | None) -> int:
    """Say something, or have a tool put out so much that it is put aside; the seq of the message."""
    if number is None:
        session.append({"role": "user", "content": "Look."})
        return session.append({"role": "assistant", "content": "I look."})
    session.append({"role": "user", "content": "Run it."})
    use = {"type": "tool_use", "id": f"call-{next(NUMBERS)}", "name": "bash", "input": {}}
    session.append({"role": "assistant", "content": [use]})
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": output(number)}
    return session.append({"role": "user", "content": [result]})


@settings(max_examples=12 * SOAK, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=2, max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_in_whatever_order_messages_are_forgotten_their_files_go_with_them_and_no_other(
    place: Place, said: list[int | None], order: object
) -> None:
    shutil.rmtree(place.artifacts, ignore_errors=True)
    with place.opened() as store:
        session = place.session(store, "a")
        left = [(say(session, number), number) for number in said]
        assert place.files() == {file_of(number) for _, number in left if number is not None}
        order.shuffle(left)  # type: ignore[attr-defined]  # what Hypothesis gives is like `random.Random`
        while left:
            seq, _ = left.pop()
            store.forget("a", seq)
            assert place.files() == {file_of(number) for _, number in left if number is not None}
        assert store.verify() == []


@pytest.mark.parametrize("order", list(itertools.permutations(("origin", "fork", "first", "later"), 3)))
def test_files_of_a_fork_go_with_its_own_messages(place: Place, order: tuple[str, ...]) -> None:
    with place.opened() as store:
        session = place.session(store, "origin")
        first, later = say(session, None), say(session, 1)
        session.thread.fork(name="fork")
        with place.session(store, "fork") as forked:
            say(forked, 2)
        assert place.files() == {file_of(1), file_of(2)}
        gone: set[str] = set()
        for each in order:
            if each in ("first", "later"):
                store.forget("origin", first if each == "first" else later)
            else:
                store.forget(each)
            gone.add(each)
            expected = set() if gone & {"origin", "later"} else {file_of(1)}
            assert place.files() == (expected if "fork" in gone else expected | {file_of(2)})
        assert store.verify() == []


def test_a_file_is_gone_though_the_store_was_opened_anew_between(place: Place) -> None:
    with cf.open(place.address, space="anew") as store:
        session = place.session(store, "a")
        first, second = say(session, None), say(session, 7)
        store.forget("a", first)
        assert place.files() == {file_of(7)}
    with cf.open(place.address, space="anew") as store:
        store.forget("a", second)
        assert place.files() == set()
        assert file_of(7) not in str(store.thread("a").events)
