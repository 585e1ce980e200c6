"""A size that somebody asks for is kept, and filled with what says the most."""

from itertools import product

import pytest

import contextfold as cf
from contextfold.testing import histories

from .scene import WORD, calls, results, step, user

MODEL = "gpt-5"


def opened(*said: object) -> cf.Session:
    session = cf.Session.open(model=MODEL, policy=cf.recipes.balanced().with_(automatic=False))
    for message in said:
        session.append(message)
    return session


@pytest.mark.parametrize("size", [700, 2_000, 8_000, 20_000])
def test_a_session_folded_to_a_size_fills_it_and_does_not_pass_it(size: int) -> None:
    said = histories.session(6, tokens=60_000, language="en")
    session = opened(*said[:-1])
    report = session.fold(to=size)
    assert 0.8 * size < report.after <= size
    assert [fold.kind for fold in report.folds if fold.kind == "summary"] == ["summary"]


def test_a_newest_result_too_large_for_the_size_is_told_of_in_the_digest() -> None:
    fact = "\nThe listener of the shop is bound to PORT_OF_SHOP=48213 in deploy/shop.toml.\n"
    large = WORD * 3_000 + fact + WORD * 3_000
    before = [message for n in range(4) for message in step(f"a{n}", f"{n} " + WORD * 800)]
    session = opened(user("Find the port of the shop."), *before, calls("c1"), results({"c1": large}))
    assert session.fold(to=1_500).after <= 1_500
    shown = "\n".join(message.text for message in session.view.messages)
    assert "PORT_OF_SHOP=48213" in shown
    assert "Find the port of the shop." in shown


def test_a_size_is_filled_where_one_step_alone_is_larger_than_it() -> None:
    towns = ["".join(letters) for letters in product("abde", "lmn", "aeio", "rst", "aeiu")]
    routes = [f"{town}_route = open_route('{town}', {number})" for number, town in enumerate(towns)]
    outputs = {f"c{n}": "\n".join(routes[n::4]) for n in range(4)}  # one call may take a third at most
    session = opened(user("Sort the routes."), calls(*outputs), results(outputs))
    report = session.fold(to=4_000)
    assert 3_600 < report.after <= 4_000
    shown = "\n".join(message.text for message in session.view.messages)
    assert shown.count("= open_route(") > 50
    assert "Sort the routes." in shown


def test_a_pin_stays_whatever_size_is_asked_for() -> None:
    session = opened(user("Never touch sacred.txt."), *step("a", WORD * 2_000), *step("b", WORD * 2_000))
    first = session.view.item(0).seq
    session.thread.pin(first)
    session.fold(to=600)
    assert session.view.item(0).seq == first


def test_a_later_digest_is_made_from_what_was_said_and_not_from_the_one_before() -> None:
    rule = "Use the table called orders_archive_7 for everything that is older than a year."
    session = opened(user(rule), *(message for n in range(20) for message in step(f"a{n}", f"file {n}: " + WORD * 200)))
    session.fold(to=900)
    for message in (message for n in range(20) for message in step(f"b{n}", f"part {n}: " + WORD * 200)):
        session.append(message)
    session.append(user("What about orders_archive_7?"))
    report = session.fold(to=1_200)
    assert rule in report.summary
    assert "Earlier messages" not in report.summary


def test_sizes_that_are_not_small_are_reached_by_clearing_first() -> None:
    session = opened(user("go"), *(message for n in range(60) for message in step(f"a{n}", f"{n} " + WORD * 1_500)))
    kinds = {fold.kind for fold in session.fold(to=50_000).folds}
    assert kinds == {"clear"}
