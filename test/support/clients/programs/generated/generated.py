"""Calls Sluice with the client that openapi-python-client makes from the document."""

import os

from sluice_client import AuthenticatedClient
from sluice_client.api.administration import create_key
from sluice_client.api.responses import create_chat_completion
from sluice_client.models import ChatCompletion, ChatCompletionRequest, NewKey


def client(name):
    return AuthenticatedClient(base_url=os.environ["SLUICE_URL"], token=os.environ[name])


with client("SLUICE_MANAGEMENT_KEY") as manager:
    key = create_key.sync(client=manager, body=NewKey(name="generated in Python"))
request = {"model": "sluice/echo", "messages": [{"role": "user", "content": "Hello from Python"}]}
with client("SLUICE_API_KEY") as caller:
    answer = create_chat_completion.sync(client=caller, body=ChatCompletionRequest.from_dict(request))
assert isinstance(answer, ChatCompletion), answer
print(key.data.name)
print(answer.choices[0].message.content)
