/** Operations on configured providers, both of the file and of the database. */
import { string } from "../../lib/validation/shape.ts";
import { configuredProviderExample, localServerExample, providerTestExample } from "../examples/administration.ts";
import {
  configuredProviderAnswer,
  configuredProviderList,
  deletedProvider,
  localServerList,
  newProvider,
  providerChange,
} from "../records/providers.ts";
import { providerTestAnswer, providerTestRequest } from "../records/provider-test.ts";
import { type PathParameter, example, json, operation } from "./operation.ts";

const tag = "Catalogue";
const key = "management";
/** Maximum body size in bytes: enough for a thousand models with their prices. */
const maxBytes = 1_048_576;

const id: PathParameter = { description: "Id of a provider in the database.", shape: string() };

const answer = {
  description: "The provider.",
  content: [json(configuredProviderAnswer, example({ data: configuredProviderExample }))],
};

const listConfiguredProviders = operation({
  path: "/providers/configured",
  method: "get",
  tag,
  key,
  role: "admin",
  summary: "List the providers as they are configured",
  description:
    "The providers of the configuration file and of the database, those that serve nothing included, with the reason. Keys are never returned. Needs a management key of the account.",
  answer: {
    description: "The providers: those of the file first.",
    content: [json(configuredProviderList, example({ data: [configuredProviderExample] }))],
  },
  statuses: [400, 401, 403, 408, 500, 503],
});

const findLocalServers = operation({
  path: "/providers/found",
  method: "get",
  tag,
  key,
  role: "admin",
  summary: "Find servers of models on this machine",
  description:
    "Looks for Ollama, vLLM, LM Studio and llama.cpp at the loopback address of the machine of one inference process, at the ports 11434 (or that of `OLLAMA_HOST`), 8000, 1234 and 8080, for a second at most, and lists their models for chat. Nothing is added: `POST /providers` takes what it lists, with the dialect `chat`. Needs a management key of the account.",
  answer: {
    description: "The servers that answer; none where there are none.",
    content: [json(localServerList, example({ data: [localServerExample] }))],
  },
  statuses: [400, 401, 403, 408, 500, 503],
});

const createProvider = operation({
  path: "/providers",
  method: "post",
  tag,
  key,
  summary: "Add a provider",
  description:
    "Adds a provider to the database, checked like one of the configuration file. Its keys are stored encrypted, and its models are served by every process when this is answered. Needs a management key of the account.",
  body: {
    ...json(newProvider, {
      vendor: {
        summary: "All models of a vendor in the catalogue",
        value: { id: "openai", vendor: "openai", api_keys: ["sk-..."], known_models: true },
      },
      server: {
        summary: "A server in the format of chat completions",
        value: { id: "ollama", dialect: "chat", base_url: "http://127.0.0.1:11434/v1", models: ["llama3.2:3b"] },
      },
    }),
    maxBytes,
  },
  answer: { ...answer, status: 201 },
  statuses: [400, 401, 403, 408, 409, 413, 500, 503],
});

const updateProvider = operation({
  path: "/providers/{id}",
  method: "patch",
  tag,
  key,
  summary: "Change a provider",
  description:
    "Changes the settings of a provider in the database that the body names, and nothing else; in force in every process when this is answered. Needs a management key of the account.",
  parameters: { id },
  body: { ...json(providerChange, example({ api_keys: ["sk-..."] })), maxBytes },
  answer: { ...answer, description: "The provider as it is now." },
  statuses: [400, 401, 403, 404, 408, 409, 413, 500, 503],
});

const deleteProvider = operation({
  path: "/providers/{id}",
  method: "delete",
  tag,
  key,
  summary: "Delete a provider",
  description:
    "Deletes a provider from the database, with its keys. Requests under way end as they would; later ones find its models no more. Needs a management key of the account.",
  parameters: { id },
  answer: { description: "It is gone.", content: [json(deletedProvider, example({ deleted: true }))] },
  statuses: [400, 401, 403, 404, 408, 500, 503],
});

const testProvider = operation({
  path: "/providers/{id}/test",
  method: "post",
  tag,
  key,
  role: "operator",
  summary: "Test a provider",
  description:
    "Sends the provider one tiny request, which may cost a fraction of a cent and is in no record, and says how that went. Needs a management key of the account. One test of a provider at a time in each process, for 30 s at most; another one is 429.",
  parameters: { id: { description: "Id of the provider.", shape: string() } },
  body: { ...json(providerTestRequest, example({ model: "acme/large" })), maxBytes: 4_096 },
  answer: { description: "How it went.", content: [json(providerTestAnswer, example({ data: providerTestExample }))] },
  statuses: [400, 401, 403, 404, 408, 429, 500, 503],
});

export const providerOperations = {
  listConfiguredProviders,
  findLocalServers,
  createProvider,
  updateProvider,
  deleteProvider,
  testProvider,
};
