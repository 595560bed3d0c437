/** Headers of requests to models. */
import type { PublishedParameter } from "@sluice/proto/contract/operations/operation.js";

const metadataWords = { type: "string", enum: ["disabled", "enabled"], default: "disabled" } as const;

export const metadataHeader: PublishedParameter = {
  name: "X-Service-Metadata",
  in: "header",
  description:
    "`enabled` adds `service_metadata` to the answer, and to the body of a failure. Letters of either case; anything else is `disabled`.",
  schema: metadataWords,
};

export const legacyMetadataHeader: PublishedParameter = {
  name: "X-Service-Experimental-Metadata",
  in: "header",
  deprecated: true,
  description: "Older spelling of `X-Service-Metadata`, read when that is absent.",
  schema: metadataWords,
};

export const timeoutHeader: PublishedParameter = {
  name: "X-Request-Timeout-Ms",
  in: "header",
  description:
    "Timeout of the client in milliseconds: afterwards the answer is 408, and no further provider is called. A shorter timeout of the service takes precedence.",
  schema: { type: "integer", minimum: 1 },
};

export const sessionHeader: PublishedParameter = {
  name: "x-session-id",
  in: "header",
  description: "Counts as `session_id` when the body has none.",
  schema: { type: "string", maxLength: 256 },
};

/** Header of every operation with a model call, and of embeddings. */
export const tagsParameter: PublishedParameter = {
  name: "x-sluice-tags",
  in: "header",
  description:
    "Tags for the record of the request, such as `team=search, env=prod`: at most 16, together with those of `metadata` and of the key. Names have at most 64 characters, values at most 256. A comma, a percent sign, and in names an equals sign are percent-encoded. A tag of the key wins over one of this header, and that over `metadata`.",
  schema: { type: "string", pattern: "^\\s*$|=" },
};

const idempotencyHeader: PublishedParameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Requests of one key with the same value and the same body that run at the same time are one turn, and all get its answer. Another body is " +
    "422 while it runs. Nothing is kept after the end.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
};

/** Headers of every operation with a model call. */
export const turnHeaders = [
  metadataHeader,
  legacyMetadataHeader,
  sessionHeader,
  tagsParameter,
  timeoutHeader,
  idempotencyHeader,
];
