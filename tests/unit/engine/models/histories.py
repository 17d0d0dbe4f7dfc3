"""Any history that a store may hold, for tests of what becomes of it on a wire."""

from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from engine.chat.content import (
    Author,
    FilePart,
    Finish,
    NewMessage,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from engine.chat.ids import FileId, MessageId
from engine.models.attachments import FileData
from tests.fakes.model_responses_rules import sealed

OWN = "harbour"
"""The provider that is asked."""

texts = st.text(max_size=12) | st.sampled_from(["", " ", "\n", "a\x00b", "\ud83d", "Hi", "Hi \n"])
ids = st.sampled_from(["a", "b", "call_0", "call 0", "", "x" * 50]) | st.text(max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
texts_said = st.builds(TextPart, text=texts)
call_parts = st.builds(
    ToolCallPart,
    tool_call_id=ids,
    tool_name=texts,
    args=st.sampled_from(["{}", "", "null", "[", '{"a":1}', '{"a":"\\ud83d"}']) | texts,
)
result_parts = st.builds(
    ToolResultPart, tool_call_id=ids, tool_name=texts, result=json_values, is_error=st.booleans()
)
reasoning = st.builds(
    ReasoningPart,
    text=texts,
    provider=st.sampled_from([None, OWN, "other"]),
    signature=st.none() | st.sampled_from(["", "sig", "sig2"]),
)
_search_ids = st.sampled_from(["srvtoolu_1", "srvtoolu_2"])
own_blocks: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        lambda i, kind: {"type": kind, "id": i, "name": "web_search", "input": {"query": "x"}},
        _search_ids,
        st.sampled_from(["server_tool_use", "server_tool_use", "mcp_tool_use"]),
    ),
    st.builds(
        lambda i, kind: {"type": kind, "tool_use_id": i, "content": []},
        _search_ids,
        st.sampled_from(["web_search_tool_result", "mcp_tool_result"]),
    ),
    st.just({"type": "redacted_thinking", "data": "secret"}),
    st.just({"type": "compaction", "content": "what was said"}),
    st.sampled_from(["server_tool_use", "web_search_tool_result", "tool_use", "text", "new"]).map(
        lambda kind: {"type": kind}
    ),
    json_values,
)
_item_ids = st.sampled_from(["item_1", "item_2", "item_3"])
own_items: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        lambda i, secret, readable: {
            "type": "reasoning",
            "id": i,
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": secret,
            "content": readable,
            "status": "completed",
        },
        _item_ids,
        st.sampled_from([None, sealed("Hm."), sealed("Ah.")]),
        st.sampled_from([None, [], [{"type": "reasoning_text", "text": "Hm."}]]),
    ),
    st.builds(
        lambda i: {
            "type": "web_search_call",
            "id": i,
            "status": "completed",
            "action": {"type": "search", "query": "tides"},
        },
        _item_ids,
    ),
    st.sampled_from(["custom_tool_call", "computer_call", "mcp_approval_request", "new"]).map(
        lambda kind: {"type": kind, "id": "item_4", "call_id": "c", "name": "x", "input": ""}
    ),
)
provider_parts = st.builds(
    ProviderPart,
    provider=st.sampled_from([OWN, OWN, OWN, "other"]),
    wire=st.sampled_from(["anthropic", "anthropic", "responses"]),
    data=own_blocks,
) | st.builds(
    ProviderPart,
    provider=st.sampled_from([OWN, OWN, OWN, "other"]),
    wire=st.just("responses"),
    data=own_items,
)
FILES = {
    FileId(UUID(int=number)): FileData(media_type=media_type, data=data)
    for number, (media_type, data) in enumerate(
        [
            ("image/png", b"\x89PNG\r\n\x1a\n" + b"p" * 9),
            ("image/png", b"\xff\xd8\xff" + b"j" * 9),
            ("image/webp", b"not an image"),
            ("image/gif", b""),
            ("application/pdf", b"%PDF-1.7 ..."),
            ("text/plain", b"tide: high"),
        ]
    )
}
files = st.one_of(
    st.builds(FilePart, name=texts, media_type=texts, file_id=st.none()),
    st.builds(
        lambda name, file_id: FilePart(
            name=name, media_type=FILES[file_id].media_type, file_id=file_id
        ),
        texts,
        st.sampled_from(sorted(FILES)),
    ),
    st.builds(
        FilePart, name=texts, media_type=st.just("image/png"), file_id=st.just(FileId(UUID(int=99)))
    ),
)
any_parts = st.one_of(texts_said, reasoning, provider_parts, call_parts, result_parts, files)
authors = st.none() | st.builds(Author, identity=texts, name=texts)
rows = st.builds(
    NewMessage,
    role=st.sampled_from([*Role, Role.ASSISTANT]),
    content=st.lists(any_parts, max_size=5).map(tuple),
    author=authors,
    finish=st.sampled_from([None, Finish.STOP, Finish.CONTINUE, Finish.CONTINUE]),
    summary_of=st.none() | st.just(MessageId(7)),
)
paused_rows = st.builds(
    NewMessage,
    role=st.just(Role.ASSISTANT),
    content=st.lists(texts_said | reasoning | provider_parts, min_size=1, max_size=4).map(tuple),
    finish=st.just(Finish.CONTINUE),
)
histories = st.builds(
    lambda some, last: some + last,
    st.lists(rows, max_size=10),
    st.lists(paused_rows, max_size=2),
)
