"""How commands begin and end: help, options before and after the name, exit codes, errors that say what to do."""

import argparse
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from contextfold import errors
from contextfold.cli import commands, words
from contextfold.cli.arguments import loaded, parser_for, size
from contextfold.cli.commands import COMMANDS, OPTIONS, help_text
from contextfold.cli.paper import Ink, Paper, ProgressLine, wants_color
from tests.unit.cli.conftest import Cli


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(cli: Cli, name: str) -> None:
    told = cli(name, "--help")
    assert told.code == 0
    assert f"contextfold {name}" in told.out
    assert "examples:" in told.out
    for option in OPTIONS:
        assert option in told.out
    assert cli("help", name).out == told.out


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_a_command_are_command_lines_it_takes(name: str) -> None:
    command = COMMANDS[name]
    found = loaded(command)
    examples = found.about.partition("Examples:\n")[2].splitlines()
    own = [line.partition(f"contextfold {name}")[2] for line in examples if f"contextfold {name}" in line]
    assert own
    parser = parser_for(command, "")
    found.arguments(parser)
    for line in own:
        words_of = line.partition("|")[0].partition(">")[0].partition("#")[0].partition(")")[0]
        arguments = shlex.split(words_of)
        parser.parsed(arguments)


def test_help_is_the_first_thing_people_see(cli: Cli) -> None:
    assert cli("--help").out == cli().out == cli("help").out == help_text()
    assert all(f"  {name} " in help_text() for name in COMMANDS)
    assert all(len(line) <= 100 for line in help_text().splitlines())
    assert cli("--version").out.startswith("contextfold 0.")


@pytest.mark.usefixtures("store")
def test_options_may_stand_before_the_command(cli: Cli) -> None:
    assert cli("--json", "threads").json == cli("threads", "--json").json
    assert cli("--store", "absent.db", "threads").code == 3


@pytest.mark.usefixtures("store")
def test_a_misspelled_command_option_or_recipe_is_guessed(cli: Cli) -> None:
    told = cli("shwo")
    assert told.code == 2
    assert "did you mean `contextfold show`" in told.err
    assert "did you mean --full" in cli("show", "--ful").err
    assert "did you mean 'balanced'" in cli("replay", "session.jsonl", "-p", "balancd").err
    assert cli("show", "--at").code == 2


def test_a_store_that_is_not_there_is_never_made(cli: Cli, tmp_path: Path) -> None:
    for name in ("threads", "show", "verify", "stats"):
        told = cli(name, "--store", "typo.db")
        assert told.code == 3
        assert "flag --store" in told.err
    assert list(tmp_path.iterdir()) == []


def test_an_error_for_programs_is_json(cli: Cli) -> None:
    told = cli("show", "--store", "absent.db", "--json")
    error = json.loads(told.err)["error"]
    assert error["kind"] == "NotFound"
    assert error["exit"] == told.code == 3
    assert told.out == ""


def test_an_error_headline_is_japanese_where_people_read_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "見つかりません" in cli("show", "--store", "absent.db", "--lang", "ja").err
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert "指定が正しくありません" in cli("show", "--nonsense").err


def test_every_error_of_ours_has_a_documented_exit_code() -> None:
    ours = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    for kind in ours:
        code = commands.code_of(kind.__new__(kind))
        assert code in commands.MEANINGS
        assert code != commands.BUG
        assert all(commands.HEADLINES[code])
    assert commands.code_of(ZeroDivisionError()) == commands.BUG
    assert commands.code_of(PermissionError()) == commands.STORE


def test_a_thread_is_found_by_name_by_setting_or_because_it_is_alone(
    cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("show").code == 0
    cli("fork", "--as", "second")
    told = cli("show")
    assert told.code == 3
    assert "2 threads" in told.err
    assert "did you mean 'refactor-42'" in cli("show", "refactor-24").err
    monkeypatch.setenv("CONTEXTFOLD_THREAD", "second")
    assert cli("show", "--json").json["thread"] == "second"
    assert cli("show", "-t", "refactor-42", "--json").json["thread"] == "refactor-42"
    assert store.exists()


@pytest.mark.parametrize(
    ("text", "value"), [("200000", 200_000), ("200k", 200_000), ("1m", 1_000_000), ("1.5k", 1_500), ("8_000", 8_000)]
)
def test_sizes_are_read_as_people_write_them(text: str, value: int) -> None:
    assert size(text) == value


@pytest.mark.parametrize("text", ["", "k", "-1", "0", "many", "1.5", "nan", "inf", "1e400"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no size"):
        size(text)


def test_colour_is_for_terminals_that_want_it() -> None:
    assert wants_color("auto", Terminal(), {})
    assert not wants_color("auto", io.StringIO(), {})
    assert not wants_color("auto", Terminal(), {"NO_COLOR": "1"})
    assert not wants_color("auto", Terminal(), {"TERM": "dumb"})
    assert wants_color("always", io.StringIO(), {"NO_COLOR": "1"})
    out = io.StringIO()
    Paper(out, color=True).line(Ink("x", "bad"))
    Paper(out, color=False).line(Ink("x", "bad"))
    assert out.getvalue() == "\x1b[31mx\x1b[0m\nx\n"


@pytest.mark.usefixtures("store")
def test_nothing_is_coloured_in_a_pipe(cli: Cli) -> None:
    assert "\x1b" not in cli("show").out
    assert "\x1b[" in cli("show", "--color", "always").out


def test_progress_is_rewritten_on_terminals_and_rare_elsewhere() -> None:
    clock = iter(range(0, 1_000, 1))
    terminal, pipe, quiet = Terminal(), io.StringIO(), Terminal()
    for out, is_quiet in ((terminal, False), (pipe, False), (quiet, True)):
        progress = ProgressLine(out, "work", quiet=is_quiet, clock=lambda: next(clock))
        for done in range(12):
            progress.at(done, 12, "\x1b[31mname")
        progress.done()
    assert terminal.getvalue().count("\r") > 10
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert pipe.getvalue().count("\n") == 2
    assert "\x1b" not in pipe.getvalue()
    assert quiet.getvalue() == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).out
    assert all(name in script for name in COMMANDS)
    assert "instructions" in script
    assert "threads --names" in script


def test_notes_and_headlines_exist_in_both_languages() -> None:
    for key, (english, japanese) in words._WORDS.items():
        assert english, key
        assert japanese, key
        assert sorted(_fields(english)) == sorted(_fields(japanese)), key


def _fields(template: str) -> list[str]:
    return [part.partition("}")[0] for part in template.split("{")[1:]]


def test_commands_in_the_guide_for_scripts_are_command_lines(cli: Cli) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "command-line.md").read_text("utf-8")
    found = re.findall(r"contextfold ([a-z]+)", "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)))
    assert len(found) > 5
    assert set(found) <= set(COMMANDS)
    codes = re.findall(r"\b(\d+) (?:done|problems|not|interrupted)", page)
    assert {int(code) for code in codes} <= set(commands.MEANINGS)
    assert cli("help", found[0]).code == 0


def test_what_cannot_be_read_leaves_no_empty_store_and_is_called_what_it_is(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("Only notes.")
    assert cli("import", "notes.txt").code == 7
    assert not (tmp_path / "contextfold.db").exists()
    with (tmp_path / "notes.txt").open("r") as notes:
        monkeypatch.setattr("sys.stdin", notes)
        told = cli("import", "-").err
    assert "standard input: this is not a recorded session" in told
    assert not (tmp_path / "contextfold.db").exists()
