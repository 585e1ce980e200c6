"""A fork of a fork shares what the first thread said, up to the earliest place where the two were cut."""

from pathlib import Path

import contextfold as cf


def texts(thread: cf.Thread) -> list[str]:
    return [message.text for message in thread.view.messages]


def test_a_fork_of_a_fork_cut_before_the_fork_itself_reads_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path) as store:
        first = store.thread("first", model="gpt-5")
        for number in range(1, 6):
            first.append({"role": "user", "content": f"first {number}"})
        second = first.fork(at=5, name="second")
        third = second.fork(at=2, name="third")
        third.append({"role": "user", "content": "third 3"})
        assert texts(third) == ["first 1", "first 2", "third 3"]
    with cf.open(path) as store:
        third = store.thread("third")
        assert texts(third) == ["first 1", "first 2", "third 3"]
        third.append({"role": "user", "content": "third 4"})
        assert texts(third) == ["first 1", "first 2", "third 3", "third 4"]
        assert store.verify() == []


def test_forks_without_a_name_are_numbered_one_after_another() -> None:
    with cf.open() as store:
        thread = store.thread("talk")
        thread.append({"role": "user", "content": "hi"})
        names = [thread.fork().name for _ in range(9)]
        assert names == [f"talk/fork-{number}" for number in range(1, 10)]
