/** The published document: OpenAPI 3.1, printed from the shapes that check requests and, in tests, answers. */
import { rateLimitHeaderNames } from "@sluice/proto/lib/limits/decision.js";
import type { Components, JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { version } from "@sluice/proto/lib/process/version.js";
import {
  errorShape,
  errorStatuses,
  defaultErrorType,
  defaultMessage,
  openAiTypeOf,
} from "@sluice/proto/contract/operations/errors.js";
import { errorTypeOf, messagesError } from "../messages/error.ts";
import { flattenSchemas } from "./flat-schemas.ts";
import { messageOperations } from "./messages.ts";
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import {
  type PublishedAnswer,
  type PublishedPaths,
  type Reference,
  failureComponentNames,
  publishPaths,
  publishedRateLimitHeaders,
} from "./published.ts";

const headers = {
  RequestId: {
    description: "Name of the request in the logs of the service.",
    schema: { type: "string" },
  },
  GenerationId: {
    description: "Name of the generation; given once the request has been read.",
    schema: { type: "string", pattern: "^gen-" },
  },
  Warning: {
    description:
      "Fields of the request that do not exist and were ignored, and what may have been meant; and max_output_tokens, text.format and tool_choice, each in the words of the format, where the model was not sent what the request says.",
    schema: { type: "string" },
  },
  RetryAfter: {
    description: "Seconds to wait before another try, when that is known; on 429 and 503 above all.",
    schema: { type: "integer", minimum: 1 },
  },
  RetryAfterMs: {
    description: "The same in milliseconds.",
    schema: { type: "integer", minimum: 1 },
  },
  ShouldRetry: {
    description: "Whether another try may help: the same request, unchanged.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  ...Object.fromEntries(rateLimitHeaderNames.map((name) => [name, rateLimit(name)])),
};

function rateLimit(name: string): { readonly description: string; readonly schema: JsonSchema } {
  const [, , what = "", kind] = name.split("-");
  const described: Readonly<Record<string, string>> = {
    limit: `${kind} a minute that the key may have`,
    remaining: `${kind} that are left now`,
    reset: `How long it takes until all ${kind} are there again, such as 1.25s or 6m0s`,
  };
  return {
    description: `${described[what]}. Only with keys that have such a limit.`,
    schema: what === "reset" ? { type: "string" } : { type: "integer", minimum: 0 },
  };
}

const meaning: Readonly<Record<number, string>> = {
  400: "A parameter is missing, malformed or out of its limits; `previous_response_id` is not null; or the input does not fit the model.",
  401: "No key, or one that is malformed, unknown, disabled or expired.",
  402: "Credits or quota are spent.",
  403: "The key may not do this, or its guardrail blocked the request; then `metadata.patterns` names the rules that matched.",
  404: "No such resource, or no endpoint is left that may serve the model.",
  408: "A time limit of the service ended the operation.",
  409: "The record exists already.",
  413: "The body is larger than the limit.",
  422: "Well-formed, but contradictory.",
  429: "Too many requests.",
  500: "Unexpected failure of the service; what happened stays in its logs.",
  502: "The provider failed or could not be reached.",
  503: "No capacity at present.",
  524: "The provider did not answer in time.",
  529: "The provider reports that it is overloaded.",
};

const description = `A gateway between applications and model providers.

Bodies are JSON in UTF-8, at most 64 arrays and objects deep, without repeated keys in the upper three levels, and without halves of
surrogate pairs. Lengths count Unicode code points. Fields that are not described are ignored, unless a schema says otherwise.

What an object of an answer holds beyond its description may be skipped: fields and kinds of items are added over time.`;

const reference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

function failure(status: number, components: Components): PublishedAnswer {
  const metadata = status === 401 ? undefined : { error_type: defaultErrorType(status) };
  const value = {
    error: { code: status, message: defaultMessage(status), type: openAiTypeOf(status), ...(metadata && { metadata }) },
  };
  return failureAs(status, errorShape(status).schema(components), value);
}

function messagesFailure(status: number, components: Components): PublishedAnswer {
  const error = { type: errorTypeOf(status), message: defaultMessage(status) };
  const { headers, ...answer } = failureAs(status, messagesError.schema(components), {
    type: "error",
    error,
    request_id: "req_3kTMd",
  });
  return { ...answer, headers: { "request-id": reference("RequestId"), ...headers } };
}

function failureAs(status: number, schema: JsonSchema, value: object): PublishedAnswer {
  return {
    description: meaning[status] ?? defaultMessage(status),
    headers: {
      "x-request-id": reference("RequestId"),
      "X-Generation-Id": reference("GenerationId"),
      "x-should-retry": reference("ShouldRetry"),
      "Retry-After": reference("RetryAfter"),
      "retry-after-ms": reference("RetryAfterMs"),
      ...(status === 429 && publishedRateLimitHeaders),
    },
    content: {
      "application/json": {
        schema,
        examples: { example: { summary: "An example", value } },
      },
    },
  };
}

const messagesStatuses = [...new Set(Object.values(messageOperations).flatMap(({ statuses }) => statuses))];

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly license: JsonSchema;
  };
  readonly jsonSchemaDialect: string;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: PublishedPaths;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, PublishedAnswer>>;
    readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>;
    readonly securitySchemes: Readonly<
      Record<string, { readonly type: "http"; readonly scheme: "bearer"; readonly description: string }>
    >;
  };
}

/** The schemas of the document as their shapes print them, with nested objects. */
export function describeSchemas(): Readonly<Record<string, JsonSchema>> {
  const components: Components = new Map();
  publishPaths(components);
  return Object.fromEntries(components);
}

/** Builds the whole document, which takes some milliseconds. */
export function openApi(): OpenApiDocument {
  const components: Components = new Map();
  const paths = publishPaths(components);
  const responses = Object.fromEntries([
    ...errorStatuses.map((status) => [failureComponentNames.responses(status), failure(status, components)]),
    ...messagesStatuses.map((status) => [failureComponentNames.messages(status), messagesFailure(status, components)]),
  ]);
  return {
    openapi: "3.1.1",
    info: {
      title: "Sluice",
      version,
      summary: "Responses from many providers, and the administration of access to them.",
      description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    servers: [{ url: basePath }],
    tags: [
      { name: "Responses", description: "Answers of models." },
      { name: "Embeddings", description: "Vectors of texts." },
      { name: "Catalogue", description: "Models and providers." },
      { name: "Administration", description: "Keys, guardrails, their assignments, end users and usage records." },
    ],
    paths,
    components: {
      schemas: flattenSchemas(Object.fromEntries(components)),
      responses,
      headers,
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description: "An API key. It begins with `sk-sl-`. The header `x-api-key` presents it as well.",
        },
        managementKey: { type: "http", scheme: "bearer", description: "A management key. It begins with `mk-sl-`." },
      },
    },
  };
}
