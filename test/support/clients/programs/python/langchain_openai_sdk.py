"""LangChain's models for the formats of OpenAI."""
import langchain_runs
import openai
from common import *
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


def model(door):
    return lambda name, retries=0: ChatOpenAI(
        model=name, base_url=base_url, api_key=api_key, max_retries=retries, use_responses_api=door == "responses"
    )


for door in ("chat", "responses"):
    langchain_runs.define(globals(), door, model(door), openai.NotFoundError)


def embeddings_embeddings():
    vectors = OpenAIEmbeddings(model=embedder, base_url=base_url, api_key=api_key, check_embedding_ctx_length=False)
    same(vectors.embed_documents(["a b", "c d"]), [[0.5, 1], [1.5, 1]])


def embeddings_errors():
    vectors = OpenAIEmbeddings(model="near/none", base_url=base_url, api_key=api_key, check_embedding_ctx_length=False)
    raises(openai.NotFoundError, lambda: vectors.embed_query("x"), "near/none")
