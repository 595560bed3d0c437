/** The operations of the catalogue. */
import {
  endpointsExample,
  modelCountExample,
  modelExample,
  modelListExample,
  providerListExample,
} from "./catalogue-examples.ts";
import { endpointList } from "./endpoints.ts";
import { modelFilters, modelSelection } from "./model-filters.ts";
import { model, modelCount, modelList } from "./models.ts";
import { type Operation, type PublishedParameter, example, json } from "./operation.ts";
import { providerList } from "./providers.ts";

const statuses = [400, 401, 408, 429, 500, 503];

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

const countModels: Operation = {
  path: "/models/count",
  method: "get",
  id: "countModels",
  tag: "Catalogue",
  summary: "Count the models",
  description:
    "How many models there are, by the same filters as the list. Parameters that are not listed here are ignored.",
  query: modelSelection,
  answer: { says: "How many there are.", content: [json(modelCount, example(modelCountExample))] },
  statuses,
};

const slug = [
  segment("author", "The slug of the model up to its first slash."),
  segment("slug", "The rest, in which further slashes are percent-encoded. A variant at its end is ignored."),
];

const getModel: Operation = {
  path: "/models/{author}/{slug}",
  method: "get",
  id: "getModel",
  tag: "Catalogue",
  summary: "Read a model",
  description: "One model, as it is in the list. The slug may also be one segment, its slashes percent-encoded.",
  parameters: slug,
  answer: { says: "The model.", content: [json(model, example(modelExample))] },
  statuses: [400, 401, 404, 408, 429, 500, 503],
};

const listEndpoints: Operation = {
  path: "/models/{author}/{slug}/endpoints",
  method: "get",
  id: "listEndpoints",
  tag: "Catalogue",
  summary: "List who serves a model",
  description:
    "A model and its endpoints, in the order of the configuration. What is said of their speed and outages is what one process has seen.",
  parameters: slug,
  answer: { says: "The model and its endpoints.", content: [json(endpointList, example(endpointsExample))] },
  statuses: [400, 401, 404, 408, 429, 500, 503],
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

export const catalogueOperations: readonly Operation[] = [
  listModels,
  countModels,
  getModel,
  listEndpoints,
  listProviders,
];
