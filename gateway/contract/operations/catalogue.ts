/** Operations on the catalogue. */
import {
  endpointsExample,
  modelCountExample,
  modelExample,
  modelListExample,
  providerListExample,
} from "../examples/catalogue.ts";
import { endpointList } from "../catalogue/endpoints.ts";
import { modelFilters, modelSelection } from "../catalogue/model-filters.ts";
import { modelShape, modelCount, modelList } from "../catalogue/models.ts";
import { string } from "@sluice/proto/lib/validation/shape.js";
import { type PathParameter, example, json, operation } from "@sluice/proto/contract/operations/operation.js";
import { leftOutList, providerList } from "../catalogue/providers.ts";

const statuses = [400, 401, 408, 429, 500, 503];

const segment = (description: string): PathParameter => ({ description, shape: string() });

const listModels = operation({
  path: "/models",
  method: "get",
  tag: "Catalogue",
  key: "inference",
  summary: "List the models",
  description:
    "Every model that a request may name, in the order of the configuration. Parameters that are not listed here are ignored.",
  query: modelFilters,
  answer: { description: "The models.", content: [json(modelList, example(modelListExample))] },
  statuses,
});

const countModels = operation({
  path: "/models/count",
  method: "get",
  tag: "Catalogue",
  key: "inference",
  summary: "Count the models",
  description:
    "How many models there are, by the same filters as the list. Parameters that are not listed here are ignored.",
  query: modelSelection,
  answer: { description: "How many there are.", content: [json(modelCount, example(modelCountExample))] },
  statuses,
});

const oneSegment = segment("The whole slug, its slashes percent-encoded.");
const parameters = {
  author: segment("The slug of the model up to its first slash."),
  slug: segment("The rest, in which further slashes are percent-encoded. A variant at its end is ignored."),
};

const getModel = operation({
  path: "/models/{author}/{slug}",
  aliases: ["/models/{model}"],
  method: "get",
  tag: "Catalogue",
  key: "inference",
  summary: "Read a model",
  description: "One model, as it is in the list. The slug may also be one segment, its slashes percent-encoded.",
  parameters: { ...parameters, model: oneSegment },
  answer: { description: "The model.", content: [json(modelShape, example(modelExample))] },
  statuses: [400, 401, 404, 408, 429, 500, 503],
});

const listEndpoints = operation({
  path: "/models/{author}/{slug}/endpoints",
  aliases: ["/models/{model}/endpoints"],
  method: "get",
  tag: "Catalogue",
  key: "inference",
  summary: "List the endpoints of a model",
  description:
    "A model and its endpoints, in the order of the configuration. Figures on speed and outages are those of one process.",
  parameters: { ...parameters, model: oneSegment },
  answer: { description: "The model and its endpoints.", content: [json(endpointList, example(endpointsExample))] },
  statuses: [400, 401, 404, 408, 429, 500, 503],
});

const listProviders = operation({
  path: "/providers",
  method: "get",
  tag: "Catalogue",
  key: "inference",
  summary: "List the providers",
  description: "The providers that serve models, in the order of the configuration, without keys and addresses.",
  answer: { description: "The providers.", content: [json(providerList, example(providerListExample))] },
  statuses,
});

const listLeftOutProviders = operation({
  path: "/providers/left-out",
  method: "get",
  tag: "Catalogue",
  key: "management",
  summary: "List the providers that are left out",
  description:
    "The providers of the configuration file that one process serves nothing of, and why: the variables that are not set, or a package that cannot be loaded.",
  answer: {
    description: "The providers; none where all of them are used.",
    content: [json(leftOutList, example({ data: [{ slug: "openai", reason: "OPENAI_API_KEY is not set" }] }))],
  },
  statuses: [400, 401, 403, 408, 500, 503],
});

export const catalogueOperations = {
  listModels,
  countModels,
  getModel,
  listEndpoints,
  listProviders,
  listLeftOutProviders,
};
