"""One way of keeping a history small, asked for every request of recorded runs: `python peers.py WAY RUNS ANSWERS`.

Runs in the environment where that way is installed; `scripts/compare.py` starts it, and judges what it wrote. RUNS has
one run a line, as Chat Completions messages; ANSWERS one request a line. Whoever wants a summary gets the extractive
digest that contextfold uses, so that no model's skill is compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1", OPENHANDS_SUPPRESS_BANNER="1")

import contextfold as cf  # noqa: E402
from contextfold.cli.plugin import digest  # noqa: E402
from contextfold.domain import decode, encode  # noqa: E402

MODEL, WINDOW = "gpt-4.1", 32_000
TRIGGER, TARGET, KEPT = int(WINDOW * 0.8), WINDOW // 2, 20
Chat = list[dict[str, Any]]
Shown = tuple[int, Chat, float]  # the place of the answer in the run, what is sent for it, seconds it took


def summary(text: str) -> str:
    cut = [text[at : at + 4_000] for at in range(0, len(text), 4_000)]
    return digest([encode({"role": "user", "content": each}) for each in cut]) or text[:8_000]


def each_answer(run: Chat, ask: Callable[[Chat], Chat], every: int = 1) -> Iterator[Shown]:
    """Ask once for each recorded answer, with what came since the last time."""
    since = 0
    answers = [at for at, message in enumerate(run) if message["role"] == "assistant" and at]
    for at in answers[every - 1 :: every]:
        start = time.perf_counter()
        shown = ask(run[since:at])
        yield at, shown, time.perf_counter() - start
        since = at


def words(message: dict[str, Any]) -> str:
    return str(message.get("content") or "")


# -- contextfold ------------------------------------------------------------------------------------------------------


class Contextfold:
    """`session.follow(messages)`, `session.prepare()`, in a file."""

    name, package = "contextfold", "contextfold"
    keeps = "everything, in a file"

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "agent.db"
        self.said = self.folds = self.whole = self.runs = 0

    def requests(self, run: Chat) -> Iterator[Shown]:
        self.said += sum(len(encode(each)) for each in run)
        with cf.Session.open(self.path, thread=str(self.said), model=MODEL, window=WINDOW) as session:
            known: list[bytes] = []

            def ask(fresh: Chat) -> Chat:
                known.extend(map(encode, fresh))
                session.follow(known)
                shown: Chat = session.prepare(max_tokens=1_000).body["messages"]
                return shown

            yield from each_answer(run, ask)
            folds = list(session.folds)
            for fold in sorted(folds, key=lambda each: -each.id):
                session.thread.unfold(fold.id)  # the log's own verb: the whole is larger than the window
            self.folds += len(folds)
            shown = [decode(each.raw) for each in session.thread.view.messages]
            self.whole += all(message in shown for message in run[: len(known)])
            self.runs += 1

    def facts(self) -> dict[str, Any]:
        return {
            "bytes": stored(self.path) / self.said,
            "undone": f"yes: {self.folds} folds taken back, {self.whole} of {self.runs} histories whole again",
            "killed": killed(Path(self.directory.name) / "killed.db"),
        }


def stored(path: Path) -> int:
    """Bytes of a database, with what was not yet moved into its file."""
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))


def killed(path: Path) -> str:
    """A process says what it wrote, and is killed; what is there afterwards."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        session = cf.Session.open(path, model=MODEL, window=WINDOW)
        for number in range(10_000):
            session.append({"role": ("user", "assistant")[number % 2], "content": f"{number} " + "words " * 50})
            os.write(writer, b".")
    os.close(writer)
    told = 0
    while told < 300:
        told += len(os.read(reader, 300))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reader, 300):
        told += len(piece)
    with cf.open(path, read_only=True) as store:
        (thread,) = store.threads()
    return f"all {told} messages that were acknowledged" if thread.messages >= told else f"{thread.messages} of {told}"


class Everything:
    """The whole history, every time."""

    name, package, keeps = "full history", "", "nothing"

    def requests(self, run: Chat) -> Iterator[Shown]:
        held: Chat = []

        def ask(fresh: Chat) -> Chat:
            held.extend(fresh)
            return held

        yield from each_answer(run, ask)


# -- LangChain --------------------------------------------------------------------------------------------------------


class LangChain:
    """`SummarizationMiddleware`, at 80 % of the window, keeps 20 messages."""

    name, package = "LangChain, `SummarizationMiddleware` (80 %, keeps 20 messages)", "langchain"
    keeps = "nothing itself; a checkpointer keeps the state that was replaced"

    def requests(self, run: Chat) -> Iterator[Shown]:
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import AIMessage, convert_to_messages, convert_to_openai_messages
        from langchain_core.outputs import ChatGeneration, ChatResult

        class DigestModel(BaseChatModel):
            @property
            def _llm_type(self) -> str:
                return "digest"

            def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
                text = summary("\n".join(message.text for message in messages))
                return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

        middleware = SummarizationMiddleware(DigestModel(), trigger=("tokens", TRIGGER), keep=("messages", KEPT))
        state: dict[str, Any] = {"messages": []}

        def ask(fresh: Chat) -> Chat:
            state["messages"] = [*state["messages"], *convert_to_messages(fresh)]
            changed = middleware.before_model(state, None)
            if changed:
                state["messages"] = [each for each in changed["messages"] if each.type != "remove"]
            shown: Chat = convert_to_openai_messages(state["messages"])
            return shown

        yield from each_answer(run, ask)


# -- LiteLLM, Headroom ------------------------------------------------------------------------------------------------


class Stateless:
    """Something that is given the whole history each time, and gives back what is to be sent."""

    keeps, every = "nothing", 1

    def shortened(self, messages: Chat) -> Chat:
        raise NotImplementedError

    def requests(self, run: Chat) -> Iterator[Shown]:
        held: Chat = []

        def ask(fresh: Chat) -> Chat:
            held.extend(fresh)
            return self.shortened(json.loads(json.dumps(held)))

        yield from each_answer(run, ask, self.every)

    def facts(self) -> dict[str, Any]:
        return {"every": self.every}


class LiteLLMTrim(Stateless):
    name, package = "LiteLLM, `trim_messages` (max_tokens: 80 %)", "litellm"
    every = 25  # it counts everything again for each message: seconds a request

    def shortened(self, messages: Chat) -> Chat:
        from litellm.utils import trim_messages

        shown: Chat = trim_messages(messages, model=MODEL, max_tokens=TRIGGER)
        return shown


class LiteLLMCompress(Stateless):
    name, package = "LiteLLM, `compress` (BM25; trigger 80 %, target 50 %)", "litellm"

    def shortened(self, messages: Chat) -> Chat:
        from litellm.compression.compress import compress

        shown: Chat = compress(messages, MODEL, compression_trigger=TRIGGER, compression_target=TARGET)["messages"]
        return shown


class Headroom(Stateless):
    name, package = "Headroom, `compress` (without its downloaded model)", "headroom-ai"

    def shortened(self, messages: Chat) -> Chat:
        from headroom import compress

        shown: Chat = compress(messages, model=MODEL, model_limit=WINDOW, kompress_model="disabled").messages
        return shown


# -- OpenAI Agents ----------------------------------------------------------------------------------------------------


class OpenAIAgents:
    """The SDK's own limit of a session's items; its compaction is made by OpenAI's servers, which are not here."""

    name, package = "OpenAI Agents, `SQLiteSession` with `SessionSettings(limit=40)`", "openai-agents"
    keeps = "every item, in a file"

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path, self.said, self.runs = Path(self.directory.name) / "agents.db", 0, 0

    def requests(self, run: Chat) -> Iterator[Shown]:
        from agents import SQLiteSession
        from agents.memory import SessionSettings
        from agents.models.chatcmpl_converter import Converter

        self.runs += 1
        self.said += sum(len(encode(each)) for each in run)
        session = SQLiteSession(str(self.runs), self.path, session_settings=SessionSettings(limit=2 * KEPT))
        loop = asyncio.new_event_loop()

        def ask(fresh: Chat) -> Chat:
            loop.run_until_complete(session.add_items([item for each in fresh for item in items(each)]))
            shown: Chat = Converter.items_to_messages(loop.run_until_complete(session.get_items()))
            return shown

        yield from each_answer(run, ask)
        session.close()
        loop.close()

    def facts(self) -> dict[str, Any]:
        return {"bytes": stored(self.path) / self.said, "undone": "nothing is folded: what is older is not sent"}


def items(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as items of Responses."""
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": words(message)}
        return
    if words(message):
        yield {"role": message["role"], "content": words(message)}
    for call in message.get("tool_calls") or ():
        asked = call["function"]
        yield {
            "type": "function_call",
            "call_id": call["id"],
            "name": asked["name"],
            "arguments": asked["arguments"],
        }


# -- Pydantic AI ------------------------------------------------------------------------------------------------------


class PydanticAI:
    """The harness's `SummarizingCompaction` in a real agent, whose model says what was recorded."""

    name, package = "Pydantic AI harness, `SummarizingCompaction` (80 %, keeps 20 messages)", "pydantic-ai-harness"
    keeps = "nothing itself; the history of the run is replaced"

    def requests(self, run: Chat) -> Iterator[Shown]:
        from pydantic_ai import Agent
        from pydantic_ai.messages import ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai_harness.compaction import SummarizingCompaction

        seen: list[Any] = []

        def answer(messages: Any, _info: Any) -> Any:
            seen[:] = messages
            return ModelResponse(parts=[TextPart("ok")])

        def summarize(messages: Any, _info: Any) -> Any:
            text = "\n".join(str(getattr(part, "content", "")) for each in messages for part in each.parts)
            return ModelResponse(parts=[TextPart(summary(text))])

        compaction = SummarizingCompaction(FunctionModel(summarize), max_tokens=TRIGGER, keep_messages=KEPT)
        agent = Agent(FunctionModel(answer), capabilities=[compaction])
        history: list[Any] = []

        def ask(fresh: Chat) -> Chat:
            history.extend(pydantic_messages(fresh))
            agent.run_sync(None, message_history=list(history))
            history[:] = seen
            return [message for each in history for message in chat_of_pydantic(each)]

        yield from each_answer(run, ask)


def pydantic_messages(fresh: Chat) -> list[Any]:
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    made: list[Any] = []
    for message in fresh:
        if message["role"] == "assistant":
            calls = [
                ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
                for call in message.get("tool_calls") or ()
            ]
            made.append(ModelResponse(parts=[*([TextPart(words(message))] if words(message) else []), *calls]))
            continue
        part = (
            ToolReturnPart(message.get("name") or "tool", words(message), message["tool_call_id"])
            if message["role"] == "tool"
            else UserPromptPart(words(message))
        )
        if made and isinstance(made[-1], ModelRequest):
            made[-1] = ModelRequest(parts=[*made[-1].parts, part])
        else:
            made.append(ModelRequest(parts=[part]))
    return made


def chat_of_pydantic(message: Any) -> Iterator[dict[str, Any]]:
    if message.kind == "response":
        text = "".join(part.content for part in message.parts if part.part_kind == "text")
        calls = [
            {
                "id": part.tool_call_id,
                "type": "function",
                "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
            }
            for part in message.parts
            if part.part_kind == "tool-call"
        ]
        yield {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return
    for part in message.parts:
        if part.part_kind in ("tool-return", "retry-prompt"):
            yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": str(part.content)}
        else:
            role = "system" if part.part_kind == "system-prompt" else "user"
            yield {"role": role, "content": str(part.content)}


# -- Google ADK -------------------------------------------------------------------------------------------------------


class ADK:
    """A real runner with `EventsCompactionConfig`, whose model and tools say what was recorded."""

    name, package = "Google ADK, `EventsCompactionConfig` (80 %, keeps 20 events)", "google-adk"
    keeps = "every event, where its session service does"

    def requests(self, run: Chat) -> Iterator[Shown]:
        yield from asyncio.run(self._requests(run))

    async def _requests(self, run: Chat) -> list[Shown]:
        from google.adk.agents import LlmAgent
        from google.adk.apps import App
        from google.adk.apps._configs import EventsCompactionConfig
        from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
        from google.adk.models import BaseLlm, LlmResponse
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.adk.tools.base_tool import BaseTool
        from google.genai import types

        results = {message["tool_call_id"]: words(message) for message in run if message["role"] == "tool"}
        answers = [(at, message) for at, message in enumerate(run) if message["role"] == "assistant" and at]
        shown: list[Shown] = []

        class Replay(BaseLlm):
            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
                at, answer = answers[len(shown)]
                now = time.perf_counter()
                chat = [message for each in llm_request.contents for message in chat_of_gemini(each)]
                shown.append((at, chat, now - clock[0]))
                parts = [types.Part(text=words(answer) or " ")]
                parts += [
                    types.Part(
                        function_call=types.FunctionCall(
                            id=call["id"], name=call["function"]["name"], args=arguments(call)
                        )
                    )
                    for call in answer.get("tool_calls") or ()
                ]
                usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=size(chat))
                clock[0] = time.perf_counter()
                content = types.Content(role="model", parts=parts)
                yield LlmResponse(content=content, usage_metadata=usage)

        class Digest(BaseLlm):
            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
                text = "\n".join(part.text or "" for each in llm_request.contents for part in each.parts)
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=summary(text))]))

        class Recorded(BaseTool):
            def _get_declaration(self) -> Any:
                return types.FunctionDeclaration(name=self.name, description=self.description)

            async def run_async(self, *, args: Any, tool_context: Any) -> Any:
                return {"result": results.get(tool_context.function_call_id, "")}

        names = {call["function"]["name"] for message in run for call in message.get("tool_calls") or ()}
        agent = LlmAgent(
            name="reader", model=Replay(model=MODEL), tools=[Recorded(name=each, description=each) for each in names]
        )
        config = EventsCompactionConfig(
            summarizer=LlmEventSummarizer(llm=Digest(model=MODEL)), token_threshold=TRIGGER, event_retention_size=KEPT
        )
        sessions = InMemorySessionService()
        runner = Runner(
            app=App(name="compared", root_agent=agent, events_compaction_config=config), session_service=sessions
        )
        session = await sessions.create_session(app_name="compared", user_id="u")
        clock = [0.0]
        asked = [(at, message) for at, message in enumerate(run) if message["role"] == "user"]
        for place, (at, message) in enumerate(asked):
            until = asked[place + 1][0] if place + 1 < len(asked) else len(run)
            if not any(at < each < until for each, _ in answers):
                continue
            content = types.Content(role="user", parts=[types.Part(text=words(message) or " ")])
            clock[0] = time.perf_counter()
            with contextlib.suppress(IndexError):  # nothing more was recorded
                async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=content):
                    if len(shown) < len(answers) and answers[len(shown)][0] > until:
                        pass
        return shown


def arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        value = json.loads(call["function"]["arguments"])
    except ValueError:
        return {"text": call["function"]["arguments"]}
    return value if isinstance(value, dict) else {"value": value}


def size(chat: Chat) -> int:
    return sum(len(encode(each)) for each in chat) // 4


def chat_of_gemini(content: Any) -> Iterator[dict[str, Any]]:
    parts = content.parts or ()
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = [
        {
            "id": part.function_call.id,
            "type": "function",
            "function": {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args or {})},
        }
        for part in parts
        if part.function_call
    ]
    if content.role == "model":
        yield {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return
    for part in parts:
        if part.function_response:
            answer = part.function_response
            yield {"role": "tool", "tool_call_id": answer.id, "content": str((answer.response or {}).get("result", ""))}
    if text:
        yield {"role": "user", "content": text}


# -- OpenHands --------------------------------------------------------------------------------------------------------


class OpenHands:
    """`LLMSummarizingCondenser` over the SDK's events and views."""

    name, package = "OpenHands, `LLMSummarizingCondenser` (max_tokens: 80 %)", "openhands-sdk"
    keeps = "every event, in the conversation's own files"

    def requests(self, run: Chat) -> Iterator[Shown]:
        from types import SimpleNamespace

        from openhands.sdk.context.condenser import LLMSummarizingCondenser
        from openhands.sdk.context.view import View
        from openhands.sdk.event.base import LLMConvertibleEvent
        from openhands.sdk.event.condenser import Condensation
        from openhands.sdk.llm import LLM, Message, TextContent

        class DigestLLM(LLM):
            def generate(self, messages: Any, **_: Any) -> Any:
                text = "\n".join(part.text for each in messages for part in each.content)
                said = Message(role="assistant", content=[TextContent(text=summary(text))])
                return SimpleNamespace(message=said, id="digest")

        condenser = LLMSummarizingCondenser(llm=DigestLLM(model=MODEL, api_key="none"), max_tokens=TRIGGER)
        agent = LLM(model=MODEL, api_key="none")
        events: list[Any] = []

        def ask(fresh: Chat) -> Chat:
            events.extend(openhands_events(fresh))
            condensed = condenser.condense(View.from_events(events), agent_llm=agent)
            if isinstance(condensed, Condensation):
                events.append(condensed)
                condensed = View.from_events(events)
            return [chat_of_openhands(each) for each in LLMConvertibleEvent.events_to_messages(condensed.events)]

        yield from each_answer(run, ask)


def openhands_events(fresh: Chat) -> Iterator[Any]:
    from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent
    from openhands.sdk.llm import Message, MessageToolCall, TextContent

    for message in fresh:
        text = [TextContent(text=words(message))] if words(message) else []
        calls = message.get("tool_calls") or ()
        if message["role"] == "tool":
            found = Seen.from_text(words(message))
            yield ObservationEvent(
                observation=found,
                action_id=message["tool_call_id"],
                tool_name="tool",
                tool_call_id=message["tool_call_id"],
            )
        elif not calls:
            source = "agent" if message["role"] == "assistant" else "user"
            yield MessageEvent(source=source, llm_message=Message(role=message["role"], content=text))
        for number, call in enumerate(calls):
            asked = call["function"]
            yield ActionEvent(
                id=call["id"],
                thought=text if not number else [],
                tool_name=asked["name"],
                tool_call_id=call["id"],
                tool_call=MessageToolCall(
                    id=call["id"], name=asked["name"], arguments=asked["arguments"], origin="completion"
                ),
                llm_response_id=calls[0]["id"],
            )


def chat_of_openhands(message: Any) -> dict[str, Any]:
    text = "".join(part.text for part in message.content)
    made: dict[str, Any] = {"role": message.role, "content": text}
    if message.tool_calls:
        made["tool_calls"] = [call.to_chat_dict() for call in message.tool_calls]
    if message.tool_call_id:
        made["tool_call_id"] = message.tool_call_id
    return made


with contextlib.suppress(ImportError):
    from openhands.sdk.tool.schema import Observation

    class Seen(Observation):
        """What a tool answered."""


# -- asked for --------------------------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[], Any]] = {
    "contextfold": Contextfold,
    "everything": Everything,
    "langchain": LangChain,
    "openai-agents": OpenAIAgents,
    "pydantic-ai": PydanticAI,
    "adk": ADK,
    "openhands": OpenHands,
    "litellm-trim": LiteLLMTrim,
    "litellm-compress": LiteLLMCompress,
    "headroom": Headroom,
}


def main(name: str, runs: str, answers: str) -> None:
    way = WAYS[name]()
    with Path(answers).open("w", encoding="utf-8") as out:
        for number, line in enumerate(Path(runs).read_text(encoding="utf-8").splitlines()):
            out.writelines(
                json.dumps({"run": number, "at": at, "seconds": seconds, "shown": shown}) + "\n"
                for at, shown, seconds in way.requests(json.loads(line))
            )
    release = cf.__version__ if name == "contextfold" else version(way.package) if way.package else ""
    facts = way.facts() if hasattr(way, "facts") else {}
    sys.stdout.write(json.dumps({"name": way.name, "version": release, "keeps": way.keeps, **facts}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # some start threads that would be waited for
