"""Unmodified agents as processes: where they are installed, what points them at a server, and what they are asked.

They live in `.venv-agents`, made by `make agents` from `requirements/agents.txt`. Whatever speaks the providers'
formats can be given as `url`: the strict server here, a gateway in front of it elsewhere.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contextfold.domain import encode
from contextfold.testing.server import Call, Say
from contextfold.testing.server.provider import Question, Step

ROOT = Path(__file__).parents[3]
INSTALLED = ROOT / ".venv-agents" / "bin"
PROGRAMS = Path(__file__).parent
NOTES = {"alpha.txt": "heron-4417", "beta.txt": "otter-2093", "gamma.txt": "finch-8850"}
_LONGEST = 240  # seconds for one command, on a busy machine


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with one wire format: the commands of its turns, and whether a shell is its only tool."""

    name: str
    commands: Sequence[Sequence[str]]
    has_shell: bool = False

    def run(self, url: str, token: str, directory: Path) -> str:
        """All turns in a directory that holds the notes; gives what was printed."""
        for name, text in NOTES.items():
            (directory / name).write_text(text, encoding="utf-8")
        printed = ""
        for program, *arguments in self.commands:
            done = subprocess.run(
                [str(INSTALLED / program), *arguments],
                cwd=directory,
                env=environment(url, token, directory),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_LONGEST,
                check=False,
            )
            assert done.returncode == 0, f"{self.name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
            printed += done.stdout
        return printed

    @property
    def script(self) -> list[Step]:
        """What the model says: one note in the first turn, two at once in the second, and each time what it read."""
        if self.has_shell:
            last = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat alpha.txt"
            return [
                Say("Let me look.", (Call("bash", {"command": "cat alpha.txt"}),)),
                Say("And the others.", (Call("bash", {"command": "cat beta.txt gamma.txt"}),)),
                lambda asked: Say(what_was_read(asked), (Call("bash", {"command": last}),)),
            ]
        first, *others = (Call("read_note", {"name": name}) for name in NOTES)
        thought = "Read before answering."
        return [Say("", (first,), thought), what_was_read, Say("Both.", tuple(others)), what_was_read]


def what_was_read(asked: Question) -> str:
    """An answer that only a model could give which was shown the results."""
    shown = encode(asked.body).decode()
    return "I read: " + ", ".join(text for text in NOTES.values() if text in shown)


def environment(url: str, token: str, directory: Path) -> dict[str, str]:
    """Nothing of ours but the addresses and a key; homes and settings are the directory's."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_BASE": url,
        "ANTHROPIC_API_KEY": token,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": token,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GOOGLE_API_KEY": token,
        "LLM_USER_PATH": str(directory / "llm"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": str(directory / "mini"),
    }


def _program(name: str, *arguments: str) -> list[list[str]]:
    return [["python", str(PROGRAMS / name), *arguments]]


def _llm(model: str) -> list[list[str]]:
    functions = ["--functions", str(PROGRAMS / "note_tool.py")]
    first = ["llm", "-m", model, *functions, "What does alpha.txt say?"]
    return [first, ["llm", "-c", *functions, "And what do beta.txt and gamma.txt say?"]]


def _mini(model: str) -> list[list[str]]:
    return [["mini", "-m", model, "-t", "Read the notes.", "-y", "--exit-immediately"]]


AGENTS = [
    Agent("llm, Anthropic", _llm("claude-sonnet-4.5")),
    Agent("llm, chat", _llm("gpt-4.1")),
    Agent("llm, Responses", _llm("gpt-5.5")),
    Agent("mini-swe-agent, Anthropic", _mini("anthropic/claude-sonnet-4-5"), has_shell=True),
    Agent("mini-swe-agent, chat", _mini("openai/gpt-4.1"), has_shell=True),
    Agent("pydantic-ai, Anthropic", _program("pydantic_agent.py", "anthropic:claude-sonnet-5-5")),
    Agent("pydantic-ai, chat", _program("pydantic_agent.py", "openai-chat:gpt-4.1")),
    Agent("pydantic-ai, Responses", _program("pydantic_agent.py", "openai-responses:gpt-5.5")),
    Agent("pydantic-ai, Gemini", _program("pydantic_agent.py", "google:gemini-3.1-pro-preview")),
    Agent("openai-agents, chat", _program("openai_agent.py", "gpt-4.1", "chat_completions")),
    Agent("openai-agents, Responses", _program("openai_agent.py", "gpt-5.5", "responses")),
    Agent("langchain, Anthropic", _program("langchain_agent.py", "anthropic:claude-sonnet-5-5")),
    Agent("langchain, chat", _program("langchain_agent.py", "openai:gpt-4.1")),
    Agent("langchain, Responses", _program("langchain_agent.py", "openai:gpt-5.5", "use_responses_api")),
    Agent("langchain, Gemini", _program("langchain_agent.py", "google_genai:gemini-3.1-pro-preview")),
]
