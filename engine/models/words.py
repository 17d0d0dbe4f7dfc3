"""What any model is told in words: what people said, their files, the results of calls. Pure."""

import base64
import re
from typing import Final

from engine.chat.content import Author, ToolResultPart
from engine.models.attachments import GivenFile, GivenText, given_of
from engine.models.call_assembly import is_json_object
from engine.models.call_pairs import PersonTurn
from engine.models.model import ModelPrompt
from engine.models.surrogates import encoded
from engine.models.true_files import true_file

CONTINUE: Final = "Continue."
"""Said where the last word is the model's own: many providers refuse to answer themselves."""

NAME_CHARACTERS_MAX: Final = 64
IMAGE_BYTES_MAX: Final = 20 * 1024 * 1024
"""Of one image, as OpenAI takes it; most others follow."""

_AUTHOR_CHARACTERS_MAX: Final = 80

_ODD_IN_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")


def person_said(turn: PersonTurn, prompt: ModelPrompt) -> tuple[str, list[GivenFile]]:
    """Return the text of a turn, never blank and with its author's name, and the files beside it."""
    lines = [turn.text] if turn.text.strip() else []
    files: list[GivenFile] = []
    for part in turn.files:
        given = given_of(part, prompt.files, prompt.accepts)
        match true_file(given, image_bytes_max=IMAGE_BYTES_MAX):
            case GivenText(text=text):
                lines.append(text)
            case GivenFile() as file:
                files.append(file)
    if not lines:
        lines = [f"[file: {file.name} ({file.media_type})]" for file in files]
    return as_said_by(turn.author, "\n".join(lines)), files


def as_said_by(author: Author | None, text: str) -> str:
    """A person's words with the name before them, so that the model tells people apart."""
    name = " ".join(author.name.split())[:_AUTHOR_CHARACTERS_MAX] if author is not None else ""
    return f"{name}: {text}" if name else text


def tool_name_on_wire(name: str) -> str:
    """A tool's name as every provider accepts it; models invent odd ones."""
    return _ODD_IN_NAME.sub("_", name)[:NAME_CHARACTERS_MAX] or "unknown_tool"


def args_on_wire(args: str) -> str:
    """The arguments of a call exactly as they came if they are an object, else an empty one."""
    return args if is_json_object(args) else "{}"


def data_url(file: GivenFile) -> str:
    """The file as an address that holds it."""
    return f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def result_text(result: ToolResultPart) -> str:
    """A result as the model reads it: text as it is, anything else as JSON; never blank."""
    value = result.result
    if not isinstance(value, str):
        return encoded(value).decode()
    if result.is_error:
        return encoded({"error": value}).decode()
    return value if value.strip() else "(empty result)"
