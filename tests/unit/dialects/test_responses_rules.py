"""What the Responses API rejects: a sound request passes, and each rule names what is wrong with a broken one."""

from typing import Any

import pytest

from contextfold.dialects import openai_responses
from contextfold.dialects.openai_responses import OpenAIResponsesDialect

RESPONSES = OpenAIResponsesDialect()
ASKED = {"role": "user", "content": "hi"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "1"}
WORDS = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
SOUND = [ASKED, REASONING, CALL, OUTPUT, WORDS]


def rules(items: Any, **fields: Any) -> list[str]:
    return [problem.rule for problem in RESPONSES.check({"model": "m", "input": items, **fields})]


@pytest.mark.parametrize(
    "items",
    [
        SOUND,
        "hi",
        [ASKED, OUTPUT, CALL],  # pairs are found wherever they stand
        [ASKED, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, WORDS],
        [ASKED, REASONING, REASONING | {"id": "rs_2"}, {"type": "not_invented_yet"}],
        [
            ASKED,
            {"type": "local_shell_call", "call_id": "c", "action": {}},
            {"type": "local_shell_call_output", "id": "c"},
        ],
    ],
)
def test_a_sound_request_passes(items: object) -> None:
    assert rules(items) == []


BROKEN: dict[str, list[Any]] = {
    "malformed": [None, [], [3], [{"content": "a"}], [{**ASKED, "content": 3}], [{**ASKED, "content": ["a"]}]],
    "unknown-role": [[{"role": "tool", "content": "a"}], [{"type": "message", "content": "a"}]],
    "unanswered-call": [[ASKED, CALL], [ASKED, {"type": "shell_call", "call_id": "c"}]],
    "orphan-output": [[ASKED, OUTPUT]],
    "duplicate-call": [[*SOUND, {**CALL, "id": "fc_2"}]],
    "duplicate-output": [[*SOUND, OUTPUT]],
    "missing-call-id": [[ASKED, {**CALL, "call_id": ""}, {**OUTPUT, "call_id": ""}]],
    "malformed-call": [[ASKED, {**CALL, "arguments": {}}, OUTPUT], [ASKED, {**CALL, "name": ""}, OUTPUT]],
    "malformed-output": [[ASKED, CALL, {**OUTPUT, "output": {"a": 1}}], [ASKED, CALL, {**OUTPUT, "output": None}]],
    "reasoning-without-successor": [[ASKED, REASONING], [REASONING, ASKED], [ASKED, CALL, REASONING, OUTPUT, WORDS]],
    "wrong-id": [[ASKED, {**CALL, "id": "call_1"}, OUTPUT], [{**ASKED, "id": "x"}]],
    "duplicate-id": [[*SOUND, WORDS]],
    "misplaced-part": [
        [{"role": "user", "content": [{"type": "output_text", "text": "a"}]}],
        [{"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}],
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    ],
    "empty-message": [[{"role": "user", "content": ""}], [{"role": "user", "content": []}], [{"role": "user"}]],
}


@pytest.mark.parametrize(("rule", "items"), [(rule, items) for rule, found in BROKEN.items() for items in found])
def test_a_broken_request_is_told_by_its_rule(rule: str, items: object) -> None:
    assert set(rules(items)) == {rule}


def test_a_stored_response_and_a_conversation_exclude_each_other() -> None:
    assert rules([ASKED], previous_response_id="resp_1", conversation="conv_1") == ["two-states"]


def test_a_chain_may_answer_calls_that_only_the_provider_has_or_say_nothing_new() -> None:
    assert rules([OUTPUT], previous_response_id="resp_1") == []
    assert rules([], conversation={"id": "conv_1"}) == []


def test_a_strict_server_wants_outputs_right_behind_their_calls() -> None:
    strict = OpenAIResponsesDialect(adjacent=True)
    second = {**CALL, "id": "fc_2", "call_id": "c2"}
    batch = [ASKED, CALL, second, {**OUTPUT, "call_id": "c2"}, OUTPUT]
    assert strict.check({"input": batch}) == []
    assert [problem.rule for problem in strict.check({"input": [ASKED, CALL, WORDS, OUTPUT]})] == ["apart"]


def test_every_rule_is_shown_here() -> None:
    slugs = {rule.__name__.replace("_", "-") for rule in openai_responses.RULES}
    assert slugs | {"malformed"} == {*BROKEN, "two-states", "apart"}
