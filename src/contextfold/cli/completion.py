"""Print the completion script of a shell: commands, their options, and the threads of the store in force.

Examples:
  eval "$(contextfold completion bash)"
  contextfold completion zsh > ~/.zfunc/_contextfold
  contextfold completion fish > ~/.config/fish/completions/contextfold.fish
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold.folding.recipes import RECIPES
from contextfold.models import listed
from contextfold.shell import quoted

from .arguments import loaded, parser_for
from .commands import COMMANDS
from .invocation import Invocation

SHELLS = ("bash", "zsh", "fish")

_BASH = """_contextfold() {
  local cur="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "%(commands)s" -- "$cur")); return; fi
  local options="" before="${COMP_WORDS[COMP_CWORD-1]}"
  case "$before" in
    -p|--policy) COMPREPLY=($(compgen -W "%(recipes)s" -- "$cur")); return ;;
    -m|--model|--summarizer) COMPREPLY=($(compgen -W "%(models)s" -- "$cur")); return ;;
    --lang) COMPREPLY=($(compgen -W "en ja" -- "$cur")); return ;;
    --color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
  esac
  case "$command" in
%(cases)s
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *)  local IFS=$'\\n' name
        COMPREPLY=($(compgen -f -- "$cur"))
        # Not by `compgen -W`: it would run what stands in a name.
        while IFS= read -r name; do
          if [[ "$name" == "$cur"* ]]; then COMPREPLY+=("$name"); fi
        done < <(contextfold threads --names --quiet 2>/dev/null) ;;
  esac
}
complete -o filenames -F _contextfold contextfold
"""

_ZSH = """#compdef contextfold
_contextfold() {
  local -a commands options threads
  commands=(
%(described)s
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
%(cases)s
  esac
  case "$words[CURRENT-1]" in
    -p|--policy) compadd -- %(recipes)s; return ;;
    -m|--model|--summarizer) compadd -- %(models)s; return ;;
  esac
  if [[ "$PREFIX" == -* ]]; then compadd -- ${=options}; return; fi
  threads=("${(@f)$(contextfold threads --names --quiet 2>/dev/null)}")
  compadd -a threads; _files
}
if [ "$funcstack[1]" = "_contextfold" ]; then _contextfold "$@"; else compdef _contextfold contextfold; fi
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="bash, zsh or fish")


def run(call: Invocation) -> int:
    match call.args.shell:
        case "bash":
            cases = _cases('    %(name)s) options="%(options)s" ;;')
            script = _BASH % {"commands": " ".join(COMMANDS), "cases": cases, **_values()}
        case "zsh":
            described = "\n".join(
                f"    {quoted(each.name + ':' + each.about.replace(':', ''))}" for each in COMMANDS.values()
            )
            cases = _cases("    %(name)s) options='%(options)s' ;;")
            script = _ZSH % {"described": described, "cases": cases, **_values()}
        case _:
            script = _fish()
    value = {"shell": call.args.shell, "script": script}
    return call.answer(value, lambda: call.out.lines(script.rstrip("\n").split("\n")))


def options_of(name: str) -> list[str]:
    """The options of a command, as its own parser has them."""
    command = COMMANDS[name]
    parser = parser_for(command, "")
    loaded(command).arguments(parser)
    actions = parser._actions  # noqa: SLF001  # argparse has no public list of them
    return sorted({option for action in actions for option in action.option_strings})


def _cases(template: str) -> str:
    return "\n".join(template % {"name": name, "options": " ".join(options_of(name))} for name in COMMANDS)


def _values() -> dict[str, str]:
    """What may stand behind options that take a name we know."""
    return {"recipes": " ".join(RECIPES), "models": " ".join(model.id for model in listed())}


def _fish() -> str:
    rows = ["complete -c contextfold -n __fish_use_subcommand -f"]
    rows += [
        f"complete -c contextfold -n __fish_use_subcommand -a {each.name} -d {quoted(each.about)}"
        for each in COMMANDS.values()
    ]
    values = _values()
    known = {"policy": f" -xa '{values['recipes']}'", "model": f" -xa '{values['models']}'"}
    for name in COMMANDS:
        seen = f"__fish_seen_subcommand_from {name}"
        longs = [option[2:] for option in options_of(name) if option.startswith("--")]
        rows += [f"complete -c contextfold -n '{seen}' -l {option}{known.get(option, '')}" for option in longs]
    rows.append(
        "complete -c contextfold -n 'not __fish_use_subcommand' -a '(contextfold threads --names --quiet 2>/dev/null)'"
    )
    return "\n".join(rows) + "\n"
