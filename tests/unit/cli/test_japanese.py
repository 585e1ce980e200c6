"""Japanese for everything a person reads: help, errors, reasons. Tests that find what nobody translated."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import distributions, requires
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects, transcripts
from contextfold.cli.arguments import loaded, parser_for, told_in
from contextfold.cli.commands import BUG, COMMANDS, GROUPS, OPTIONS, help_text
from contextfold.cli.help_ja import DESCRIPTIONS, helped
from contextfold.cli.translation import advice_in, in_japanese, label_in
from contextfold.cli.words import say
from contextfold.configuration import FOLDING, SETTINGS
from contextfold.dialects.wire import neutral_bill
from contextfold.errors import CannotFit, CannotUnfold, ContextFoldError, Refused
from contextfold.folding.recipes import RECIPES
from contextfold.gateway.settings import gateway_settings
from contextfold.models import Profile
from contextfold.preferences import adjusted
from contextfold.providers import named
from contextfold.providers.provider import failed
from contextfold.summaries import Refusal
from tests.unit.cli.conftest import Cli

SOURCE = Path(cf.__file__).parent
# What speaks to programs' authors in tests, and what is translated by its own lists.
ELSEWHERE = ("testing",)
JAPANESE = re.compile(r"[ぁ-んァ-ン一-龠]")
# Sentences whose words are given from elsewhere; those are shown to be translated by what is really raised.
GIVEN = {
    "{}{}. See `{} --help`.",
    "{}: {}",
    "{} is {}: {}",
    "profile: {}",
    "{}: {}.",
    "{}: {}. Mend the line, or read without `strict`.",
    "{} for {} ({}). {}",
    "{} Give numbers of tokens as {}, or a provider's own usage.",
    "A message is a JSON object with a role; this is {}. Pass one message at a time.",
}


def sentences() -> Iterator[tuple[str, str]]:
    """Every sentence that an error is made with, its fields open, and where it stands."""
    errors = {each.__name__ for each in known_errors(ContextFoldError)} | {"UsageError", "NotConfirmed"}
    errors -= {"MissingExtra"}  # told in both languages by itself
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] in ELSEWHERE:
            continue
        module = ast.parse(path.read_text("utf-8"))
        for call in (node for node in ast.walk(module) if isinstance(node, ast.Call) and node.args):
            place = f"{path.relative_to(SOURCE)}:{call.lineno}"
            match call.func:
                case ast.Name(name) if name in errors:
                    yield from ((words, place) for words in written(call.args[0], module))
                case ast.Attribute(_, "refuse") if "transcripts" in path.parts:
                    yield from ((f"{{}}: {words}.", place) for words in written(call.args[0], module))


def written(node: ast.expr, module: ast.Module) -> Iterator[str]:
    """The words of an argument: as they stand, or as a name or a function of its module has them."""
    for each in ast.walk(module):
        match node, each:
            case ast.Name(name), ast.Assign([ast.Name(target)], value) if name == target:
                yield from filter(None, [filled(value)])
            case ast.Call(ast.Name(name)), ast.FunctionDef(name=target) if name == target:
                returned = [inner.value for inner in ast.walk(each) if isinstance(inner, ast.Return)]
                yield from filter(None, (filled(value) for value in returned if value is not None))
    yield from filter(None, [filled(node)])


def known_errors(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from known_errors(each)


def filled(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
    return "".join(parts)


@pytest.mark.finding("N15")
@pytest.mark.finding("S10")
def test_every_sentence_that_is_raised_has_its_japanese() -> None:
    found = list(sentences())
    assert len(found) > 290
    rooms = {place.partition("/")[0].partition(":")[0] for _, place in found}
    assert rooms >= {
        "workspace",
        "layers",
        "toolbox",
        "providers",
        "dialects",
        "domain",
        "folding",
        "models",
        "gateway",
    }
    missing = [f"{place}: {words}" for words, place in found if words not in GIVEN and not is_translated(words)]
    assert missing == []


def is_translated(words: str) -> bool:
    """Fields may hold a guess or nothing, as `nearest` gives them."""
    guesses = ("'x'", ".", "; did you mean 'y'? Known: z.", ". Known: z.", "; did you mean 'y'?", "x has 3 threads", "")
    return any(JAPANESE.search(in_japanese(one_by_one(words, guess))) for guess in guesses)


def one_by_one(words: str, last: str) -> str:
    """The last field gets the guess, and so does the one before a fixed ending; the others a word."""
    for place in range(words.count("{}")):
        is_guess = place == words.count("{}") or words.find("{}{}") == words.find("{}") or words.count("{}") == 1
        words = words.replace("{}", last if is_guess or last in words else "'x'", 1)
    return words


def told_by(doing: Callable[[], object]) -> str:
    with pytest.raises(ContextFoldError) as caught:
        doing()
    return str(caught.value)


@pytest.mark.finding("N15")
@pytest.mark.finding("S10")
def test_errors_that_are_built_of_reasons_are_japanese_throughout(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl").write_text('{"role": "user", "content": "hi"}\n[1]\n{"role"\n', "utf-8")
    (tmp_path / "zip.jsonl").write_bytes(b"PK\x03\x04....")
    threads = cf.open(":memory:")
    raised = [
        told_by(lambda: [list(each.entries()) for each in transcripts.read(tmp_path / "cut.jsonl", strict=True)]),
        told_by(lambda: list(transcripts.read(tmp_path / "zip.jsonl"))),
        told_by(lambda: threads.thread("t").append(3)),
        told_by(lambda: dialects.find("anthropic").parse(b'{"role": 3, "content": "x"}')),
        told_by(lambda: neutral_bill({"input": 3, "tokens": 4})),
        told_by(lambda: gateway_settings({"port": "x"}, "contextfold.toml [gateway]")),
        told_by(lambda: gateway_settings({"port": 70_000}, "contextfold.toml [gateway]")),
        told_by(lambda: adjusted(cf.recipes.sliding_window(), Profile(condensing_prompt="x"))),
        told_by(lambda: named("nobodys-model")),
        *(str(failed(error, "anthropic", "claude")) for error in failures()),
    ]
    for english in raised:
        japanese = in_japanese(english)
        assert JAPANESE.search(japanese), english
        assert not re.search(r"[a-z]{2,} [a-z]+ [a-z]{2,}", japanese), japanese


def failures() -> Iterator[Exception]:
    """What an SDK raises, by its status."""
    for status in (401, 402, 404, 413, 500):
        error = RuntimeError("x")
        vars(error)["status_code"] = status
        yield error
    yield from (RuntimeError("x"), ValueError("x"), ConnectionError("x"), RuntimeError("no api_key"))


@pytest.mark.finding("N15")
def test_parts_of_a_request_that_does_not_fit_are_named_in_japanese() -> None:
    parts = {"the live request": 5_000, "room for the answer": 1_024, "pins and system messages": 7}
    told = in_japanese(str(CannotFit(parts, 4_000)))
    assert "進行中の依頼 5,000、回答用の余地 1,024、ピンとシステムメッセージ 7" in told
    assert "6,031 トークン" in told
    assert not re.search(r"live|room|pins", told)
    assert JAPANESE.search(in_japanese(str(CannotUnfold(7, parts, 4_000))))
    assert JAPANESE.search(in_japanese(str(Refused("toolu_1", "no"))))
    assert "枚の画像" in in_japanese(str(CannotFit({"the live request": 30}, 20, "images")))


@pytest.mark.finding("S10")
@pytest.mark.parametrize("refusal", Refusal)
def test_every_reason_for_not_folding_is_said_in_words(refusal: Refusal) -> None:
    english, japanese = say(f"refused.{refusal.value}", "en"), say(f"refused.{refusal.value}", "ja")
    assert len(english.split()) > 2
    assert JAPANESE.search(japanese)


@pytest.mark.finding("N15")
def test_help_is_japanese_where_the_language_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not JAPANESE.search(cli("--help").out)
    assert "使い方" in cli("--lang", "ja", "--help").out
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert cli("--help").out == cli("help").out == help_text("ja")
    told = cli("fold", "--help").out
    assert "オプション" in told
    assert "このモデルに要約を書かせる" in told


@pytest.mark.finding("N15")
def test_every_word_of_the_help_has_its_japanese() -> None:
    words = [*GROUPS, *(about for _, about in OPTIONS.values()), *(command.about for command in COMMANDS.values())]
    for command in COMMANDS.values():
        parser = parser_for(command, "")
        loaded(command).arguments(parser)
        words += [action.help for action in parser._actions if action.help and action.help != "==SUPPRESS=="]
        assert all(
            JAPANESE.search(action.help or "あ") for action in told_in(parser, "ja")._actions if is_shown(action)
        )
    assert [each for each in words if helped(each, "ja") == each] == []


@pytest.mark.finding("N15")
def test_every_command_explains_itself_in_japanese_at_the_same_length(cli: Cli) -> None:
    assert DESCRIPTIONS.keys() == COMMANDS.keys()
    for name, command in COMMANDS.items():
        english = loaded(command).about.partition("\n\nExamples:\n")[0]
        japanese = DESCRIPTIONS[name]
        assert english.count("\n\n") == japanese.count("\n\n"), name  # a paragraph for each
        assert sorted(re.findall(r"--[a-z-]+", english)) == sorted(re.findall(r"--[a-z-]+", japanese)), name
        assert max(map(columns, japanese.splitlines())) <= 110, name
    assert DESCRIPTIONS["forget"] in cli("forget", "--help", "--lang", "ja").out


@pytest.mark.finding("N15")
def test_commands_print_no_word_that_stands_in_their_own_file() -> None:
    found = []
    for path in sorted((SOURCE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in PRINTING:
                said = {word for arg in node.args for text in printed(arg) for word in re.findall(r"[a-z]{2,}", text)}
                found += [f"{path.name}:{node.lineno}: {word}" for word in sorted(said - {"export", "contextfold"})]
    assert found == []


PRINTING = ("line", "note", "text", "item", "lines", "prompt", "table")


def printed(node: ast.AST) -> Iterator[str]:
    """The texts in an expression that reach the page as they stand; not those that are looked up, nor styles, keys."""
    match node:
        case ast.Call(ast.Name("Ink"), [first, *_]):
            yield from printed(first)
        case ast.Call() | ast.Subscript() | ast.Compare():
            return
        case ast.FormattedValue(value):
            yield from printed(value)
        case ast.IfExp(_, body, orelse):
            yield from printed(body)
            yield from printed(orelse)
        case ast.Constant(str(text)):
            yield text
        case _:
            for child in ast.iter_child_nodes(node):
                yield from printed(child)


@pytest.mark.finding("N15")
def test_advice_about_requests_and_stores_and_what_repairs_did_is_japanese(cli: Cli, tmp_path: Path) -> None:
    found: list[str] = []
    for path in (*(SOURCE / "dialects").rglob("*.py"), *(SOURCE / "logs").rglob("*.py")):
        module = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and len(node.args) > 1:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name == "malformed" or (name in ("Problem", "note") and len(node.args) > 2):
                    found += written(node.args[-1], module)
    assert len(found) > 160
    built = {"The call_id {} was used before. {}"}
    told = {each: advice_in("ja", each.replace("{}", "x")) for each in found if each not in built}
    assert [each for each, japanese in told.items() if not JAPANESE.search(japanese)] == []
    request = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "assistant", "content": "hi"}]}
    (tmp_path / "body.json").write_text(json.dumps(request), "utf-8")
    shown = cli("validate", tmp_path / "body.json", "--lang", "ja")
    assert "先頭にユーザーのメッセージを置いてください" in shown.out
    assert "ユーザーのメッセージを置きました" in cli("validate", tmp_path / "body.json", "--repair", "--lang", "ja").err


@pytest.mark.finding("N15")
def test_the_doctor_tells_in_japanese_why_a_store_does_not_open(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "contextfold.db").write_bytes(b"no store" * 1_000)
    assert "contextfold のストアではないか" in cli("doctor", "--lang", "ja").out
    assert "is not a contextfold store" in cli("doctor").out


@pytest.mark.finding("N15")
def test_warnings_are_japanese_notes(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contextfold.toml").write_text('store = "/elsewhere/contextfold.db"\n', "utf-8")
    assert "作業ディレクトリ" in cli("config", "--lang", "ja").err
    assert "lies in the working directory" in cli("config").err


def is_shown(action: object) -> bool:
    told = str(getattr(action, "help", ""))
    return told != "==SUPPRESS==" and not told.startswith(("en または", "auto、", "bash、"))


@pytest.mark.finding("N15")
def test_errors_are_japanese_and_the_head_is_no_beginning(cli: Cli, store: Path) -> None:
    assert store.exists()
    for arguments in (("show", "nix"), ("shwo",), ("show", "--frob"), ("show", "--last", "x"), ("unfold", "9999")):
        ran = cli(*arguments, "--lang", "ja")
        assert JAPANESE.search(ran.err.partition("：")[2]), ran.err
        assert "Known" not in ran.err
        assert "There is" not in ran.err
    assert "先頭" not in cli("rewind", "--before", "3", "--lang", "ja").out
    assert "現在位置" in cli("redo", "--lang", "ja").out
    assert "There is no" in cli("show", "nix", "--lang", "ja", "--json").err  # programs read English


# Names that stay as they are: settings, recipes, files, models, formats, rules, what people type.
NAMES = set(RECIPES) | {each.key for each in SETTINGS} | set(FOLDING)
_OTHER_NAMES = """
    /contextfold.toml always answer anthropic anthropics/skills auto body.json catalogue claude claude-4.7
    claude-code claude-sonet-5-5 claude-sonnet-5-5 command contextfold contextfold-plugin contextfold.db
    contextfold.toml default dry-run en ends-with-assistant estimate:claude-4.7 first-from-user fold folded
    full GiB import ja kept.db left-out litellm max_input_tokens memory:user messages never nomodel
    ok Opus other.db path plain platform.claude.com plugin postgresql preserved-thinking prompt-caching Python
    read_file recall recorded repaired.json seq serve session session.jsonl settings.json show Sonnet SQLite
    src/app.py status statusLine thread.jsonl type unfold USD wrap
"""
NAMES |= set(_OTHER_NAMES.split())
# Each command with what it is given, in the order in which a person might; all on one Japanese thread.
COMMAND_LINES = (
    """threads; threads --names; models claude-sonnet-5-5 nomodel claude-sonet-5-5; count session.jsonl -m nomodel;
    count session.jsonl -m claude-sonet-5-5; show; show --full; show --last 1; context; folds; stats; config;
    fold --preview; fold --to 2k; diff; recall 港; recall 潮; recall --seq 1; unfold 9999; doctor; usage;
    memory add 太郎 紅茶が好きです --kind preference; memory list 太郎; memory forget 太郎 1; memory list 太郎""",
    """pin 1; unpin 1; checkpoint 朝; checkpoint; rewind --before 5 --preview; rewind --before 3; redo;
    fork 岬 -t 港 --at 9; threads; rename 岬 崎; archive 崎; threads --all; unarchive 崎; forget 崎; forget 崎 --yes;
    threads --all; retention --older 180d; export 港 -o thread.jsonl; import session.jsonl;
    import thread.jsonl --as 島; verify; copy other.db; backup kept.db; reindex; migrate; workspace adopt .;
    usage session.jsonl; validate body.json; validate body.json --repair -o repaired.json; plugin claude-code;
    top --once; trust; trust --revoke; trust 港; wrap""",
    "replay session.jsonl -w 8k -p balanced,sliding_window,claude_code",
)
# These stay until they are stopped, speak a protocol, write a script, or are a tour that has tests of its own: their
# few words are looked at in their files, above.
STAYING = {"serve", "mcp", "inspect", "completion", "demo"}


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a Japanese session, a request that is no good, and a store that holds the session, folded."""
    place, messages = tmp_path_factory.mktemp("harbour"), list(japanese_messages())
    (place / "session.jsonl").write_text("\n".join(json.dumps(each) for each in messages), "utf-8")
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": messages[1:4]}
    (place / "body.json").write_text(json.dumps(body), "utf-8")
    (place / "contextfold.toml").write_text('language = "ja"\n', "utf-8")
    with cf.Session.open(place / "contextfold.db", thread="港", model="claude-sonnet-5-5", window=8_000) as session:
        for message in messages:
            session.append(message)
            if message["role"] == "user":
                session.prepare(max_tokens=500)
        assert session.folds
    return place


@pytest.mark.finding("N15")
@pytest.mark.parametrize("lines", COMMAND_LINES, ids=["looking", "changing", "replaying"])
def test_no_word_that_a_command_shows_of_a_japanese_thread_is_english(
    cli: Cli, harbour: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(harbour, tmp_path, dirs_exist_ok=True)
    found: dict[str, list[str]] = {}
    for line in map(str.split, lines.split(";")):
        ran = cli(*line, "--lang", "ja")
        assert ran.code != BUG, ran.err
        assert JAPANESE.search(ran.out + ran.err), line
        if strange := english_in(f"{ran.out}\n{ran.err}".replace(str(tmp_path), "")):
            found[" ".join(line)] = strange
    assert found == {}


def test_every_command_is_among_those_whose_words_are_looked_at() -> None:
    tried = {line.split()[0] for lines in COMMAND_LINES for line in lines.split(";")}
    assert tried == set(COMMANDS) - STAYING


def english_in(shown: str) -> list[str]:
    told = re.sub(r"`[^`]*`|--[a-z-]+|pip install \S+", "", shown)  # what people may type
    words = {word.strip(".-:/") for word in re.findall(r"[A-Za-z/][A-Za-z_./:0-9-]+", told)}
    needed = " ".join(requires("contextfold") or [])
    installed = {str(each.name) for each in distributions()} | {"git", "/usr/bin/git", "usr/bin/git"}
    known = NAMES | installed | set(re.findall(r"[A-Za-z][\w.-]*\w", needed))
    return sorted(each for each in words - known if not re.fullmatch(r"/?folded-[0-9a-f]+|", each))


def japanese_messages() -> Iterator[dict[str, Any]]:
    """A conversation in which every word is Japanese but for a tool, its argument and a file."""
    for number in range(24):
        called = {"type": "tool_use", "id": f"c{number}", "name": "read_file", "input": {"path": "src/app.py"}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "港の番号は八番です。" * 60}
        yield {"role": "user", "content": f"{number} 番の港を調べてください。"}
        yield {"role": "assistant", "content": [{"type": "text", "text": "調べます。"}, called]}
        yield {"role": "user", "content": [{**result, "is_error": number == 22}]}
        yield {"role": "assistant", "content": "分かりました。"}


@pytest.mark.finding("N15")
def test_every_reason_of_a_decision_has_its_japanese() -> None:
    reasons: list[str] = []
    for name in ("decision", "economics"):
        for node in ast.walk(ast.parse((SOURCE / "folding" / f"{name}.py").read_text("utf-8"))):
            match node:
                case ast.Assign([ast.Name("reason")], value):
                    branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    reasons += [words for each in branches if (words := filled(each))]
                case _:
                    pass
    assert len(reasons) > 9
    said = [reason.replace("{}", "12") for reason in reasons]
    assert [reason for reason in said if not JAPANESE.search(label_in("ja", reason))] == []


@pytest.mark.finding("N15")
def test_small_words_that_misled(cli: Cli, store: Path) -> None:
    assert store.exists()
    assert not re.search(r"^\s+ok .*not installed", cli("doctor").out, re.MULTILINE)
    cli("unfold", cli("folds", "--json").json[0]["id"])
    assert "[]" not in cli("unfold", "9999").err
    assert "none" in cli("unfold", "9999").err
    script = cli("completion", "bash").out
    assert re.search(r"--policy\) .*balanced .*sliding_window", script)
    assert re.search(r"--model\|.*claude-sonnet-5-5", script)


@pytest.mark.finding("N15")
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "line",
    [
        "rewind",
        "rewind --before 1 --after 2",
        "rewind --time soon",
        "retention --older 1x",
        "retention --older",
        "serve --port abc",
        "top --every now",
        "threads --all=yes",
        "memory",
        "completion tcsh",
        "count",
    ],
)
def test_a_command_line_that_cannot_be_parsed_is_told_in_japanese(cli: Cli, line: str) -> None:
    told = cli(*line.split(), "--lang", "ja")
    assert told.code == 2
    sentence = told.err.partition("：")[2]
    assert re.search(r"[ぁ-ん]", sentence), told.err
    assert not re.search(r"argument|See `", sentence), told.err


@pytest.mark.finding("N15")
def test_replay_rows_fit_80_columns(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    session = store.with_name("session.jsonl")
    for language in ("en", "ja"):
        shown = cli("replay", session, "-w", "8k", "-p", "balanced,sliding_window,claude_code", "--lang", language).out
        rows = [line for line in shown.splitlines() if line.startswith(("balanced  ", "claude_code  ", "full  "))]
        assert len(rows) == 3
        assert max(map(columns, rows)) <= 80


@pytest.mark.finding("N15")
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_ordinary_answer_fits_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = "google-genai-sdk/c957b59308dd85646fa166ef69eeb4c7"  # as a gateway calls a conversation
    assert cli("fork", "--as", long, "--quiet").code == 0
    monkeypatch.setenv("CONTEXTFOLD_THREAD", "refactor-42")
    for command in (
        "--help",
        "models claude-sonnet-5-5",
        "diff",
        "show",
        "folds",
        "stats",
        "threads",
        "context",
        "usage",
        "doctor",
        "config",
        "recall test",
        "verify",
    ):
        shown = cli(*command.split(), "--lang", language)
        assert shown.out, command
        assert [line for line in shown.out.splitlines() if columns(line) > 80] == [], command
        assert command != "threads" or long in shown.out.splitlines()


@pytest.mark.finding("N15")
def test_the_japanese_front_page_leads_wherever_the_english_one_does() -> None:
    root = SOURCE.parents[1]
    english, japanese = (
        set(re.findall(r"\]\(((?:docs|examples)/[^)]*|\w+\.md)\)", (root / name).read_text("utf-8")))
        for name in ("README.md", "README.ja.md")
    )
    twins = {page: {page, page.replace("docs/", "docs/ja/"), page.replace(".md", ".ja.md")} for page in english}
    assert len(english) > 25
    assert [page for page, either in twins.items() if not either & japanese and page != "README.ja.md"] == []
    assert "cache=False" in (root / "README.ja.md").read_text("utf-8")


def columns(line: str) -> int:
    return sum(2 if JAPANESE.match(each) or each in "。、（）：" else 1 for each in line)
