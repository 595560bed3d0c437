/** The operations that read the catalogue, and where each is. */
import { listEndpoints } from "./endpoints.ts";
import { countModels, getModel, listModels } from "./list.ts";
import type { ListCaller, ListParts } from "./parts.ts";
import { listProviders } from "./providers.ts";

/** A request whose key has been resolved. */
interface CatalogueRequest extends ListCaller {
  /** The URL as it was sent, with its query. */
  readonly url?: string | undefined;
  /** The path without its query, still percent-encoded. */
  readonly path: string;
}

export interface CatalogueRoute {
  /** Pattern, below /api/v1. */
  readonly path: string;
  readonly read: (parts: ListParts, request: CatalogueRequest) => Promise<unknown>;
}

/** A slug may also be sent as one segment, its slashes percent-encoded. */
const slugs = ["/models/:author/:slug", "/models/:slug"];

/** In the order in which they are tried: a slug may be any text, so that the models themselves come last. */
export const catalogueRoutes: readonly CatalogueRoute[] = [
  { path: "/models", read: (parts, request) => listModels(parts, request.url ?? "", request) },
  { path: "/models/count", read: (parts, request) => countModels(parts, request.url ?? "", request) },
  ...slugs.map(
    (slug): CatalogueRoute => ({
      path: `${slug}/endpoints`,
      read: (parts, request) => listEndpoints(parts, request.path, request),
    }),
  ),
  ...slugs.map((path): CatalogueRoute => ({ path, read: (parts, request) => getModel(parts, request.path, request) })),
  { path: "/providers", read: (parts, request) => listProviders(parts, request) },
];
