/** The operations of the HTTP interface: where they are, what they take, and every status that they answer with. */
import type { Components, JsonSchema, ObjectShape } from "../runtime/validation/shape.ts";
import { rateLimitHeaderNames } from "../runtime/limits/decision.ts";
import { catalogueOperations } from "./catalogue-operations.ts";
import { errorStatuses } from "./errors.ts";
import { dryRun } from "./dry-run.ts";
import { streamEvent } from "./events.ts";
import { dryRunExample, eventExample, requestExamples, responseExample } from "./examples.ts";
import { endUserOperations } from "./end-user-operations.ts";
import { guardrailOperations } from "./guardrail-operations.ts";
import { keyOperations } from "./key-operations.ts";
import { type Content, type Operation, type PublishedParameter, example, json } from "./operation.ts";
import { usageOperations } from "./usage-operations.ts";
import { builtServerTools } from "./service-tools.ts";
import { requestShape } from "./request.ts";
import { response } from "./response.ts";

const metadataWords = { type: "string", enum: ["disabled", "enabled"], default: "disabled" } as const;

const metadataHeader: PublishedParameter = {
  name: "X-Service-Metadata",
  in: "header",
  description:
    "`enabled` adds `service_metadata` to the answer, and to the body of a failure. Letters of either case; anything else is `disabled`.",
  schema: metadataWords,
};

const legacyMetadataHeader: PublishedParameter = {
  name: "X-Service-Experimental-Metadata",
  in: "header",
  deprecated: true,
  description: "Older spelling of `X-Service-Metadata`, read when that is absent.",
  schema: metadataWords,
};

const sessionHeader: PublishedParameter = {
  name: "x-session-id",
  in: "header",
  description: "Counts as `session_id` when the body has none.",
  schema: { type: "string", maxLength: 256 },
};

const timeoutHeader: PublishedParameter = {
  name: "X-Request-Timeout-Ms",
  in: "header",
  description:
    "Milliseconds after which the client wants no answer any more: 408, and no provider is asked on. The limit of the service holds where it is shorter.",
  schema: { type: "integer", minimum: 1 },
};

const idempotencyHeader: PublishedParameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Requests of one key with the same value and the same body that run at the same time are one turn, and all get its answer. Another body is " +
    "422 while it runs. Nothing is kept after the end.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
};

const framing =
  "Events as they happen. Each is an `event:` line with its type and a `data:` line with one JSON object of this schema; " +
  "`data: [DONE]` comes last. Lines that begin with a colon only keep the connection open. Exactly one of `response.completed`, " +
  "`response.incomplete` and `response.failed` ends the response.";

/** What no schema can say. The fuzzer holds every refusal of a request that the schema accepts against these. */
const beyondTheSchema = [
  "`input` is needed, and so is a model: `model` or `models` names it.",
  "An output names a call before it in the same input: by `call_id`, that of an MCP approval by `approval_request_id`, that of a local shell by `id`.",
  "An `item_reference` names an item before it in the same input, since nothing is stored; no two `configuration_update` follow one another.",
  "`max_tool_calls` is 1 to 30, unless `stop_server_tools_when` takes its place.",
  "Names of tools differ; of several advisors or subagents all but one have a name. A subagent inherits functions of the request only.",
  "`tool_choice` names tools of the request, and `required` needs at least one.",
  "Deferred tools need a tool of type `service:tool_search` and at least one tool beside them that is not deferred; `tool_choice` is then `auto` or `allowed_tools`.",
  `Server tools that the service runs itself: ${builtServerTools.map((type) => `\`${type}\``).join(", ")}. Every other tool that neither the client nor a provider of the model runs is refused by its path.`,
  "`service:bash` is not available: this service runs no commands.",
  "Each plugin is given once. Of `alignment`: Rules that the service cannot decide itself need a judge that keeps to the data policy of the request, and an operator may limit how many there are; without a judge such rules are refused in `enforce`.",
  "`provider.sort` exacto is not available yet: 400. Stored prompts do not exist: 404.",
];

const createResponse: Operation = {
  path: "/responses",
  method: "post",
  id: "createResponse",
  tag: "Responses",
  summary: "Create a response",
  description:
    "Sends a request to a model and answers with one response object, or with a stream of events when `stream` is true. Until something " +
    "was given out, a failing endpoint is replaced by the next one; a failure that is left has the status that is listed here, also when a " +
    "stream was asked for. After that a stream ends in `response.failed`.\n\nBeyond what the schema says:\n\n" +
    beyondTheSchema.map((rule) => `- ${rule}`).join("\n"),
  parameters: [metadataHeader, legacyMetadataHeader, sessionHeader, timeoutHeader, idempotencyHeader],
  body: json(requestShape, requestExamples),
  answer: {
    says: "The response, or its events.",
    content: [
      json(response, example(responseExample)),
      { type: "text/event-stream", shape: streamEvent, examples: example(eventExample, "The data of one event") },
    ],
  },
  // To make a response is never in conflict with another.
  statuses: errorStatuses.filter((status) => status !== 409),
};

const rehearseResponse: Operation = {
  path: "/responses/dry-run",
  method: "post",
  id: "dryRunResponse",
  tag: "Responses",
  summary: "See what would become of a request",
  description:
    "Takes the body of `POST /responses`, with the same checks, limits and errors, and decides about it as that would, but asks no provider " +
    "and costs nothing. Answers with the receipt, also where `stream` is true, and also where a guardrail would refuse the request: then " +
    "`blocked` is true, and `error` is what it would be refused with. A failure always carries `service_metadata` once it was decided where " +
    "the request could go.",
  parameters: [sessionHeader],
  body: json(requestShape, requestExamples),
  answer: { says: "The receipt.", content: [json(dryRun, example(dryRunExample))] },
  statuses: [400, 401, 403, 404, 408, 413, 429, 500, 503],
};

export const operations: readonly Operation[] = [
  createResponse,
  rehearseResponse,
  ...catalogueOperations,
  ...usageOperations,
  ...keyOperations,
  ...guardrailOperations,
  ...endUserOperations,
];

/** An operation as the document has it. */
export interface PublishedOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  /** One of these is enough. */
  readonly security: readonly Readonly<Record<string, readonly []>>[];
  readonly parameters?: readonly PublishedParameter[];
  readonly requestBody?: { readonly required: true; readonly content: PublishedContent };
  readonly responses: Readonly<Record<string, PublishedAnswer | Reference>>;
}

/** By media type. */
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

/** By path and method. */
export type PublishedPaths = Readonly<Record<string, Readonly<Record<string, PublishedOperation>>>>;

/** `paths` of the document. */
export function pathsOf(components: Components): PublishedPaths {
  const paths: Record<string, Record<string, PublishedOperation>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = itemOf(operation, components);
  return paths;
}

function itemOf(operation: Operation, components: Components): PublishedOperation {
  const { id, tag, summary, description, parameters = [], query, body, answer, statuses } = operation;
  const all = [...parameters, ...(query ? parametersOf(query, components) : [])];
  const failures = statuses.map((status) => [String(status), { $ref: `#/components/responses/Error${status}` }]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: schemesOf(operation),
    ...(all.length > 0 && { parameters: all }),
    ...(body && { requestBody: { required: true, content: contentOf([body], components) } }),
    responses: {
      [answer.status ?? 200]: {
        description: answer.content.length > 1 ? `${answer.says} ${framing}` : answer.says,
        headers: headersOf(operation),
        content: contentOf(answer.content, components),
      },
      ...Object.fromEntries(failures),
    },
  };
}

const parametersOf = ({ fields }: ObjectShape, components: Components): PublishedParameter[] =>
  Object.entries(fields).map(([name, shape]) => {
    const { description, ...schema } = shape.schema(components);
    return { name, in: "query", description: String(description), schema };
  });

function schemesOf({ tag, anyKey }: Operation): PublishedOperation["security"] {
  if (anyKey) return [{ apiKey: [] }, { managementKey: [] }];
  return [tag === "Administration" ? { managementKey: [] } : { apiKey: [] }];
}

const contentOf = (contents: readonly Content[], components: Components): PublishedContent =>
  Object.fromEntries(
    contents.map(({ type, shape, examples }) => [
      type,
      { schema: shape.schema(components), ...(Object.keys(examples).length > 0 && { examples }) },
    ]),
  );

/** Wherever they are given. */
export const rateLimitHeaders: PublishedAnswer["headers"] = Object.fromEntries(
  rateLimitHeaderNames.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

const header = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

/** Operations that take a request to a model: they count against the limits of its key. */
const asking = [createResponse, rehearseResponse];

const headersOf = (operation: Operation): PublishedAnswer["headers"] => ({
  "x-request-id": header("RequestId"),
  ...(operation === createResponse && { "X-Generation-Id": header("GenerationId") }),
  ...(asking.includes(operation) && { "x-sluice-warning": header("Warning") }),
  ...(asking.includes(operation) && rateLimitHeaders),
});
