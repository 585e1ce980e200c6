"""Messages as clients of each API write them, for Hypothesis: odd texts, unknown fields and kinds, blank ones too."""

from typing import Any

from hypothesis import strategies as st

ODD = ["", " ", "\n\n", "\x00", "a\ud800b", "日本語", "\u2028", '"}],{', "\\ud800", "🙂\ud83d", "tool_calls"]
words = st.sampled_from(ODD) | st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
extras = st.dictionaries(st.sampled_from(["x", "cache_control", "citations", "name", "日本"]), json_values, max_size=2)


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = st.fixed_dictionaries({"type": st.just(kind), **fields})
    return st.builds(lambda more, made: {**more, **made}, extras, fixed)


ids = st.sampled_from(["a", "b", "functions.f:0", ""])
claude_text = block("text", text=words)
claude_image = block("image", source=st.just({"type": "url", "url": "https://a/b"}) | json_values)
claude_unknown = block("not_invented_yet", payload=json_values)
claude_results = block(
    "tool_result",
    tool_use_id=ids,
    content=words | st.none() | st.lists(claude_text | claude_image | claude_unknown, max_size=3),
    is_error=st.booleans(),
)
claude_blocks = (
    claude_text
    | claude_image
    | claude_unknown
    | claude_results
    | block("tool_use", id=ids, name=words, input=st.dictionaries(words, json_values, max_size=2))
    | block("thinking", thinking=words, signature=words)
    | block("redacted_thinking", data=words)
)
claude_messages = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    words | st.none() | st.lists(claude_blocks, max_size=4),
    extras,
)

chat_parts = (
    block("text", text=words)
    | block("refusal", refusal=words)
    | block("image_url", image_url=st.just({"url": "data:image/png;base64,AA"}) | json_values)
    | block("input_audio", input_audio=json_values)
)
chat_content = words | st.none() | st.lists(chat_parts, max_size=3)
chat_calls = st.lists(
    st.fixed_dictionaries(
        {"id": ids, "type": st.just("function"), "function": st.fixed_dictionaries({"name": words, "arguments": words})}
    ),
    max_size=2,
)
chat_messages = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": chat_content}, optional={"name": words}
    ),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": chat_content}),
    st.fixed_dictionaries({"role": st.just("function"), "name": words, "content": chat_content}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": chat_content},
        optional={
            "tool_calls": chat_calls | st.none(),
            "function_call": st.just({"name": "f", "arguments": "{}"}) | st.none(),
            "refusal": words | st.none(),
            "reasoning_content": words,
            "audio": st.just({"id": "audio_1"}) | st.none(),
        },
    ),
)

input_parts = (
    block("input_text", text=words)
    | block("input_image", image_url=st.sampled_from(["data:image/png;base64,AA", "https://a/b.png"]))
    | block("input_file", filename=words, file_data=st.just("data:application/pdf;base64,AA"))
    | block("not_invented_yet", payload=json_values)
)
output_parts = block("output_text", text=words, annotations=st.just([])) | block("refusal", refusal=words)
reasoning_items = st.builds(
    lambda made, more: {**made, **more},
    block("reasoning", id=st.just("rs_1"), summary=st.lists(block("summary_text", text=words), max_size=2)),
    st.sampled_from([{}, {"encrypted_content": "sealed"}, {"encrypted_content": None}]),
)
call_items = (
    block("function_call", id=st.just("fc_1"), call_id=ids, name=words, arguments=words)
    | block("custom_tool_call", call_id=ids, name=words, input=words)
    | block("shell_call", call_id=ids, action=json_values)
)
answer_items = (
    reasoning_items
    | call_items
    | block("message", role=st.just("assistant"), content=words | st.lists(output_parts, max_size=3))
    | block("web_search_call", id=st.just("ws_1"), status=st.just("completed"), action=json_values)
    | block("compaction", id=st.just("cmp_1"), encrypted_content=words)
)
output_items = (
    block("function_call_output", call_id=ids, output=words | st.lists(input_parts, max_size=3))
    | block("custom_tool_call_output", call_id=ids, output=words)
    | block("shell_call_output", call_id=ids, output=st.lists(json_values, max_size=2))
)
asked_items = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "system", "developer"]),
    words | st.lists(input_parts, max_size=3),
    st.sampled_from([{}, {"type": "message"}]),
)
responses_messages = answer_items | output_items | asked_items | st.lists(answer_items, min_size=1, max_size=4)

gemini_extras = st.sampled_from([{}, {"thoughtSignature": "c2VhbA=="}, {"thought_signature": "c2VhbA=="}, {"x": 1.5}])


def part(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda more, made: {**more, **made}, gemini_extras, st.fixed_dictionaries(fields))


names = st.sampled_from(["f", "g"])
gemini_text = part(text=words) | part(text=words, thought=st.just(True))
gemini_parts = (
    gemini_text
    | part(inlineData=st.just({"mimeType": "image/png", "data": "AA"}))
    | part(file_data=st.just({"mime_type": "application/pdf", "file_uri": "https://a/b.pdf"}))
    | part(notInventedYet=json_values)
)
gemini_calls = part(functionCall=st.fixed_dictionaries({"name": names, "args": st.dictionaries(words, json_values)}))
gemini_responses = part(
    functionResponse=st.fixed_dictionaries(
        {"name": names, "response": st.dictionaries(words, json_values, max_size=2)}, optional={"id": ids}
    )
)
gemini_messages = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(gemini_parts | gemini_responses, max_size=4)}),
    st.fixed_dictionaries({"role": st.just("model"), "parts": st.lists(gemini_parts | gemini_calls, max_size=4)}),
)

MESSAGES: dict[str, st.SearchStrategy[Any]] = {
    "anthropic": claude_messages,
    "openai-chat": chat_messages,
    "openai-responses": responses_messages,
    "gemini": gemini_messages,
}
written = st.one_of(*(st.tuples(st.just(name), messages) for name, messages in MESSAGES.items()))
