from base64 import b64encode

import pytest
from msgspec.structs import replace

from contextfold.domain import Folded, Text, ViewItem
from contextfold.errors import BadConfiguration
from contextfold.folding import Situation
from contextfold.folding.outputs import COMPACTABLE, Clear
from contextfold.models import Model
from contextfold.summaries import Refusal
from contextfold.testing.wire import WireMessage
from tests.unit.folding.scene import Scene, assistant, calls, lines, results, step, user, weigh

BIG = lines(400)  # about 2,500 tokens
SMALL = lines(20)
EAGER = Clear(keep_tokens=0, least_saving=0)


def work(*steps: list[WireMessage], ask: str = "fix it") -> list[WireMessage]:
    """A turn of several steps, answered; then the next request."""
    return [user(ask), *(message for each in steps for message in each), assistant("done"), user("what next?")]


def cleared(scene: Scene) -> list[int]:
    """Numbers of the given messages in which something is folded."""
    folded = {item.seq for item in scene.view.items if item.folded}
    return [number for number, seq in enumerate(scene.seqs) if seq in folded]


def image() -> WireMessage:
    """A picture of 800 by 600, as far as its header goes."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (800).to_bytes(4) + (600).to_bytes(4) + b"\x08\x02\x00\x00\x00"
    data = b64encode(header).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


# -- results --------------------------------------------------------------------------------------------------------


@pytest.mark.seed("C1")
def test_a_result_of_a_hundred_thousand_tokens_is_cleared() -> None:
    huge = lines(16_000)
    scene = Scene(work(step("a", huge), *(step(f"s{n}", SMALL) for n in range(3))))
    assert scene.tokens > 80_000
    plan = scene.fold(Clear())
    assert cleared(scene) == [2]
    assert scene.tokens < 1_500
    assert plan.folds[0].kind == "clear"
    assert plan.folds[0].details["results"] == 1


@pytest.mark.seed("C3", "X8")
def test_the_placeholder_names_the_tool_its_arguments_and_the_handle_and_the_call_stays() -> None:
    scene = Scene(work(step("a", BIG, path="src/shop/cart.py"), *(step(f"s{n}", SMALL) for n in range(3))))
    plan = scene.fold(EAGER)
    (text,) = plan.folds[0].words(99, "").blocks
    assert "read_file" in text
    assert "src/shop/cart.py" in text
    assert f"recall(seq={scene.seqs[2]})" in text
    assert next(item.shape.calls for item in scene.view.items if item.shape.calls) == ("a",)
    assert scene.problems() == []


@pytest.mark.seed("C3")
def test_recent_results_are_protected_by_tokens_so_that_tiny_calls_evict_nothing() -> None:
    tiny = [step(f"t{n}", "ok") for n in range(5)]
    scene = Scene(work(step("old", BIG), step("needed", BIG), *tiny))
    scene.fold(Clear(keep_tokens=3_000, least_saving=0))
    assert cleared(scene) == [2], "three tiny calls came after it, yet the file in use stays"


@pytest.mark.parametrize(("keep", "gone"), [(0, 5), (1, 4), (3, 2), (9, 0)])
@pytest.mark.seed("C5")
def test_the_last_results_stay_and_keeping_none_means_none(keep: int, gone: int) -> None:
    scene = Scene(work(*(step(f"c{n}", BIG) for n in range(5))))
    scene.fold(Clear(keep_tokens=0, keep_results=keep, least_saving=0))
    assert cleared(scene) == [2, 4, 6, 8, 10][:gone]


def test_results_under_a_thousand_tokens_stay() -> None:
    scene = Scene(work(step("small", lines(100)), step("large", lines(300)), *(step(f"s{n}", SMALL) for n in range(3))))
    scene.fold(EAGER)
    assert cleared(scene) == [4]


def test_less_than_the_minimum_saving_is_not_worth_an_edit() -> None:
    def scene(results: int) -> Scene:
        return Scene(work(*(step(f"c{n}", BIG) for n in range(results + 3))))

    strategy = Clear(keep_tokens=0)
    assert scene(5).plan(strategy, window=1_000_000).refusal is Refusal.UNPROFITABLE
    assert len(scene(9).plan(strategy, window=1_000_000).folds[0].blocks) == 9
    assert scene(5).plan(strategy, window=60_000).folds, "a tenth of a small window is enough"


def test_nothing_old_enough_is_said_so() -> None:
    assert Scene(work(step("a", BIG))).plan(Clear()).refusal is Refusal.NOTHING_TO_FOLD
    assert Scene([]).plan(Clear()).refusal is Refusal.NOTHING_TO_FOLD


@pytest.mark.seed("C3")
def test_errors_answers_of_people_and_skills_stay() -> None:
    kept = [
        step("failed", BIG, tool="bash", error=True),
        step("asked", BIG, tool="AskUserQuestion"),
        step("skilled", BIG, tool="load-skill"),
    ]
    scene = Scene(work(*kept, step("found", BIG, tool="grep"), *(step(f"s{n}", SMALL) for n in range(3))))
    scene.fold(EAGER)
    assert cleared(scene) == [8]
    scene.fold(replace(EAGER, keep_errors=False, exempt=frozenset()))
    assert cleared(scene) == [2, 4, 6, 8]


def test_a_list_of_tools_limits_it_however_they_are_spelled() -> None:
    """The seed's eight: `Read` and `read_file` are one tool."""
    assert len(COMPACTABLE) == 8
    steps = [step(tool, BIG, tool=tool) for tool in ("Read", "NotebookEdit", "web_fetch", "list-dir", "deploy")]
    scene = Scene(work(*steps, *(step(f"s{n}", SMALL) for n in range(3))))
    scene.fold(replace(EAGER, tools=COMPACTABLE))
    assert cleared(scene) == [2, 4, 8]


@pytest.mark.seed("C6")
def test_results_made_of_blocks_and_pictures_are_cleared_like_any_other() -> None:
    listed = [{"type": "text", "text": BIG}, image()]
    scene = Scene(work(step("shot", listed), *(step(f"s{n}", SMALL) for n in range(3))))
    before = scene.view.count.images
    scene.fold(EAGER)
    assert cleared(scene) == [2]
    assert (before, scene.view.count.images) == (1, 0)
    assert scene.problems() == []


@pytest.mark.seed("R8")
def test_one_result_of_a_batch_can_go_while_the_others_stay() -> None:
    batch = [calls("a", "b"), results({"a": BIG, "b": SMALL})]
    scene = Scene(work(batch, *(step(f"s{n}", SMALL) for n in range(3))))
    plan = scene.fold(EAGER)
    assert plan.folds[0].blocks == ((scene.seqs[2], 0),)
    assert scene.problems() == []


def test_what_the_model_has_not_answered_yet_is_never_cleared() -> None:
    batch = [calls(*"abcdef"), results(dict.fromkeys("abcdef", BIG))]
    scene = Scene([user("look at all of them"), *batch])
    assert scene.plan(EAGER, is_forced=True).refusal is Refusal.NOTHING_TO_FOLD


def test_a_pinned_result_stays() -> None:
    scene = Scene(work(step("a", BIG), step("b", BIG), *(step(f"s{n}", SMALL) for n in range(3))))
    scene.thread.pin(scene.seqs[2])
    scene.fold(EAGER)
    assert cleared(scene) == [4]


def test_clearing_twice_finds_nothing_more() -> None:
    scene = Scene(work(*(step(f"c{n}", BIG) for n in range(6))))
    scene.fold(EAGER)
    assert scene.plan(EAGER).refusal is Refusal.NOTHING_TO_FOLD


def test_a_request_that_does_not_fit_keeps_less() -> None:
    scene = Scene(work(*(step(f"c{n}", lines(90)) for n in range(10))))
    gentle = Clear()
    assert scene.plan(gentle, 0.5, window=5_000).folds == ()
    scene.fold(gentle, 0.5, window=5_000, is_forced=True)
    assert cleared(scene) == [2, 4, 6, 8, 10, 12, 14]


def test_a_forced_clearing_that_is_enough_stays_gentle() -> None:
    scene = Scene(work(step("huge", lines(4_000)), *(step(f"c{n}", lines(90)) for n in range(10))))
    scene.fold(Clear(keep_tokens=6_000), 0.5, window=20_000, is_forced=True)
    assert cleared(scene) == [2]


def test_whoever_knows_prices_has_the_last_word() -> None:
    asked: list[tuple[int, int]] = []

    def never(saved: int, rewritten: int, _: Situation) -> bool:
        asked.append((saved, rewritten))
        return False

    scene = Scene(work(*(step(f"c{n}", BIG) for n in range(12))))
    strategy = Clear(keep_tokens=0, pays=never)
    assert scene.plan(strategy).refusal is Refusal.UNPROFITABLE
    ((saved, rewritten),) = asked
    assert saved > 20_000
    assert saved + rewritten < scene.tokens
    assert scene.plan(strategy, is_forced=True).folds, "the window forces it, whatever it costs"
    assert len(asked) == 1


@pytest.mark.peer("C5")
@pytest.mark.parametrize("steps", [20, 80])
def test_every_result_is_weighed_once(steps: int) -> None:
    weighed: list[tuple[int, int]] = []

    def weighing(item: ViewItem, block: int) -> int:
        weighed.append((item.seq, block))
        return weigh(item, block)

    scene = Scene(work(*(step(f"c{n}", BIG) for n in range(steps))))
    assert scene.plan(EAGER, weigh=weighing).folds
    assert len(weighed) == len(set(weighed)) == steps


# -- media, reasoning, attachments ----------------------------------------------------------------------------------


def test_pictures_and_documents_of_turns_that_are_over_go_and_those_of_the_live_turn_stay() -> None:
    paper = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": BIG}}
    old = {"role": "user", "content": [{"type": "text", "text": "look"}, image(), paper]}
    live = {"role": "user", "content": [{"type": "text", "text": "and now this"}, image(), paper]}
    scene = Scene([old, assistant("I see"), live])
    plan = scene.fold(EAGER)
    assert plan.folds[0].blocks == ((1, 1), (1, 2))
    assert scene.view.count.images == 1
    assert scene.problems() == []
    assert Scene([old, assistant("I see"), live]).plan(replace(EAGER, media=False)).folds == ()


def test_too_many_pictures_clear_results_of_any_size() -> None:
    shots = [step(f"p{n}", [image()]) for n in range(10)]
    scene = Scene([user("click through"), *(message for each in shots for message in each)])
    assert scene.plan(EAGER).folds == ()
    scene.fold(EAGER, trigger="images")
    assert scene.view.count.images == 4, "the newest, unanswered one, and the three before it"


@pytest.mark.parametrize(
    ("binding", "gone"),
    [("prefix", [1, 3]), ("account", [1, 3]), ("", [3]), ("echo", [3]), ("item", [3]), ("part", [3])],
)
def test_old_reasoning_goes_where_the_model_does_not_ask_for_it_back(binding: str, gone: list[int]) -> None:
    thought = {"type": "thinking", "thinking": lines(200), "signature": "c2lnbmVk"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]}
    turn = [user("go"), calls("a", thought=lines(200)), results({"a": "ok"}), answer]
    scene = Scene([*turn, user("again"), calls("b", thought=lines(200)), results({"b": "ok"})])
    model = Model("bound", binding=binding)  # type: ignore[arg-type]  # a literal
    plan = scene.fold(EAGER, model=model)
    assert cleared(scene) == gone, "never in the live turn"
    assert plan.folds[0].details["binding"] == binding
    assert all(text == "" for text in plan.folds[0].words(99, "").blocks), "no words of ours pass for the model's"
    assert scene.problems() == []


def test_reasoning_can_be_left_alone() -> None:
    thought = {"type": "thinking", "thinking": lines(200), "signature": "c2lnbmVk"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]}
    scene = Scene([user("go"), answer, user("again")])
    assert scene.plan(replace(EAGER, reasoning=False)).folds == ()


@pytest.mark.seed("C4")
def test_clearing_is_an_event_that_names_each_block_for_whoever_kept_a_pointer_to_it() -> None:
    scene = Scene(work(step("a", BIG), *(step(f"s{n}", SMALL) for n in range(3))))
    scene.fold(EAGER)
    event = scene.thread.events[-1].event
    assert isinstance(event, Folded)
    assert (event.kind, event.cover.blocks) == ("clear", ((scene.seqs[2], 0),))
    assert scene.thread.message(scene.seqs[2]).results[0].blocks[0] == Text(BIG), "and what it said is still there"


def test_an_attachment_that_a_newer_one_replaced_goes_and_the_newer_one_stays() -> None:
    scene = Scene([user("go")])
    old, other = scene.attach(f"File cart.py\n{BIG}", "cart.py"), scene.attach(f"File shop.py\n{BIG}", "shop.py")
    scene.attach(f"Loose\n{BIG}")
    scene.thread.append(assistant("ok"))
    scene.attach(f"The same file, told otherwise\nnew {BIG}", "cart.py")
    scene.attach(f"Loose\n{BIG}")
    scene.thread.append(assistant("ok"))
    plan = scene.fold(EAGER)
    assert plan.folds[0].blocks == ((old, 0),)
    assert plan.folds[0].details["attachments"] == 1
    assert [item.seq for item in scene.view.items if item.folded] == [old] != [other]
    assert scene.plan(EAGER).folds == ()


@pytest.mark.parametrize("options", [{"keep_results": -1}, {"keep_tokens": -1}, {"least_tokens": -5}])
def test_negative_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadConfiguration):
        Clear(**options)  # type: ignore[arg-type]


# -- thresholds -------------------------------------------------------------------------------------------------------

OLD = work(step("a", BIG), *(step(f"s{n}", SMALL) for n in range(3)))


def saved_in(scene: Scene) -> int:
    """Raw tokens that clearing what is old saves."""
    saved = scene.plan(EAGER).folds[0].details["saved"]
    assert isinstance(saved, int)
    return saved


def test_clearing_that_was_found_to_pay_is_made_if_it_brings_half_of_what_was_hoped_for() -> None:
    scene = Scene(OLD)
    hoped = 2 * saved_in(scene)
    assert scene.plan(EAGER, 0.0, used=hoped - 1, trigger="clearing-pays").folds
    assert scene.plan(EAGER, 0.0, used=hoped, trigger="clearing-pays").refusal is Refusal.UNPROFITABLE


def test_a_saving_is_enough_if_it_reaches_the_least_or_a_tenth_of_a_small_window() -> None:
    scene = Scene(OLD)
    saved = saved_in(scene)
    assert scene.plan(Clear(keep_tokens=0, least_saving=saved)).folds
    assert scene.plan(Clear(keep_tokens=0, least_saving=saved + 1)).refusal is Refusal.UNPROFITABLE
    assert scene.plan(Clear(keep_tokens=0), window=10 * saved + 9).folds
    assert scene.plan(Clear(keep_tokens=0), window=10 * saved + 10).refusal is Refusal.UNPROFITABLE


def test_only_a_result_of_more_than_the_least_tokens_goes() -> None:
    scene = Scene(OLD)
    tokens = weigh(scene.view.item(2), 0)
    assert scene.plan(Clear(keep_tokens=0, least_saving=0, least_tokens=tokens - 1)).folds
    assert scene.plan(Clear(keep_tokens=0, least_saving=0, least_tokens=tokens)).refusal is Refusal.NOTHING_TO_FOLD


def test_as_many_of_the_newest_tokens_stay_as_it_is_told_and_a_quarter_of_the_window_at_most() -> None:
    scene = Scene(OLD)
    tokens = sum(weigh(scene.view.item(place), 0) for place in (2, 4, 6, 8))
    assert scene.plan(Clear(keep_tokens=tokens, least_saving=0)).refusal is Refusal.NOTHING_TO_FOLD
    assert scene.plan(Clear(keep_tokens=tokens - 1, least_saving=0)).folds
    assert scene.plan(Clear(least_saving=0), window=4 * tokens).refusal is Refusal.NOTHING_TO_FOLD
    assert scene.plan(Clear(least_saving=0), window=4 * tokens - 1).folds


def test_a_small_size_that_somebody_asks_for_is_left_to_a_digest_where_it_should_be() -> None:
    scene, leaving = Scene(OLD), Clear(keep_tokens=0, least_saving=0, leaves_small_sizes=True)
    assert scene.plan(leaving, 1.0, used=32_000, trigger="explicit").folds == ()
    assert scene.plan(leaving, 1.0, used=32_001, trigger="explicit").folds
    assert scene.plan(leaving, 1.0, used=32_000).folds
    assert scene.plan(EAGER, 1.0, used=32_000, trigger="explicit").folds
