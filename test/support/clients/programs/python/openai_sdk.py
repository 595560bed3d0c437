"""The SDK of OpenAI."""
import openai
from common import *
from openai import OpenAI
from pydantic import BaseModel
from typing import Literal


class Moon(BaseModel):
    name: str
    planet: Literal["Mars", "Jupiter"]


def client(max_retries=0):
    return OpenAI(base_url=base_url, api_key=api_key, max_retries=max_retries)


def user(content):
    return [{"role": "user", "content": content}]


tool = {"type": "function", "function": {"name": "w", "description": "Weather", "strict": True, "parameters": parameters}}
flat_tool = {"type": "function", "name": "w", "description": "Weather", "strict": True, "parameters": parameters}


def chat_text():
    answer = client().chat.completions.create(model=echo, messages=user("Name a moon."))
    has(answer.choices[0].message.content, "Name a moon.")
    assert answer.usage.completion_tokens > 0


def chat_stream():
    for options in ({}, {"stream_options": {"include_usage": True}}):
        with client().chat.completions.stream(model=echo, messages=user("Count to three."), **options) as stream:
            whole = stream.get_final_completion()
        has(whole.choices[0].message.content, "Count to three.")
        same(whole.choices[0].finish_reason, "stop")
        assert whole.usage.completion_tokens > 0


def chat_tools():
    messages = user("Weather in Oslo?")
    first = client().chat.completions.create(model=echo, messages=messages, tools=[tool])
    call = first.choices[0].message.tool_calls[0]
    messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "clear sky"}]
    second = client().chat.completions.create(model=echo, messages=messages, tools=[tool])
    has(second.choices[0].message.content, "clear sky")


def chat_parallel():
    with client().chat.completions.stream(model=far, messages=user("Weather?"), tools=[tool]) as stream:
        finished = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        calls = stream.get_final_completion().choices[0].message.tool_calls
    same([call.function.parsed_arguments for call in calls], [{"town": "Oslo"}, {"town": "Rome"}])
    same([event.parsed_arguments for event in finished], [{"town": "Oslo"}, {"town": "Rome"}])


def chat_structured():
    answer = client().chat.completions.parse(model=echo, messages=user("A moon?"), response_format=Moon)
    same(answer.choices[0].message.parsed.planet, "Mars")


def chat_images():
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": pixel}}]
    answer = client().chat.completions.create(model=far, messages=user(parts))
    same(answer.choices[0].message.content, "A dot.")


def chat_errors():
    create = client().chat.completions.create
    hot = raises(openai.BadRequestError, lambda: create(model=echo, messages=user("x"), temperature=3), "temperature")
    same([hot.type, hot.param], ["invalid_request_error", "temperature"])
    raises(openai.NotFoundError, lambda: create(model=unknown, messages=user("x")), unknown)
    other = OpenAI(base_url=base_url, api_key="sk-none", max_retries=0)
    raises(openai.AuthenticationError, lambda: other.models.list())


def chat_abort():
    stream = client().chat.completions.create(model=far, messages=user("x"), stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()


def chat_retries():
    answer = client(2).chat.completions.create(model=far, messages=user("x"))
    same(answer.choices[0].message.content, "Now.")


def responses_text():
    has(client().responses.create(model=echo, input="Name a moon.").output_text, "Name a moon.")


def responses_stream():
    with client().responses.stream(model=echo, input="Count to three.") as stream:
        whole = stream.get_final_response()
    has(whole.output_text, "Count to three.")
    assert whole.usage.output_tokens > 0


def responses_tools():
    items = user("Weather in Oslo?")
    first = client().responses.create(model=echo, input=items, tools=[flat_tool])
    call = first.output[0]
    items += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": "clear sky"}]
    has(client().responses.create(model=echo, input=items, tools=[flat_tool]).output_text, "clear sky")


def responses_parallel():
    with client().responses.stream(model=far, input="Weather?", tools=[flat_tool]) as stream:
        whole = stream.get_final_response()
    same([item.arguments for item in whole.output], ['{"town":"Oslo"}', '{"town":"Rome"}'])


def responses_structured():
    same(client().responses.parse(model=echo, input="A moon?", text_format=Moon).output_parsed.planet, "Mars")


def responses_images():
    parts = [{"type": "input_image", "image_url": pixel, "detail": "auto"}]
    same(client().responses.create(model=far, input=user(parts)).output_text, "A dot.")


def responses_thinking():
    whole = client().responses.create(model=far, input="Think.")
    same([item.type for item in whole.output], ["reasoning", "message"])
    same([whole.output[0].content[0].text, whole.output_text], ["Hm.", "Yes."])


def responses_errors():
    create = client().responses.create
    raises(openai.BadRequestError, lambda: create(model=echo, input="x", temperature=3), "temperature")
    raises(openai.NotFoundError, lambda: create(model=unknown, input="x"), unknown)


def responses_abort():
    stream = client().responses.create(model=far, input="x", stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()


def responses_retries():
    same(client(2).responses.create(model=far, input="x").output_text, "Now.")


def embeddings_embeddings():
    answer = client().embeddings.create(model=embedder, input=["a b", "c d"])
    same([each.embedding for each in answer.data], [[0.5, 1], [1.5, 1]])


def embeddings_errors():
    raises(openai.NotFoundError, lambda: client().embeddings.create(model="near/none", input="x"), "near/none")
