"""What the model may really do, whatever it was shown."""

import pytest
from anthropic.types import ToolUseBlock

from contextfold.domain import Environment, Text, ToolCall, encode
from contextfold.errors import BadMessage
from contextfold.toolbox import Limit, Tool, enforce, is_allowed_command, is_allowed_path, parsed, project
from tests.unit.toolbox.scene import PATHS, SEED, schema, situation

PROD = situation(permissions=("execute", "admin", "write"), environment="prod")


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("c1", name, encode(arguments).decode())


@pytest.mark.seed("E21")
def test_a_model_that_ignores_the_schema_is_refused_in_words_it_can_read() -> None:
    found = enforce(call("execute", command="rm -rf /"), PROD, SEED)
    assert not found.is_allowed
    assert found.rule == "arguments"
    assert "npm run lint" in found.text
    assert found.result is not None
    assert (found.result.call, found.result.is_error) == ("c1", True)
    assert found.result.blocks == (Text(found.text),)
    assert found.arguments is None


@pytest.mark.seed("E21")
def test_what_is_allowed_comes_with_the_arguments_that_were_checked() -> None:
    found = enforce(call("execute", command="npm test"), PROD, SEED)
    assert found.is_allowed
    assert found.arguments == {"command": "npm test"}
    assert found.result is None
    assert found.text == ""


@pytest.mark.seed("E21", "E19", "E20")
@pytest.mark.parametrize(
    ("name", "state", "rule"),
    [
        ("deploy", situation(permissions=("no-deploy", "deploy_readonly")), "permission"),
        ("writeFile", situation("planning", ("write",)), "phase"),
        ("unheard of", PROD, "unknown"),
        ("writeFile", situation(), "permission"),
    ],
)
def test_hidden_tools_are_refused_though_the_stable_definitions_show_them(name: str, state: object, rule: str) -> None:
    assert enforce(call(name, path="x"), state, SEED).rule == rule  # type: ignore[arg-type]  # a state
    assert enforce(call("readFile", path="x"), state, SEED).is_allowed  # type: ignore[arg-type]


@pytest.mark.seed("E21")
def test_every_call_that_is_projected_away_is_refused_and_every_other_is_not() -> None:
    arguments = {"path": PATHS[0], "command": "npm test", "query": "x"}
    for phase in ("planning", "executing", "reflecting", "verifying"):
        for grants in ((), ("write",), ("execute", "admin"), ("*",)):
            for where in Environment:
                state = situation(phase, grants, where)
                seen = project(SEED, state, None, mode="projected").visible
                for tool in SEED:
                    known = tool.schema.get("properties", {})
                    asked = call(tool.name, **{name: arguments[name] for name in known})
                    assert enforce(asked, state, SEED).is_allowed is (tool.name in seen)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "npm test", "command": "rm -rf /"}',
        '{"command": "npm test", "comm\\u0061nd": "rm"}',
        "not json",
        '["npm test"]',
        '{"command": NaN}',
        '{"command": 7}',
        "{}",
        '{"command": ["npm test"]}',
        "[" * 100_000,
    ],
)
def test_arguments_that_two_readers_could_understand_differently_are_refused(arguments: str) -> None:
    found = enforce(ToolCall("c", "execute", arguments), PROD, SEED)
    assert found.rule == "arguments"


def test_no_arguments_are_an_empty_object() -> None:
    assert parsed("") == {}
    assert enforce(ToolCall("c", "test", ""), PROD, SEED).is_allowed


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("/srv/data/a.txt", True),
        ("/srv/data/deep/er/b", True),
        ("/srv/data//a.txt", True),
        ("/srv/data/./a.txt", True),
        ("//srv/data/a.txt", True),
        ("/etc/hosts", True),
        ("/srv/data/../secret", False),
        ("/srv/database/x", False),
        ("/srv/data", True),
        ("/etc/hosts2", False),
        ("/etc/hosts/x", False),
        ("srv/data/a.txt", False),
        ("\\srv\\data\\a", False),
        ("/srv/data/..\\..\\etc", False),
        ("/srv/data/%2e%2e/etc", False),
        ("/srv/data/%252e%252e%252fetc", False),
        ("/srv/data/\x00", False),
        ("/srv/data/a\nb", False),
        ("~/x", False),
        ("", False),
        (7, False),
        (["/srv/data/a.txt"], False),
    ],
)
def test_a_path_is_allowed_without_detours_only(path: object, is_allowed: bool) -> None:
    assert is_allowed_path(path, ["/srv/data/", "/etc/hosts"]) is is_allowed


@pytest.mark.parametrize(
    ("command", "is_allowed"),
    [
        ("npm test", True),
        (" npm test\n", True),
        ("npm test; rm -rf /", False),
        ("npm test && rm x", False),
        ("npm  test", False),
        ("npm testing", False),
        ("git log --oneline", True),
        ("git log", True),
        ("git log $(rm x)", False),
        ("git log `rm x`", False),
        ("git log | sh", False),
        ("git log > /etc/passwd", False),
        ("git log\nrm x", False),
        ("git push", False),
        ("gitlog", False),
        (None, False),
    ],
)
def test_a_command_is_allowed_to_the_letter_or_with_plain_words_behind_it(command: object, is_allowed: bool) -> None:
    assert is_allowed_command(command, ["npm test", "git log *"]) is is_allowed


def test_limits_name_the_directories_they_allow() -> None:
    limit = Limit(paths={"path": ["/srv/data/"]}, values={"mode": ["r"]})
    tool = Tool("open", schema=schema("path", "mode"), side_effects=False, limits={"prod": limit})
    told = project([tool], PROD)[0]["input_schema"]["properties"]
    assert told["path"]["description"] == "Allowed: /srv/data/."
    assert told["mode"]["enum"] == ["r"]
    assert "must be given" in enforce(call("open", mode="r"), PROD, [tool]).text
    assert not enforce(call("open", path="/srv/data/x", mode="w"), PROD, [tool]).is_allowed
    assert enforce(call("open", path="/srv/data/x", mode="r"), PROD, [tool]).is_allowed


@pytest.mark.parametrize(
    "written",
    [
        {"type": "tool_use", "id": "c1", "name": "readFile", "input": {"path": "x"}},
        {"id": "c1", "type": "function", "function": {"name": "readFile", "arguments": '{"path": "x"}'}},
        {"type": "function_call", "call_id": "c1", "id": "fc", "name": "readFile", "arguments": '{"path": "x"}'},
        {"functionCall": {"id": "c1", "name": "readFile", "args": {"path": "x"}}},
        ToolUseBlock(id="c1", name="readFile", input={"path": "x"}, type="tool_use"),
    ],
)
def test_a_call_may_be_passed_as_its_provider_wrote_it(written: object) -> None:
    found = enforce(written, PROD, SEED)
    assert found.is_allowed
    assert (found.call.id, found.arguments) == ("c1", {"path": "x"})


def test_what_is_no_call_is_refused() -> None:
    with pytest.raises(BadMessage, match="no tool call"):
        enforce({"role": "user"}, PROD, SEED)
