"""Instructor over the SDK of OpenAI."""
import instructor
from common import *
from instructor import Mode
from openai import OpenAI
from pydantic import BaseModel
from typing import Literal


class Moon(BaseModel):
    name: str
    planet: Literal["Mars", "Jupiter"]


def ask(mode):
    client = instructor.from_openai(OpenAI(base_url=base_url, api_key=api_key, max_retries=0), mode=mode)
    messages = [{"role": "user", "content": "A moon?"}]
    return client.chat.completions.create(model=echo, messages=messages, response_model=Moon, max_retries=1)


def chat_structured():
    for mode in (Mode.TOOLS, Mode.JSON_SCHEMA):
        same(ask(mode).planet, "Mars")
