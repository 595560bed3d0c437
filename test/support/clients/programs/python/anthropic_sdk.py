"""The SDK of Anthropic."""
import anthropic
from anthropic import Anthropic
from common import *


def client(max_retries=0):
    return Anthropic(base_url=anthropic_url, api_key=api_key, max_retries=max_retries)


def ask(content, **fields):
    return {"model": echo, "max_tokens": 500, "messages": [{"role": "user", "content": content}], **fields}


tool = {"name": "w", "description": "Weather", "input_schema": parameters}


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def messages_text():
    answer = client().messages.create(**ask("Name a moon."))
    has(text_of(answer), "Name a moon.")
    assert answer.usage.output_tokens > 0


def messages_stream():
    with client().messages.stream(**ask("Count to three.")) as stream:
        whole = stream.get_final_message()
    has(text_of(whole), "Count to three.")
    assert whole.usage.output_tokens > 0


def messages_tools():
    first = client().messages.create(**ask("Weather in Oslo?", tools=[tool]))
    call = next(block for block in first.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "clear sky"}
    messages = [
        {"role": "user", "content": "Weather in Oslo?"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    has(text_of(client().messages.create(model=echo, max_tokens=500, messages=messages, tools=[tool])), "clear sky")


def messages_parallel():
    with client().messages.stream(**ask("Weather?", model=far, tools=[tool])) as stream:
        whole = stream.get_final_message()
    same([block.input for block in whole.content], [{"town": "Oslo"}, {"town": "Rome"}])


def messages_structured():
    output = {"format": {"type": "json_schema", "schema": moon_schema}}
    has(text_of(client().messages.create(**ask("A moon?", output_config=output))), '"planet":"Mars"')


def messages_images():
    source = {"type": "base64", "media_type": "image/png", "data": pixel_data}
    answer = client().messages.create(**ask([{"type": "image", "source": source}], model=far))
    same(text_of(answer), "A dot.")


def messages_thinking():
    whole = client().messages.create(**ask("Think.", model=far))
    same([block.type for block in whole.content], ["thinking", "text"])
    same([whole.content[0].thinking, text_of(whole)], ["Hm.", "Yes."])


def messages_errors():
    error = raises(anthropic.NotFoundError, lambda: client().messages.create(**ask("x", model=unknown)), unknown)
    assert error.request_id
    other = Anthropic(base_url=anthropic_url, api_key="sk-none", max_retries=0)
    raises(anthropic.AuthenticationError, lambda: other.messages.create(**ask("x")))


def messages_abort():
    stream = client().messages.create(**ask("x", model=far, stream=True))
    for event in stream:
        if event.type == "content_block_delta":
            break
    stream.close()


def messages_retries():
    same(text_of(client(2).messages.create(**ask("x", model=far))), "Now.")
