"""The SDK of LiteLLM, with its providers `openai` and `anthropic`."""
import litellm
from common import *
from pydantic import BaseModel
from typing import Literal

litellm.suppress_debug_info = True
litellm.telemetry = False


class Moon(BaseModel):
    name: str
    planet: Literal["Mars", "Jupiter"]


tool = {"type": "function", "function": {"name": "w", "description": "Weather", "parameters": parameters}}


def define(door, prefix, url):
    def ask(content, model=echo, **fields):
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        fields = {"num_retries": 0, "max_retries": 0, **fields}
        return litellm.completion(model=f"{prefix}/{model}", api_base=url, api_key=api_key, messages=messages, **fields)

    def text():
        answer = ask("Name a moon.")
        has(answer.choices[0].message.content, "Name a moon.")
        assert answer.usage.completion_tokens > 0

    def stream():
        chunks = list(ask("Count to three.", stream=True, stream_options={"include_usage": True}))
        whole = litellm.stream_chunk_builder(chunks)
        has(whole.choices[0].message.content, "Count to three.")
        assert whole.usage.completion_tokens > 0

    def tools():
        messages = [{"role": "user", "content": "Weather in Oslo?"}]
        first = ask(messages, tools=[tool]).choices[0].message
        messages += [first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "clear sky"}]
        has(ask(messages, tools=[tool]).choices[0].message.content, "clear sky")

    def parallel():
        chunks = list(ask("Weather?", model=far, tools=[tool], stream=True))
        calls = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls
        same([call.function.arguments for call in calls], ['{"town":"Oslo"}', '{"town":"Rome"}'])

    def structured():
        has(ask("A moon?", response_format=Moon).choices[0].message.content.replace(" ", ""), '"planet":"Mars"')

    def images():
        parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": pixel}}]
        same(ask([{"role": "user", "content": parts}], model=far).choices[0].message.content, "A dot.")

    def errors():
        raises(litellm.NotFoundError, lambda: ask("x", model=unknown), unknown)

    def overflow():
        raises(litellm.ContextWindowExceededError, lambda: ask("x", model=far))

    def abort():
        running = ask("x", model=far, stream=True)
        for chunk in running:
            if chunk.choices[0].delta.content:
                break
        running.completion_stream.close() if hasattr(running.completion_stream, "close") else None
        del running

    def retries():
        same(ask("x", model=far, num_retries=2).choices[0].message.content, "Now.")

    for run in (text, stream, tools, parallel, structured, images, errors, overflow, retries):
        globals()[f"{door}_{run.__name__}"] = run


define("chat", "openai", base_url)
define("messages", "anthropic", anthropic_url)


def embeddings_embeddings():
    answer = litellm.embedding(model=f"openai/{embedder}", api_base=base_url, api_key=api_key, input=["a b", "c d"])
    same([each["embedding"] for each in answer.data], [[0.5, 1], [1.5, 1]])


def embeddings_errors():
    ask = lambda: litellm.embedding(model="openai/near/none", api_base=base_url, api_key=api_key, input=["x"])
    raises(litellm.NotFoundError, ask, "near/none")
