"""The features of LangChain, which are written alike for all of its models."""
from common import *
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel
from typing import Literal


class Moon(BaseModel):
    """A moon."""

    name: str
    planet: Literal["Mars", "Jupiter"]


@tool
def w(town: str) -> str:
    """Weather"""
    return "clear sky"


def define(names, door, model, not_found):
    def text():
        answer = model(echo).invoke("Name a moon.")
        has(answer.text if isinstance(answer.text, str) else answer.text(), "Name a moon.")
        assert answer.usage_metadata["output_tokens"] > 0

    def whole(stream):
        total = None
        for chunk in stream:
            total = chunk if total is None else total + chunk
        return total

    def stream():
        answer = whole(model(echo).stream("Count to three."))
        has(str(answer.content), "Count to three.")
        assert answer.usage_metadata["output_tokens"] > 0

    def tools():
        question = HumanMessage("Weather in Oslo?")
        bound = model(echo).bind_tools([w])
        first = bound.invoke([question])
        call = first.tool_calls[0]
        has(str(bound.invoke([question, first, ToolMessage("clear sky", tool_call_id=call["id"])]).content), "clear sky")

    def parallel():
        answer = whole(model(far).bind_tools([w]).stream("Weather?"))
        same([call["args"] for call in answer.tool_calls], [{"town": "Oslo"}, {"town": "Rome"}])

    def structured():
        same(model(echo).with_structured_output(Moon, method="json_schema").invoke("A moon?").planet, "Mars")

    def images():
        part = {"type": "image_url", "image_url": {"url": pixel}}
        has(str(model(far).invoke([HumanMessage([{"type": "text", "text": "What?"}, part])]).content), "A dot.")

    def errors():
        raises(not_found, lambda: model(unknown).invoke("x"), unknown)

    def abort():
        running = model(far).stream("x")
        for chunk in running:
            if chunk.content:
                break
        running.close()

    def retries():
        has(str(model(far, 2).invoke("x").content), "Now.")

    for run in (text, stream, tools, parallel, structured, images, errors, abort, retries):
        names[f"{door}_{run.__name__}"] = run
