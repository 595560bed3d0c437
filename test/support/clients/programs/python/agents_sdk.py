"""The Agents SDK of OpenAI."""
import asyncio
import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents import set_tracing_disabled
from common import *
from openai import AsyncOpenAI
from pydantic import BaseModel
from typing import Literal

set_tracing_disabled(True)


class Moon(BaseModel):
    name: str
    planet: Literal["Mars", "Jupiter"]


seen = []


@function_tool
def w(town: str) -> str:
    """Weather"""
    seen.append(town)
    return "clear sky"


def define(door, kind):
    def agent(name=echo, **fields):
        model = kind(model=name, openai_client=AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0))
        return Agent(name="A", model=model, **fields)

    def ask(words, **fields):
        async def run():
            return (await Runner.run(agent(**fields), words)).final_output

        return asyncio.run(run())

    def text():
        has(ask("Name a moon."), "Name a moon.")

    def stream():
        async def run():
            result = Runner.run_streamed(agent(), "Count to three.")
            async for _ in result.stream_events():
                pass
            return result

        result = asyncio.run(run())
        has(result.final_output, "Count to three.")
        assert result.context_wrapper.usage.output_tokens > 0

    def tools():
        has(ask("Weather in Oslo?", tools=[w]), "clear sky")

    def parallel():
        seen.clear()

        async def run():
            result = Runner.run_streamed(agent(far, tools=[w]), "Weather?")
            async for _ in result.stream_events():
                pass
            return result.final_output

        same([asyncio.run(run()), sorted(seen)], ["Both clear.", ["Oslo", "Rome"]])

    def structured():
        same(ask("A moon?", output_type=Moon).planet, "Mars")

    def images():
        part = {"type": "input_image", "image_url": pixel, "detail": "auto"}
        same(ask([{"role": "user", "content": [part]}], name=far), "A dot.")

    def errors():
        raises(openai.NotFoundError, lambda: ask("x", name=unknown), unknown)

    for run in (text, stream, tools, parallel, structured, images, errors):
        globals()[f"{door}_{run.__name__}"] = run


define("chat", OpenAIChatCompletionsModel)
define("responses", OpenAIResponsesModel)
