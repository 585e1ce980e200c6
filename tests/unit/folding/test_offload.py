from hashlib import sha256

import pytest

from contextfold.domain import Text
from contextfold.errors import BadConfiguration
from contextfold.folding.outputs import Offload, Squeeze, artifact_name, content_of
from contextfold.summaries import Refusal
from contextfold.testing.wire import WireMessage
from tests.unit.folding.scene import Scene, assistant, calls, lines, results, step, user

LONG = lines(2_000)  # about 12,000 tokens
SHORT = lines(30)
CUT = Offload(over=5_000)


def shown(scene: Scene, number: int) -> str:
    """The text that stands in for the first folded block of a message."""
    item = next(item for item in scene.view.items if item.seq == scene.seqs[number])
    stand_ins = {fold.id: fold.stand_in for fold in scene.thread.folds}
    return stand_ins[item.folded[0].fold].blocks[item.folded[0].text]


@pytest.mark.seed("C19")
def test_a_large_output_shows_both_ends_and_the_way_to_the_rest() -> None:
    scene = Scene([user("go"), *step("a", LONG)])
    plan = scene.fold(CUT)
    text = shown(scene, 2)
    assert "line 0 of the output" in text
    assert "line 1999 of the output" in text, "errors stand at the end"
    assert "line 1000 of the output" not in text
    assert f"recall(seq={scene.seqs[2]})" in text
    assert 2_000 <= len(text) < 2_600
    assert plan.folds[0].kind == "offload"
    assert scene.problems() == []


@pytest.mark.seed("C19")
def test_the_name_is_made_from_the_content() -> None:
    scene = Scene([user("go"), *step("a", LONG), *step("b", LONG), *step("c", LONG + "!")])
    names = [fold.details["artifact"] for fold in scene.plan(CUT).folds]
    assert names[0] == names[1] != names[2]
    assert names[0] == f"{sha256(LONG.encode()).hexdigest()[:16]}.txt" == artifact_name(LONG)
    result = scene.thread.message(scene.seqs[2]).results[0]
    assert content_of(result) == LONG


def test_an_artifact_is_named_as_the_agents_tools_see_it() -> None:
    scene = Scene([user("go"), *step("a", LONG)])
    plan = scene.plan(Offload(over=5_000, artifacts="/workspace/outputs/"))
    (text,) = plan.folds[0].words(1, "").blocks
    assert f"/workspace/outputs/{artifact_name(LONG)}" in text


def test_what_is_not_large_stays() -> None:
    scene = Scene([user("go"), *step("a", SHORT), *step("b", LONG)])
    scene.fold(CUT)
    assert [item.seq for item in scene.view.items if item.folded] == [scene.seqs[4]]
    assert scene.plan(CUT).refusal is Refusal.NOTHING_TO_FOLD, "and what is aside already is not put aside again"
    assert scene.plan(Offload()).refusal is Refusal.NOTHING_TO_FOLD, "40,000 tokens is the usual size"


def test_at_the_door_only_the_new_message_is_looked_at() -> None:
    scene = Scene([user("go"), *step("a", LONG), calls("b", "c"), results({"b": SHORT, "c": LONG})])
    item, message = scene.view.item(-1), scene.view.messages[-1].message
    plan = CUT.plan_for(item, message, scene.situation())
    assert [fold.blocks for fold in plan.folds] == [((scene.seqs[4], 1),)]
    scene.carry_out(plan)
    item = scene.view.item(-1)
    assert CUT.plan_for(item, message, scene.situation()).refusal is Refusal.NOTHING_TO_FOLD
    asked = scene.view.item(0)
    assert CUT.plan_for(asked, scene.view.messages[0].message, scene.situation()).folds == ()


def test_calibrated_tokens_decide_what_is_large() -> None:
    scene = Scene([user("go"), *step("a", lines(1_000))])
    assert scene.plan(Offload(over=8_000)).folds == ()
    assert scene.plan(Offload(over=8_000), factor=2.0).folds != ()


@pytest.mark.peer("C4", "D4", "A14")
def test_one_huge_newest_result_is_reduced_when_the_request_does_not_fit() -> None:
    scene = Scene([user("go"), *step("small", SHORT), *step("huge", LONG)])
    window = 3_000
    scene.fold(Offload(), window=window, goal=window / scene.tokens, is_forced=True)
    assert scene.tokens <= window
    assert [item.seq for item in scene.view.items if item.folded] == [scene.seqs[4]], "and nothing else"
    assert scene.problems() == []


@pytest.mark.peer("C3")
def test_a_batch_of_thirty_results_shrinks_as_far_as_it_must() -> None:
    names = [f"c{n}" for n in range(30)]
    batch = [calls(*names), results({name: lines(180, name) for name in names})]
    for window in (16_000, 8_000):
        scene = Scene([user("read all thirty"), *batch])
        assert scene.tokens > 25_000
        scene.fold(Offload(), window=window, goal=window / scene.tokens, is_forced=True)
        assert scene.tokens <= window
        assert scene.problems() == []
        assert all("179 of the output" in shown(scene, 2) for _ in names), "each still shows its end"


def test_as_much_as_possible_is_done_where_it_is_not_enough() -> None:
    scene = Scene([user("go"), *step("a", lines(500))])
    plan = scene.plan(Offload(), goal=0.0, is_forced=True)
    assert len(plan.folds) == 1
    assert plan.folds[0].details["saved"] > 2_000  # type: ignore[operator]  # a number


def test_a_result_that_its_preview_would_not_shorten_stays() -> None:
    scene = Scene([user("go"), *step("a", "ok")])
    assert scene.plan(Offload(), goal=0.0, is_forced=True).refusal is Refusal.NOTHING_TO_FOLD


def test_a_pinned_output_stays() -> None:
    scene = Scene([user("go"), *step("a", LONG), assistant("ok"), user("next")])
    scene.thread.pin(scene.seqs[2])
    assert scene.plan(CUT, is_forced=True, goal=0.0).folds == ()


def test_pictures_in_an_output_become_words() -> None:
    picture: WireMessage = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/a.png"}}
    scene = Scene([user("go"), *step("a", [{"type": "text", "text": LONG}, picture])])
    scene.fold(CUT)
    assert "[image: https://pictures.example/a.png]" in shown(scene, 2)
    assert scene.view.count.images == 0
    assert scene.thread.message(scene.seqs[2]).results[0].blocks[0] == Text(LONG)


@pytest.mark.parametrize("options", [{"over": 0}, {"preview": 50}, {"preview": 9_999}])
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadConfiguration):
        Offload(**options)  # type: ignore[arg-type]


def test_a_preview_has_two_hundred_to_two_thousand_characters_and_the_most_by_itself() -> None:
    assert (Offload().preview, Offload(preview=2_000).preview, Offload(preview=200).preview) == (2_000, 2_000, 200)
    for preview in (199, 2_001):
        with pytest.raises(BadConfiguration, match="200 to 2,000"):
            Offload(preview=preview)


def test_a_preview_of_another_length_shows_half_of_it_from_each_end() -> None:
    scene = Scene([user("go"), *step("a", "x" * 30_000 + "y" * 30_000)])
    scene.fold(Offload(over=1_000, preview=400))
    text = shown(scene, 2)
    assert (text.count("xxx"), text.count("yyy")) == (200 // 3, 200 // 3)


def test_squeezing_leaves_pinned_results_and_those_that_may_go_anyway() -> None:
    pinned, open_now = step("a", lines(400)), step("b", lines(400, "newest"))
    scene = Scene([user("go"), *pinned, assistant("So."), user("And now?"), *open_now])
    scene.thread.pin(scene.seqs[2])
    plan = scene.plan(Squeeze(), goal=0.1, trigger="explicit")
    assert [fold.blocks for fold in plan.folds] == [((scene.seqs[6], 0),)]
