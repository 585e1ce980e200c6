"""What the model is shown, by phase, permission, environment and budget."""

import datetime
from itertools import product

import pytest
from msgspec.structs import replace

from contextfold.domain import Environment, Phase, encode
from contextfold.errors import BadConfiguration
from contextfold.layers import Task
from contextfold.models import Prices
from contextfold.tokens import counter_for
from contextfold.toolbox import TOP, Limit, Tool, covers, phase_map, project, tool_use, weight
from tests.unit.toolbox.scene import COMMANDS, PATHS, SEED, schema, situation

FIRST = situation(Phase.PLANNING, ("read", "search"))
SECOND = situation(Phase.EXECUTING, ("read", "write", "execute"))
THIRD = situation(Phase.EXECUTING, ("read", "write", "execute", "admin"), "production")


def visible(state: object) -> tuple[str, ...]:
    return project(SEED, state, mode="projected").visible  # type: ignore[arg-type]  # a state


# -- the seed's three examples ------------------------------------------------------------------------------------


def test_planning_shows_what_gathers_information() -> None:
    assert visible(FIRST) == ("search", "readFile")


@pytest.mark.seed("E22", "E20")
def test_executing_shows_what_was_granted_and_still_lets_the_model_read_and_search() -> None:
    found = project(SEED, SECOND, mode="projected")
    assert found.visible == ("search", "readFile", "writeFile", "execute", "test")
    assert found.hidden["deploy"].rule == "permission"
    assert found.hidden["deleteFile"].rule == "permission"


@pytest.mark.seed("E18", "E22")
def test_production_limits_paths_and_commands() -> None:
    found = project(SEED, THIRD, mode="projected")
    assert found.visible == ("search", "readFile", "writeFile", "deleteFile", "execute", "test")
    schemas = {each["name"]: each["input_schema"]["properties"] for each in found}
    assert schemas["deleteFile"]["path"]["enum"] == list(PATHS)
    assert schemas["execute"]["command"]["enum"] == list(COMMANDS)
    assert "enum" not in schemas["writeFile"]["path"]


# -- the table ----------------------------------------------------------------------------------------------------

NEEDS = {"writeFile": "write", "deleteFile": "admin", "execute": "execute", "test": "execute", "deploy": "deploy"}
PHASES = {
    "writeFile": {"executing"},
    "deleteFile": {"executing"},
    "execute": {"executing"},
    "test": {"executing", "reflecting"},
    "deploy": {"executing"},
}
GRANTS = (
    (),
    ("read", "write"),
    ("execute",),
    ("write", "execute", "admin", "deploy"),
    ("*",),
    ("no-deploy", "deploy_readonly"),
)


@pytest.mark.seed("E18", "E19", "E20", "E22")
@pytest.mark.parametrize(("phase", "grants", "where"), [*product(Phase, GRANTS, Environment)])
def test_each_tool_in_each_phase_with_each_permission_in_each_environment(
    phase: Phase, grants: tuple[str, ...], where: Environment
) -> None:
    found = project(SEED, situation(phase, grants, where), mode="projected")
    for tool in SEED:
        reads = not tool.side_effects
        in_phase = reads or phase.value in PHASES[tool.name]
        is_granted = reads or NEEDS[tool.name] in grants or "*" in grants
        assert (tool.name in found.visible) is (in_phase and is_granted), tool.name
        if not in_phase:
            assert found.hidden[tool.name].rule == "phase"
        elif not is_granted:
            assert found.hidden[tool.name].rule == "permission"
    narrowed = {each["name"] for each in found if "enum" in str(each)}
    is_limited = where in (Environment.PROD, Environment.UNKNOWN)
    assert narrowed == ({"deleteFile", "execute"} & set(found.visible) if is_limited else set())


@pytest.mark.seed("E18")
@pytest.mark.parametrize("name", ["prod", "production", "PRODUCTION", "somewhere", "", "unknown"])
def test_production_and_whatever_nobody_knows_are_limited_alike(name: str) -> None:
    found = project(SEED, situation(environment=name, permissions=("execute",)), mode="projected")
    (execute,) = [each for each in found if each["name"] == "execute"]
    assert execute["input_schema"]["properties"]["command"]["enum"] == list(COMMANDS)


@pytest.mark.seed("E18")
def test_an_unknown_environment_has_every_limit_at_once() -> None:
    limits = {"dev": Limit(values={"level": [1, 2, 3]}), "prod": Limit(values={"level": [2, 3, 4]})}
    tool = Tool("tune", schema={"properties": {"level": {}}}, side_effects=False, limits=limits)
    (found,) = project([tool], situation(environment="?"))
    assert found["input_schema"]["properties"]["level"]["enum"] == [2, 3]
    denied = Tool("drop", side_effects=False, limits={"staging": Limit(is_denied=True)})
    assert project([denied], situation(environment="?")).hidden["drop"].rule == "environment"
    assert project([denied], situation(environment="dev")).visible == ("drop",)


# -- permissions --------------------------------------------------------------------------------------------------


@pytest.mark.seed("E19")
@pytest.mark.parametrize(
    ("granted", "required", "is_covered"),
    [
        ("deploy", "deploy", True),
        ("no-deploy", "deploy", False),
        ("deploy_readonly", "deploy", False),
        ("deploy", "deploy_readonly", False),
        ("Deploy", "deploy", False),
        ("fs:*", "fs:write", True),
        ("fs:*", "fs:write:all", True),
        ("fs:*", "fsx:write", False),
        ("fs:*", "fs", False),
        ("fs*", "fs:write", False),
        ("*:write", "fs:write", False),
        ("*", "anything:at all", True),
    ],
)
def test_a_permission_is_its_whole_name_or_an_explicit_wildcard(granted: str, required: str, is_covered: bool) -> None:
    assert covers([granted], required) is is_covered


@pytest.mark.seed("E19")
@pytest.mark.parametrize("required", ["", " ", "fs:*"])
def test_a_tool_cannot_require_what_anything_would_cover(required: str) -> None:
    with pytest.raises(BadConfiguration, match="in full"):
        Tool("x", requires=[required])


@pytest.mark.seed("E20")
def test_side_effects_are_denied_until_phase_and_permission_are_declared_and_granted() -> None:
    silent = Tool("wipe")
    assert project([silent], situation(permissions=("*",))).hidden["wipe"].rule == "phase"
    phased = Tool("wipe", phases=["executing"])
    assert project([phased], situation(permissions=("write", "admin"))).hidden["wipe"].rule == "permission"
    assert project([phased], situation(permissions=("wipe",))).visible == ("wipe",)
    assert project([phased], situation()).hidden["wipe"].rule == "permission"


@pytest.mark.seed("E22")
def test_reading_is_allowed_in_all_phases_unless_told_otherwise() -> None:
    look, late = Tool("look", side_effects=False), Tool("late", side_effects=False, phases=("verifying",))
    for phase in Phase:
        assert "look" in project([look, late], situation(phase)).visible
        assert ("late" in project([look, late], situation(phase)).visible) is (phase is Phase.VERIFYING)


@pytest.mark.seed("E22")
def test_the_map_of_phases_holds_the_seeds_categories_and_those_its_examples_use() -> None:
    found = phase_map()
    assert found["test"] == {Phase.EXECUTING, Phase.REFLECTING}
    assert found["approve"] == {Phase.VERIFYING}
    assert {"deleteFile", "deploy"} <= found.keys()
    assert len(found) == 17


# -- budget -------------------------------------------------------------------------------------------------------


def sized(name: str, priority: int, words: int) -> Tool:
    return Tool(name, "word " * words, side_effects=False, priority=priority)


@pytest.mark.seed("E23")
def test_the_budget_goes_by_priority_passes_over_what_is_too_large_and_keeps_the_order() -> None:
    tools = [sized("low", 1, 50), sized("giant", 90, 5_000), sized("high", 80, 50), sized("middle", 50, 50)]
    room = 2 * weight(tools[0], Environment.DEV, counter_for(None)) + 10
    found = project(tools, situation(), room, mode="projected")
    assert found.visible == ("high", "middle")
    assert found.hidden["giant"].rule == "budget"
    assert found.tokens <= room


@pytest.mark.seed("E23")
def test_a_tool_with_an_open_call_is_never_dropped() -> None:
    tools = [sized("open", 1, 500), sized("high", 80, 50)]
    state = replace(situation(), open_tools=("open",))
    assert "open" in project(tools, state, 100, mode="projected").visible
    urgent = replace(situation(task=Task("now", urgent=True)), open_tools=("open",))
    many = [*(sized(f"tool {n}", 50 + n, 5) for n in range(8)), tools[0]]
    assert "open" in project(many, urgent, mode="projected").visible


@pytest.mark.seed("E25")
def test_urgency_is_said_by_the_task_or_by_a_clock_that_was_passed_in() -> None:
    tools = [sized(f"tool {number}", number, 5) for number in range(9)]
    due = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    state = situation(task=Task("go", deadline=due))
    assert len(project(tools, situation()).visible) == 9
    assert len(project(tools, state).visible) == 9
    assert len(project(tools, state, now=due.timestamp() - 7_200).visible) == 9
    near = project(tools, state, now=due.timestamp() - 600)
    assert near.is_urgent
    assert near.visible == ("tool 4", "tool 5", "tool 6", "tool 7", "tool 8")
    assert len(near.visible) == TOP
    assert near.hidden["tool 0"].rule == "urgency"
    assert len(project(tools, situation(task=Task("go", urgent=True))).visible) == TOP


def test_without_a_budget_everything_fits() -> None:
    assert len(project([sized(f"t{n}", n, 400) for n in range(20)], situation(), None)) == 20


# -- stable and projected -----------------------------------------------------------------------------------------


@pytest.mark.seed("E24", "X10")
def test_stable_definitions_do_not_depend_on_phase_or_permission() -> None:
    states = [situation(phase, grants, "dev") for phase in Phase for grants in GRANTS]
    sent = {encode(list(project(SEED, state))) for state in states}
    assert len(sent) == 1
    assert len({project(SEED, state).visible for state in states}) > 3
    assert len({encode(list(project(SEED, state, mode="projected"))) for state in states}) > 3


@pytest.mark.seed("E24", "X10")
def test_what_each_way_costs_is_told() -> None:
    prices = Prices(3.0, 15.0, 0.3, 3.75)
    chosen = project(SEED, SECOND)
    use = tool_use(chosen, 100_000, prices, is_changed=False, differs=True, waits=False)
    assert use.stable.rewritten == 0
    assert use.projected.rewritten == 100_000 + chosen.projected_tokens
    assert use.stable.dollars == pytest.approx((100_000 + chosen.stable_tokens) * 0.3 / 1e6)
    assert use.projected.dollars == pytest.approx((100_000 + chosen.projected_tokens) * 3.75 / 1e6)
    assert tool_use(chosen, 1, None, is_changed=False, differs=True, waits=False).stable.dollars is None


def test_the_same_inputs_give_the_same_bytes() -> None:
    assert encode(list(project(SEED, THIRD))) == encode(list(project(list(SEED), THIRD)))


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (lambda: project([Tool("a"), Tool("a")], situation()), "same name"),
        (lambda: Tool(" "), "name"),
        (lambda: Tool("a", schema={"properties": ["path"]}), "is none"),
        (lambda: Tool("a", schema={"required": "path"}), "is none"),
        (lambda: Tool("a", phases=["dreaming"]), "no phase"),
        (lambda: Tool("a", schema=schema("path"), limits={"prod": Limit(paths={"file": ["/x"]})}), "does not have"),
    ],
)
def test_declarations_that_cannot_work_are_refused(tools: object, told: str) -> None:
    with pytest.raises(BadConfiguration, match=told):
        tools()  # type: ignore[operator]  # a function


def test_one_name_is_as_good_as_a_list_of_one() -> None:
    tool = Tool("a", phases="executing", requires="write")
    assert tool.required == {"write"}
    assert tool.allowed_phases == {Phase.EXECUTING}


def test_a_list_of_tools_reads_like_a_list() -> None:
    found = project(SEED, SECOND)
    assert len(found) == 7
    assert found[0]["name"] == "search"
    assert [each["name"] for each in found[:2]] == ["search", "readFile"]
