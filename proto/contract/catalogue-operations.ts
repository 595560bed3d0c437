/** The operations of the catalogue. */
import { endpointsExample, modelListExample, providerListExample } from "./catalogue-examples.ts";
import { endpointList } from "./endpoints.ts";
import { modelFilters } from "./model-filters.ts";
import { modelList } from "./models.ts";
import { type Operation, type PublishedParameter, example, json } from "./operation.ts";
import { providerList } from "./providers.ts";

const statuses = [400, 401, 408, 500, 503];

const segment = (name: string, description: string): PublishedParameter => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});

const listModels: Operation = {
  path: "/models",
  method: "get",
  id: "listModels",
  tag: "Catalogue",
  summary: "List the models",
  description:
    "Every model that a request may name, in the order of the configuration. Parameters that are not listed here are ignored.",
  query: modelFilters,
  answer: { says: "The models.", content: [json(modelList, example(modelListExample))] },
  statuses,
};

const listEndpoints: Operation = {
  path: "/models/{author}/{slug}/endpoints",
  method: "get",
  id: "listEndpoints",
  tag: "Catalogue",
  summary: "List who serves a model",
  description:
    "A model and its endpoints, in the order of the configuration. What is said of their speed and outages is what one process has seen.",
  parameters: [
    segment("author", "The slug of the model up to its first slash."),
    segment("slug", "The rest, in which further slashes are percent-encoded. A variant at its end is ignored."),
  ],
  answer: { says: "The model and its endpoints.", content: [json(endpointList, example(endpointsExample))] },
  statuses: [400, 401, 404, 408, 500, 503],
};

const listProviders: Operation = {
  path: "/providers",
  method: "get",
  id: "listProviders",
  tag: "Catalogue",
  summary: "List the providers",
  description: "Who serves models here, in the order of the configuration. Neither keys nor addresses.",
  answer: { says: "The providers.", content: [json(providerList, example(providerListExample))] },
  statuses,
};

export const catalogueOperations: readonly Operation[] = [listModels, listEndpoints, listProviders];
