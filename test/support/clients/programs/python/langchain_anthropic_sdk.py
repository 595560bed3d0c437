"""LangChain's model for the format of Anthropic."""
import anthropic
import langchain_runs
from common import *
from langchain_anthropic import ChatAnthropic


def model(name, retries=0):
    return ChatAnthropic(model=name, base_url=anthropic_url, api_key=api_key, max_retries=retries, max_tokens=500)


langchain_runs.define(globals(), "messages", model, anthropic.NotFoundError)
