"""The tools of the seed's example, declared as they must be, and situations to project them in."""

from contextfold.domain import Environment, Phase
from contextfold.layers import Entered, Granted, Item, Moved, State, Task, state_of
from contextfold.toolbox import Limit, Tool

PATHS = ("/tmp/allowed-file-1.txt", "/tmp/allowed-file-2.txt")  # noqa: S108  # names only
COMMANDS = ("npm test", "npm run build", "npm run lint")


def schema(*names: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


SEED = (
    Tool("search", "Find things", schema("query"), category="search", priority=80, side_effects=False),
    Tool("readFile", "Read a file", schema("path"), category="readFile", priority=90, side_effects=False),
    Tool("writeFile", "Write a file", schema("path"), category="writeFile", priority=85, requires=["write"]),
    Tool(
        "deleteFile",
        "Delete a file",
        schema("path"),
        category="deleteFile",
        priority=50,
        requires=["admin"],
        limits={"prod": Limit(paths={"path": PATHS})},
    ),
    Tool(
        "execute",
        "Run a command",
        schema("command"),
        category="execute",
        priority=70,
        requires=["execute"],
        limits={Environment.PROD: Limit(commands={"command": COMMANDS})},
    ),
    Tool("test", "Run the tests", category="test", priority=75, requires=["execute"]),
    Tool("deploy", "Ship it", category="deploy", priority=60, requires=["deploy"]),
)


def situation(
    phase: Phase | str = Phase.EXECUTING,
    permissions: tuple[str, ...] = (),
    environment: Environment | str = Environment.DEV,
    task: Task | None = None,
) -> State:
    changes: list[Item] = [Entered(Phase.of(phase)), Moved(Environment.of(environment))]
    changes += [Granted(each) for each in permissions]
    return state_of([*changes, *([task] if task else [])])
