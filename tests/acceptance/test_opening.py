"""Opening a session: recipes by name, windows and limits, mistakes refused at the door, reprs that tell."""

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration, BadMessage

HELLO = {"role": "user", "content": "Hello."}


@pytest.mark.finding("N12")
def test_a_recipe_is_chosen_by_its_name() -> None:
    with cf.Session.open(model="gpt-4o", policy="sliding_window") as session:
        assert session.policy.name == "sliding_window"
    with pytest.raises(BadConfiguration, match="did you mean 'balanced'"):
        cf.Session.open(model="gpt-4o", policy="balnced")
    assert cf.fit([HELLO], model="gpt-4o", policy="summary").body["messages"] == [HELLO]


@pytest.mark.finding("N12")
def test_a_window_and_a_limit_are_said_when_a_session_is_opened() -> None:
    with cf.Session.open(model="my-local-model", window=9_000, limit=4_000) as session:
        assert (session.model.window, session.model.assumed, session.policy.limit) == (9_000, False, 4_000)
        session.append({"role": "user", "content": "word " * 6_000})
        with pytest.raises(cf.CannotFit):
            session.prepare(max_tokens=100)
    with pytest.raises(BadConfiguration, match="window"):
        cf.Session.open(model="my-local-model", window=0)


@pytest.mark.finding("N12")
@pytest.mark.parametrize(
    ("typo", "meant"), [("max_token", "max_tokens"), ("temprature", "temperature"), ("sytem", "system")]
)
def test_a_misspelled_setting_is_refused_with_what_was_meant(typo: str, meant: str) -> None:
    with cf.Session.open(model="gpt-4o") as session:
        session.append(HELLO)
        with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
            session.prepare(**{typo: 10})  # type: ignore[arg-type]
        body = session.prepare(temperature=0.5, some_new_field=1, reasoning_effort="low").body
        assert (body["temperature"], body["some_new_field"]) == (0.5, 1)


@pytest.mark.finding("N12")
@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "name": "ann"}])
def test_a_message_without_content_is_refused_at_the_door(message: dict[str, object]) -> None:
    with cf.Session.open(model="gpt-4o") as session:
        with pytest.raises(BadMessage, match="content"):
            session.append(message)
        with pytest.raises(BadMessage, match="content"):
            session.thread.append(message)
        assert session.stats.messages == 0
        seq = session.append(HELLO)
        with pytest.raises(BadMessage, match="content"):
            session.edit(seq, message)
        assert session.view.messages[-1].seq == seq


@pytest.mark.finding("N12")
def test_what_people_print_says_what_it_is() -> None:
    with cf.Session.open(model="gpt-4o") as session:
        session.append(HELLO)
        told = [repr(each) for each in (session, session.thread, session.view, session.store)]
    assert told[0].startswith("<Session 'main': gpt-4o, balanced, 1 messages shown")
    assert told[1].startswith("<Thread 'main': gpt-4o")
    assert told[2].startswith("<View of 1 messages")
    assert told[3] == "<Store of 1 threads>"
