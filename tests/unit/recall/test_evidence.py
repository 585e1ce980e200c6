"""Any evidence set can be measured: turns come in many shapes, and each ingredient of the ranking finds its answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pytest

from benchmarks.evidence import Evidence, select, spoken

FILLER = "Nothing in particular happened here, we only talked of weather number {} and went on."
MONTHS = ("January", "February", "March", "April", "May", "June")


def conversation() -> list[dict[str, Any]]:
    """Two people, six sessions of twenty turns, each a month after the one before."""
    return [
        {
            "id": f"D{session}:{place}",
            "speaker": ("Caroline", "Melanie")[place % 2],
            "text": FILLER.format(100 * session + place),
            "session": session,
            "date": f"1:56 pm on 8 {MONTHS[session - 1]}, 2023",
        }
        for session in range(1, 7)
        for place in range(20)
    ]


def said(turns: list[dict[str, Any]], **words: str) -> list[dict[str, Any]]:
    """The same turns, with other words at some places."""
    return [{**turn, "text": words.get(turn["id"].replace(":", "_"), turn["text"])} for turn in turns]


def test_all_pieces_of_an_answer_are_shown_in_the_order_they_were_said() -> None:
    turns = said(conversation(), D2_3="I adopted a puppy called Oliver.", D5_7="Took the puppy to the vet today.")
    shown = select(turns, "What did Melanie do with the puppy?", 300)
    assert {"D2:3", "D5:7"} <= set(shown)
    assert shown == sorted(shown, key=[turn["id"] for turn in turns].index)


def test_a_budget_is_filled_and_never_exceeded() -> None:
    turns = said(conversation(), D2_3="I adopted a puppy.")
    indexed = Evidence(tuple(spoken(turns)))
    shown = {turn.id: size for turn, size in zip(indexed.turns, indexed.sizes, strict=True)}
    for budget in (100, 1_000, 100_000):
        names = indexed.select("the puppy", budget)
        left = budget - sum(shown[name] for name in names)
        assert left >= 0
        assert [name for name, size in shown.items() if size <= left and name not in names] == []


def test_names_of_those_who_speak_do_not_count_as_words_but_as_who_is_meant() -> None:
    turns = said(conversation(), **{f"D{n}_4": "Hey Melanie, how are you?" for n in range(1, 7)})
    turns = said(turns, D3_5="My pottery class starts soon.", D3_8="Your pottery class sounds fun, mine is over.")
    places = {turn["id"]: place for place, turn in enumerate(turns)}
    order = Evidence(tuple(spoken(turns))).ranked("When does Mel have her pottery class?")
    assert order.index(places["D3:5"]) < order.index(places["D3:8"]) < order.index(places["D1:4"])


@pytest.mark.parametrize(
    "question",
    ["What happened on 8 May, 2023?", "What happened on May 8th?", "What happened in May?", "2023-05-08?", "5月8日は?"],
)
def test_a_day_is_asked_for_however_it_is_written(question: str) -> None:
    shown = select(conversation(), question, 300)
    assert {name.split(":")[0] for name in shown} == {"D5"}


def test_an_answer_beside_the_question_is_found_and_not_in_another_session() -> None:
    turns = said(conversation(), D3_19="Which instrument shall I learn?", D3_18="The violin, I think.")
    order = Evidence(tuple(spoken(turns))).ranked("instrument to learn")
    assert [turns[place]["id"] for place in order[:3]] == ["D3:19", "D3:18", "D3:17"]


def test_of_two_turns_that_say_the_same_the_one_in_the_better_session_comes_first() -> None:
    same = "We spoke of the harbour once more."
    turns = said(conversation(), D1_2=same, D4_2=same, D4_15="The lighthouse at the harbour is red.")
    order = Evidence(tuple(spoken(turns))).ranked("red lighthouse at the harbour")
    places = {turn["id"]: place for place, turn in enumerate(turns)}
    assert order[0] == places["D4:15"]
    assert order.index(places["D4:2"]) < order.index(places["D1:2"])


def test_names_that_the_first_hit_tells_are_asked_for_again() -> None:
    turns = said(conversation(), D2_3="For the trip I borrowed a tent from Rosalind.", D6_9="Rosalind moved to Oslo.")
    assert "D6:9" in select(turns, "Whose tent was it on the trip?", 250)


def test_when_hits_run_out_the_named_speaker_fills_before_others() -> None:
    turns = said(conversation(), D2_3="I adopted a puppy.")
    order = Evidence(tuple(spoken(turns))).ranked("What about the zeppelin of Caroline?")
    assert {turns[place]["speaker"] for place in order[:60]} == {"Caroline"}
    assert turns[order[0]]["id"] == "D6:18"


@dataclass
class Said:
    dia_id: str
    speaker: str
    text: str
    session_date_time: str


def shapes() -> dict[str, Any]:
    turns = said(conversation(), D2_3="I adopted a puppy.")
    named = [
        {"dia_id": t["id"], "speaker": t["speaker"], "clean_text": t["text"], "session_date_time": t["date"]}
        for t in turns
    ]
    whole: dict[str, Any] = {"speaker_a": "Caroline", "speaker_b": "Melanie"}
    for turn in named:
        session = turn["dia_id"][1:].split(":")[0]
        whole[f"session_{session}_date_time"] = turn["session_date_time"]
        said_there = {"dia_id": turn["dia_id"], "speaker": turn["speaker"], "text": turn["clean_text"]}
        whole.setdefault(f"session_{session}", []).append(said_there)
    return {
        "ours": turns,
        "as LoCoMo names them": named,
        "a whole conversation": whole,
        "a sample": {"conversation": whole, "qa": []},
        "objects": [Said(t["id"], t["speaker"], t["text"], t["date"]) for t in turns],
        "blocks": [{**t, "text": None, "content": [{"type": "text", "text": t["text"]}]} for t in turns],
        "dates": [{**t, "date": date(2023, int(t["session"]), 8)} for t in turns],
        "seconds": [{**t, "date": datetime(2023, t["session"], 8, 12).timestamp()} for t in turns],  # noqa: DTZ001
    }


@pytest.mark.parametrize("shape", shapes())
def test_turns_are_understood_in_the_shapes_they_are_kept_in(shape: str) -> None:
    turns = shapes()[shape]
    assert "D2:3" in select(turns, "Who adopted a puppy?", 100)
    assert {name.split(":")[0] for name in select(turns, "8 May 2023", 300)} == {"D5"}
    ours = [turn._replace(id="", date="", session="") for turn in spoken(shapes()["ours"])]
    assert [turn._replace(id="", date="", session="") for turn in spoken(turns)] == ours


def test_captions_of_pictures_are_found_and_ids_stay_what_they_are() -> None:
    turns = [{"id": n, "text": FILLER.format(n)} for n in range(30)]
    turns[7]["blip_caption"] = "a photo of a lighthouse"
    assert 7 in select(turns, "lighthouse", 60)
    assert 1 in select(["The first.", "A lighthouse."], "lighthouse", 10)
