"""What a session knows of calls that wait for their results."""

import contextfold as cf


def calling(*names: str) -> dict[str, object]:
    uses = [{"type": "tool_use", "id": f"call-{name}", "name": name, "input": {}} for name in names]
    return {"role": "assistant", "content": uses}


def answering(*names: str) -> dict[str, object]:
    results = [{"type": "tool_result", "tool_use_id": f"call-{name}", "content": "done"} for name in names]
    return {"role": "user", "content": results}


def test_tools_that_were_called_last_are_open_until_they_answer() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append({"role": "user", "content": "Begin."})
        session.append(calling("read"))
        assert list(session.state.open_tools) == ["read"]
        session.append(answering("read"))
        assert list(session.state.open_tools) == []
        session.append(calling("write", "run"))
        assert sorted(session.state.open_tools) == ["run", "write"]
        session.append({"role": "user", "content": "Never mind."})
        assert list(session.state.open_tools) == []
