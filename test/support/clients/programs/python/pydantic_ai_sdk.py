"""Pydantic AI."""
import asyncio
from common import *
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelHTTPError, NativeOutput, ToolOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from typing import Literal
import base64


class Moon(BaseModel):
    name: str
    planet: Literal["Mars", "Jupiter"]


def define(door, model, native):
    def agent(name=echo, **fields):
        return Agent(model(name), **fields)

    def text():
        result = agent().run_sync("Name a moon.")
        has(result.output, "Name a moon.")

    def stream():
        async def run():
            async with agent().run_stream("Count to three.") as result:
                return await result.get_output()

        has(asyncio.run(run()), "Count to three.")

    def w(town: str) -> str:
        """Weather"""
        seen.append(town)
        return "clear sky"

    seen = []

    def tools():
        has(agent(tools=[w]).run_sync("Weather in Oslo?").output, "clear sky")

    def parallel():
        seen.clear()
        same(agent(far, tools=[w]).run_sync("Weather?").output, "Both clear.")
        same(sorted(seen), ["Oslo", "Rome"])

    def structured():
        kind = NativeOutput(Moon) if native else ToolOutput(Moon)
        same(agent(output_type=kind).run_sync("A moon?").output.planet, "Mars")

    def images():
        picture = BinaryContent(data=base64.b64decode(pixel_data), media_type="image/png")
        same(agent(far).run_sync(["What?", picture]).output, "A dot.")

    def errors():
        error = raises(ModelHTTPError, lambda: agent(unknown).run_sync("x"), unknown)
        same(error.status_code, 404)

    for run in (text, stream, tools, parallel, structured, images, errors):
        globals()[f"{door}_{run.__name__}"] = run


def openai():
    return OpenAIProvider(base_url=base_url, api_key=api_key)


define("chat", lambda name: OpenAIChatModel(name, provider=openai()), True)
define("responses", lambda name: OpenAIResponsesModel(name, provider=openai()), True)
define(
    "messages",
    lambda name: AnthropicModel(name, provider=AnthropicProvider(base_url=anthropic_url, api_key=api_key)),
    False,
)
