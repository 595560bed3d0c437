/** `file_search`: the operator's vector stores. Sluice searches them for models whose provider has no file search. */
import { z } from "zod";
import { callPricing } from "./scalars.ts";

const store = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .describe(
      "Base URL of a service with OpenAI's format, without /vector_stores: it answers POST /vector_stores/{id}/search.",
    ),
  api_key: z.string().min(1).optional().describe("Key of the service, sent as a bearer token; absent for none."),
  id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Id of the store at the service; when absent, the name under which it stands here."),
  timeout_ms: z.int().min(1).max(60_000).default(10_000).describe("Time limit of one search."),
  pricing: callPricing("search").optional(),
});

export const fileSearch = z.strictObject({
  stores: z
    .record(z.string().min(1).max(200), store)
    .default({})
    .describe(
      "Vector stores by the id that requests name in vector_store_ids. The permissions of a key narrow which of them it may search.",
    ),
});

export type FileSearchSettings = z.infer<typeof fileSearch>;
export type VectorStoreSettings = z.infer<typeof store>;
