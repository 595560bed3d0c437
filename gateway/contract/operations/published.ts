/** The operations in the form of the OpenAPI document. */
import { rateLimitHeaderNames } from "@sluice/proto/lib/limits/decision.js";
import type { Components, JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import {
  type Content,
  type Operation,
  type PublishedParameter,
  publishedParameters,
} from "@sluice/proto/contract/operations/operation.js";
import { operations } from "./operations.ts";
import { createChatCompletion } from "./chat.ts";
import { createEmbeddings } from "./embeddings.ts";
import { createResponse } from "./responses.ts";

/** An operation in the form of the document. */
export interface PublishedOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  /** Security requirements as alternatives: a key of any of these kinds suffices. */
  readonly security: readonly Readonly<Record<string, readonly []>>[];
  readonly parameters?: readonly PublishedParameter[];
  readonly requestBody?: { readonly required: true; readonly content: PublishedContent };
  readonly responses: Readonly<Record<string, PublishedAnswer | Reference>>;
}

/** Content of a body by media type. */
export type PublishedContent = Readonly<
  Record<string, { readonly schema: JsonSchema; readonly examples?: Content["examples"] }>
>;

export interface PublishedAnswer {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content: PublishedContent;
}

export interface Reference {
  readonly $ref: string;
}

/** Operations by path and method. */
export type PublishedPaths = Readonly<Record<string, Readonly<Record<string, PublishedOperation>>>>;

/** The member `paths` of the OpenAPI document. */
export function publishPaths(components: Components): PublishedPaths {
  const paths: Record<string, Record<string, PublishedOperation>> = {};
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    (paths[operation.path] ??= {})[operation.method] = publishOperation(id, operation, components);
  }
  return paths;
}

function publishOperation(id: string, operation: Operation, components: Components): PublishedOperation {
  const { tag, summary, description, body, answer, statuses } = operation;
  const parameters = publishedParameters(operation, components);
  const named = failureComponentNames[operation.failures ?? "responses"];
  const failures = statuses.map((status) => [String(status), { $ref: `#/components/responses/${named(status)}` }]);
  const success = (message: string) => ({
    description: [message, ...answer.content.flatMap(framingOf)].join(" "),
    headers: headersOf(operation),
    content: contentOf(answer.content, components),
  });
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: schemes[operation.key],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: contentOf([body], components) } }),
    responses: {
      [answer.status ?? 200]: success(answer.description),
      ...(answer.whenCreated !== undefined && { 201: success(answer.whenCreated) }),
      ...Object.fromEntries(failures),
    },
  };
}

const framingOf = ({ framing }: Content): readonly string[] =>
  framing === undefined
    ? []
    : [`Events as they happen. ${framing} Lines that begin with a colon only keep the connection open.`];

/** Names of error answers among the components of the document, by the form of the error. */
export const failureComponentNames = {
  responses: (status: number) => `Error${status}`,
  messages: (status: number) => `MessagesError${status}`,
} as const;

/** Security schemes of the document by the kind of key. */
const schemes = {
  inference: [{ apiKey: [] }],
  management: [{ managementKey: [] }],
  any: [{ apiKey: [] }, { managementKey: [] }],
} as const;

const contentOf = (contents: readonly Content[], components: Components): PublishedContent =>
  Object.fromEntries(
    contents.map(({ type, shape, examples }) => [
      type,
      { schema: shape.schema(components), ...(Object.keys(examples).length > 0 && { examples }) },
    ]),
  );

/** Rate limit headers of an answer. */
export const publishedRateLimitHeaders: PublishedAnswer["headers"] = Object.fromEntries(
  rateLimitHeaderNames.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

const header = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

const modelTags: ReadonlySet<Operation["tag"]> = new Set(["Responses", "Embeddings"]);
/** Operations with a model call. */
const modelOperations: ReadonlySet<Operation> = new Set<Operation>([
  createResponse,
  createChatCompletion,
  createEmbeddings,
]);

/**
 * Headers of an operation's answers. Rate limit headers belong to requests that call models, since only these count against the limits of their key.
 */
const headersOf = (operation: Operation): PublishedAnswer["headers"] => ({
  "x-request-id": header("RequestId"),
  ...(modelOperations.has(operation) && { "X-Generation-Id": header("GenerationId") }),
  ...(modelTags.has(operation.tag) && { "x-sluice-warning": header("Warning"), ...publishedRateLimitHeaders }),
});
