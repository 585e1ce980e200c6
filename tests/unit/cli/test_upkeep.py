"""Commands that fill, copy and check a store."""

import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.cli.checks import keys_in
from contextfold.cli.commands import COMMANDS
from tests.unit.cli.conftest import MODEL, Cli


def pipe_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.usefixtures("store")
def test_import_reads_a_session_once(cli: Cli, tmp_path: Path) -> None:
    first = cli("import", "session.jsonl", "--as", "again", "--model", MODEL, "--json").json[0]
    assert first["format"] == "plain"
    assert first["new"] == first["messages"] > 10
    second = cli("import", "session.jsonl", "--as", "again", "--json").json[0]
    assert second["new"] == 0
    with (tmp_path / "session.jsonl").open("a") as file:
        file.write('{"role":"user","content":"one more"}\n')
    assert cli("import", "session.jsonl", "--as", "again", "--json").json[0]["new"] == 1


def test_import_makes_a_store_and_says_how_to_look_at_it(cli: Cli, made: Path, tmp_path: Path) -> None:
    told = cli("import", made / "session.jsonl", "--store", "new.db")
    assert told.code == 0
    assert "contextfold show --store=new.db session" in told.err
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("store")
def test_import_never_mixes_two_conversations(cli: Cli) -> None:
    told = cli("import", "session.jsonl", "--as", "refactor-42")
    assert told.code == 2
    assert "--as" in told.err


def test_sessions_that_share_a_file_name_become_threads_of_their_own(cli: Cli, tmp_path: Path) -> None:
    for task in ("one", "two"):
        (tmp_path / task).mkdir()
        (tmp_path / task / "history.jsonl").write_text(f'{{"role":"user","content":"{task}"}}\n')
    told = cli("import", "one", "two", "--json").json
    assert [each["thread"] for each in told] == ["history", "two/history"]
    again = cli("import", "one", "two", "--json").json
    assert [(each["thread"], each["new"]) for each in again] == [("history", 0), ("two/history", 0)]
    both = cli("import", "one", "two", "--as", "task", "--json").json
    assert [each["thread"] for each in both] == ["task", "task-2"]


def test_a_session_that_was_rewritten_is_not_mixed_with_what_it_was(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    rows = ['{"role":"user","content":"a"}', '{"role":"assistant","content":"b"}']
    file.write_text("\n".join(rows) + "\n")
    assert cli("import", "s.jsonl").code == 0
    file.write_text("\n".join([rows[0], rows[1].replace("b", "c")]) + "\n")
    told = cli("import", "s.jsonl")
    assert told.code == 7
    assert "--as" in told.err


def test_import_reports_damaged_lines_or_refuses_them(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"role":"user","content":"a"}\nnot json\n{"role":"assistant","content":"b"}\n')
    told = cli("import", "s.jsonl", "--json").json[0]
    assert (told["messages"], told["skipped"], told["defects"]) == (2, 1, 1)
    strict = cli("import", "s.jsonl", "--strict", "--as", "other")
    assert strict.code == 7
    assert "line 2" in strict.err


def test_import_takes_what_is_piped_in(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b'{"role":"user","content":"hello"}\n')
    assert cli("import", "-", "--as", "piped", "--json").json[0]["messages"] == 1
    assert "hello" in cli("show", "piped").out


@pytest.mark.parametrize(("name", "code"), [("absent.jsonl", 3), ("nonsense.bin", 7), ("contextfold.db", 7)])
@pytest.mark.usefixtures("store")
def test_import_says_what_is_wrong_with_a_file(cli: Cli, tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / "nonsense.bin").write_bytes(bytes(range(256)))
    told = cli("import", name)
    assert told.code == code
    assert "Traceback" not in told.err
    assert told.err.startswith("contextfold: ")


@pytest.mark.usefixtures("store")
def test_a_thread_survives_export_and_import(cli: Cli, tmp_path: Path) -> None:
    before = cli("show", "--json").json
    told = cli("export", "-o", "thread.jsonl", "--json").json
    assert told["bytes"] == (tmp_path / "thread.jsonl").stat().st_size
    assert cli("export").out == (tmp_path / "thread.jsonl").read_text()
    assert cli("export", "-o", "thread.jsonl").code == 2
    assert cli("export", "-o", "body.json", "--format", "request").code == 0
    assert (tmp_path / "body.json").stat().st_mode & 0o077 == 0
    (read,) = cli("import", "thread.jsonl", "--store", "other.db", "--json").json
    assert read["format"] == "contextfold"
    assert cli("show", "--store", "other.db", "--json").json["messages"] == before["messages"]


def test_export_of_a_request_is_what_the_thread_would_send(cli: Cli, store: Path) -> None:
    body = cli("export", "--format", "request", "--dialect", "openai-chat").json
    with cf.open(store) as opened:
        assert body == json.loads(opened.thread("refactor-42").body(dialect="openai-chat", model=MODEL))
    assert cli("export", "--format", "messages", "--dialect", "openai-chat").json == body["messages"]


def test_verify_of_a_sound_and_of_a_damaged_store(cli: Cli, store: Path) -> None:
    assert cli("verify", "--json").json["sound"] is True
    assert "is sound" in cli("verify").out
    with cf.open(store) as opened:
        raw = opened.thread("refactor-42").message(1).raw[-40:-10]
    store.write_bytes(store.read_bytes().replace(raw, raw[::-1]))
    told = cli("verify", "--json")
    assert told.code == 1
    assert told.json["problems"]
    assert "problem" in cli("verify").out
    assert cli("doctor").code == 1


@pytest.mark.usefixtures("store")
def test_backup_is_a_verified_copy(cli: Cli) -> None:
    assert cli("backup", "copy.db", "--json").json["verified"] is True
    assert cli("verify", "--store", "copy.db").code == 0
    assert cli("show", "--store", "copy.db", "--json").json == cli("show", "--json").json
    assert cli("backup", "copy.db").code == 5


@pytest.mark.usefixtures("store")
def test_doctor_looks_at_everything(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_STOER", "x")
    report = cli("doctor", "--model", "nobody-knows-me", "--json").json
    checks = {(check["area"], check["name"]): check for check in report["checks"]}
    assert report["well"] is True
    assert {"apsw", "msgspec", "splintr-rs", "anthropic"} <= {name for area, name in checks if area == "installation"}
    assert checks["store", "integrity"]["state"] == "ok"
    assert "1,000,000" in checks["models", MODEL]["told"]
    assert "by estimate (" in checks["models", MODEL]["told"]
    assert checks["models", "nobody-knows-me"]["state"] == "look"
    assert "CONTEXTFOLD_STORE" in checks["settings", "CONTEXTFOLD_STOER"]["told"]
    assert checks["keys", "keys"]["state"] == "ok"
    assert "1 thing to look at" in cli("doctor").out


def test_doctor_finds_a_key_and_never_shows_it(cli: Cli, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Zx9" * 20
    with cf.open(tmp_path / "contextfold.db") as opened:
        opened.thread("t").append({"role": "user", "content": f"use {key} please"})
    told = cli("doctor")
    assert told.code == 0
    assert "contextfold forget --seq 1 t" in told.out
    assert key not in told.out + told.err
    cli("forget", "t", "--seq", 1, "--yes")
    assert "none found" in cli("doctor").out


def test_doctor_without_a_store_says_how_to_make_one(cli: Cli, tmp_path: Path) -> None:
    assert "contextfold import" in cli("doctor").out
    (tmp_path / "contextfold.db").write_bytes(b"not a database at all, sorry" * 100)
    assert cli("doctor").code == 1


@pytest.mark.usefixtures("store")
def test_doctor_speaks_japanese(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "問題はありません" in cli("doctor", "--lang", "ja").out
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert "インストール" in cli("doctor").out
    assert "Installation" in cli("doctor", "--lang", "en").out


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sk-proj-" + "aB3" * 16, "OpenAI key"),
        ("AKIAIOSFODNN7EXAMPLE", "AWS key"),
        ("ghp_" + "a1B2" * 9, "GitHub token"),
        ("AIza" + "Sy0" * 11 + "ab", "Google key"),
        ("-----BEGIN RSA PRIVATE KEY-----", "private key"),
        ('{"password": "hV8#"}', None),
        ('api_key = "q8Zr2LmX0vT4nB7cW1yK5sD9"', "secret"),
        ('{\\"SECRET_KEY\\": \\"q8Zr2LmX0vT4nB7cW1yK5sD9\\"}', "secret"),
        ("api_key = os.environ_get_the_key_please", None),
        ("secret: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", None),
        ("a perfectly plain sentence about passwords", None),
    ],
)
def test_what_counts_as_a_key(text: str, kind: str | None) -> None:
    assert [key.kind for key in keys_in(f"before {text} after")] == ([kind] if kind else [])


@pytest.mark.usefixtures("store")
def test_count_says_how_it_counted(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, estimated = cli("count", "session.jsonl", "-m", "gpt-6-sol", "-m", MODEL, "--json").json
    assert exact["exact"] is True
    assert estimated["exact"] is False
    assert exact["tokens"] > 1_000
    assert "counted exactly (o200k)" in cli("count", "session.jsonl", "-m", "gpt-6-sol").out
    pipe_in(monkeypatch, b"hello world")
    assert cli("count", "--text", "-", "-m", "gpt-6-sol", "--json").json[0]["messages"] == 1


def test_models_lists_and_explains(cli: Cli) -> None:
    listed = cli("models", "--json").json
    assert len(listed) > 20
    assert MODEL in cli("models").out
    page = cli("models", MODEL, "nobody-knows-me").out
    assert "(assumed)" in page
    assert "window" in page


def test_validate_says_what_a_provider_would_reject(cli: Cli, tmp_path: Path) -> None:
    hello: dict[str, object] = {"role": "user", "content": "hi"}
    good: dict[str, object] = {"model": MODEL, "max_tokens": 10, "messages": [hello]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
    bad = {**good, "messages": [hello, call, {"role": "user", "content": "?"}]}
    (tmp_path / "good.json").write_text(json.dumps(good))
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    (tmp_path / "list.json").write_text("[]")
    assert cli("validate", "good.json", "--dialect", "anthropic").code == 0
    told = cli("validate", "bad.json", "--dialect", "anthropic", "--json")
    assert told.code == 1
    assert told.json["valid"] is False
    assert "messages" in cli("validate", "bad.json", "--dialect", "anthropic").out
    assert cli("validate", "list.json", "--dialect", "anthropic").code == 7
    assert cli("validate", "good.json", "--dialect", "klingon").code in (2, 3)


@pytest.mark.usefixtures("store")
def test_a_thread_is_written_as_a_task_of_roo_code(cli: Cli, tmp_path: Path) -> None:
    assert cli("export", "--format", "roo").code == 2
    assert cli("export", "--format", "roo", "-o", "task", "--json").json["directory"] == "task"
    assert {path.name for path in (tmp_path / "task").iterdir()} >= {
        "api_conversation_history.json",
        "ui_messages.json",
    }
    assert cli("import", "task/api_conversation_history.json", "--as", "back", "--json").json[0]["format"] == "roo-api"


@pytest.mark.usefixtures("store")
def test_a_directory_of_sessions_is_imported_and_counted(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "sessions" / name).write_bytes((tmp_path / "session.jsonl").read_bytes())
    assert [each["thread"] for each in cli("import", "sessions", "--json").json] == ["a", "b"]
    assert len(cli("count", "sessions", "--json").json) == 2


def test_a_request_is_mended_so_that_its_provider_takes_it(cli: Cli, tmp_path: Path) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
    messages = [{"role": "user", "content": "hi"}, call, {"role": "user", "content": "and?"}]
    (tmp_path / "bad.json").write_text(json.dumps({"model": MODEL, "max_tokens": 10, "messages": messages}))
    told = cli("validate", "bad.json", "--repair")
    assert told.code == 0
    assert "note:" in told.err
    (tmp_path / "mended.json").write_text(told.out)
    assert cli("validate", "mended.json").code == 0
    assert cli("validate", "bad.json", "--repair", "-o", "second.json", "--json").json["repairs"]
    assert json.loads((tmp_path / "second.json").read_text()) == json.loads(told.out)


def test_an_imported_thread_has_the_model_it_was_recorded_with(cli: Cli, tmp_path: Path) -> None:
    rows = [
        {
            "type": "user",
            "uuid": "1",
            "parentUuid": None,
            "sessionId": "s",
            "message": {"role": "user", "content": "hi"},
        },
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "s",
            "message": {"id": "m", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "yo"}]},
        },
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert cli("import", "s.jsonl", "--json").json[0]["format"] == "claude-code"
    assert cli("threads", "--json").json[0]["model"] == MODEL


@pytest.fixture
def unwritable(store: Path) -> Iterator[Path]:
    """The store in a folder that this process may read and not write to, whoever it runs as."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(store, folder / "kept.db")
    (folder / "kept.db").chmod(0o444)
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield folder / "kept.db"
    os.seteuid(user)
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def _imported() -> None:
    """Commands import what they need when they run, which somebody else may not be allowed to read."""
    for command in COMMANDS.values():
        import_module(command.module)


@pytest.mark.usefixtures("_imported")
def test_a_store_that_may_not_be_written_to_can_be_looked_at(cli: Cli, unwritable: Path) -> None:
    for line in (
        "threads",
        "show",
        "folds",
        "stats",
        "context",
        "diff",
        "recall test",
        "verify",
        "rewind --after 2 --preview",
    ):
        told = cli(*line.split(), "--store", unwritable)
        assert (told.code, bool(told.out)) == (0, True), (line, told.err)
    for line in ("pin 1", "rewind --after 2", "fork", "archive", "forget refactor-42 --yes", "reindex"):
        told = cli(*line.split(), "--store", unwritable)
        assert told.code == 5, line
        assert "cannot be written to. Check the file, its folder" in told.err, line
