/** `search` and `fetch`: by whom the web is searched, and what of it may be read. */
import { z } from "zod";

const searxng = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .describe("Of an instance of yours, without /search. Its settings must allow the format json."),
  timeout_ms: z.int().min(1).max(60_000).default(5_000).describe("Time limit of one search."),
});

/** Engines that `search.engines` can configure; requests may name others, which are refused. */
export const searchEngines = ["searxng"] as const;

export const search = z.strictObject({
  default: z.enum(searchEngines).default("searxng").describe("Who is asked where a request names no engine."),
  engines: z
    .strictObject({ searxng: searxng.optional() })
    .prefault({})
    .describe("Whom the house can ask; without an entry only providers search that do so themselves."),
});

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

export const webFetch = z.strictObject({
  allow_private_origins: z
    .array(z.string().refine(isOrigin, "an origin such as http://wiki.internal:8080, and nothing behind it"))
    .max(100)
    .default([])
    .describe(
      "What may be read besides the public internet, each exactly: scheme, host and port. Whatever their hosts resolve to is believed.",
    ),
});

export type SearchSettings = z.infer<typeof search>;
export type WebFetchSettings = z.infer<typeof webFetch>;
