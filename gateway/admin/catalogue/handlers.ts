/** Handlers of the catalogue operations: /models and /providers. */
import type { catalogueOperations } from "../../contract/operations/catalogue.ts";
import type { Handlers } from "../operation.ts";
import { listEndpoints } from "./endpoints.ts";
import { countModels, getModel, listModels } from "./list.ts";
import { listLeftOutProviders, listProviders } from "./providers.ts";

export const catalogueHandlers: Handlers<typeof catalogueOperations> = {
  listModels,
  countModels,
  getModel,
  listEndpoints,
  listProviders,
  listLeftOutProviders,
};
