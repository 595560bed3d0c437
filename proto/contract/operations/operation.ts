/** The description of an HTTP operation. The gateway serves it, checks requests by it, and publishes it in the OpenAPI document. */
import { uuidForm } from "../../lib/ids/uuid.ts";
import { type Components, type JsonSchema, type ObjectShape, type Shape, string } from "../../lib/validation/shape.ts";
import type { Role } from "../../lib/policy/role.ts";

/** Common prefix of all operation paths. */
export const basePath = "/api/v1";

/** Names of the parameters in a path; `hash` for `/keys/{hash}`. */
export type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

/**
 * An HTTP operation.
 * @typeParam Path its path, or a union of all its paths
 * @typeParam Query the type of its checked query
 * @typeParam Body the type of its checked body
 */
export interface Operation<Path extends string = string, Query = unknown, Body = unknown> {
  readonly path: Path;
  /** Further paths of the operation, which the OpenAPI document only mentions in the description. */
  readonly aliases?: readonly Path[];
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly tag: "Responses" | "Embeddings" | "Administration" | "Catalogue";
  readonly summary: string;
  readonly description: string;
  /**
   * The kind of keys that may call the operation. Operations of the catalogue also accept management keys, though that
   * is not documented.
   */
  readonly key: "inference" | "management" | "any";
  /** Minimum role for a call from the console; by default `viewer` for `get` and `admin` for all other methods. */
  readonly role?: Role;
  /** Parameters by their names in the path. */
  readonly parameters?: { readonly [Name in ParameterNames<Path>]: PathParameter };
  readonly headers?: readonly PublishedParameter[];
  readonly query?: ObjectShape<Readonly<Record<string, Shape>>, Query>;
  readonly body?: RequestBody<Body>;
  readonly answer: {
    /** HTTP status of success; 200 when absent. */
    readonly status?: 201 | 204;
    /**
     * Description of status 201, for an operation that answers 201 when `created` in its answer is true and 200
     * otherwise.
     */
    readonly whenCreated?: string;
    readonly description: string;
    readonly content: readonly Content[];
  };
  /** Form of error bodies; by default that of `POST /responses`. */
  readonly failures?: "messages";
  /** HTTP statuses of the operation's failures. */
  readonly statuses: readonly number[];
}

/** Returns the description unchanged; the compiler infers the types of path, query and body from it. */
export const operation = <const Path extends string, Query = unknown, Body = unknown>(
  described: Operation<Path, Query, Body>,
): Operation<Path, Query, Body> => described;

/** Names of the parameters in a path, in their order. */
export const parameterNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

export interface PathParameter {
  readonly description: string;
  /** Shape of the parameter; a text that violates it gets status 400. */
  readonly shape: Shape<string>;
  /**
   * Form of the texts that can name a record; any other text gets status 404 with the message `otherwise`, without a
   * database query.
   */
  readonly addressable?: { readonly form: RegExp; readonly otherwise: string };
}

export interface Content<Value = unknown> {
  readonly type: string;
  /** Describes the format of a stream's events and how the stream ends; absent for a single object. */
  readonly framing?: string;
  readonly shape: Shape<Value>;
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export interface RequestBody<Value = unknown> extends Content<Value> {
  /**
   * Maximum body size in bytes; absent for requests to models, which `limits.body_bytes` of the configuration file
   * limits.
   */
  readonly maxBytes?: number;
}

/** Content that is a stream of server-sent events, each with one object of the shape. */
export const eventStream = <Value>(
  shape: Shape<Value>,
  examples: Content["examples"],
  framing: string,
): Content<Value> => ({ type: "text/event-stream", framing, shape, examples });

export const json = <Value>(shape: Shape<Value>, examples: Content["examples"]): Content<Value> => ({
  type: "application/json",
  shape,
  examples,
});

export const example = (value: unknown, summary = "An example"): Content["examples"] => ({
  example: { summary, value },
});

/** A parameter as the OpenAPI document has it. */
export interface PublishedParameter {
  readonly name: string;
  readonly in: "header" | "path" | "query";
  readonly required?: boolean;
  readonly deprecated?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** All parameters of an operation in the order of the OpenAPI document: path, headers, query. */
export function publishedParameters(
  { path, parameters = {}, headers = [], query }: Operation,
  components: Components,
): PublishedParameter[] {
  const inPath = parameterNames(path).map((name): PublishedParameter => {
    const { description, shape } = (parameters as Readonly<Record<string, PathParameter>>)[name] as PathParameter;
    return { name, in: "path", required: true, description, schema: shape.schema(components) };
  });
  const inQuery = Object.entries(query?.fields ?? {}).map(([name, shape]): PublishedParameter => {
    const { description, ...schema } = shape.schema(components);
    return { name, in: "query", description: String(description), schema };
  });
  return [...inPath, ...headers, ...inQuery];
}

/** HTTP statuses of failures that every administration operation can have. */
export const administrationStatuses: readonly number[] = [400, 401, 403, 404, 500];

/**
 * HTTP statuses of failures of a report, that is, a list, search or sum: 422 when it would read too much, 429 when too
 * many reports are running.
 */
export const reportStatuses = (others: readonly number[] = administrationStatuses): readonly number[] =>
  [...others, 422, 429].sort((one, other) => one - other);

export const guardrailId: PathParameter = {
  description: "Identifier of the guardrail, as it was issued. Any other text names none: 404.",
  shape: string(),
  addressable: { form: uuidForm, otherwise: "Guardrail not found" },
};

export const externalId: PathParameter = {
  description: "Id of the record in the program that calls, which chooses it: 1 to 200 characters, percent-encoded.",
  shape: string({ min: 1, max: 200, identifier: true }),
};

/** Text in the descriptions of all operations that create or replace a record by its external id. */
export const putDescription =
  "Makes it when there is none with this external id, else gives it the settings of the body; a setting that the body lacks is that of a new one. May be repeated, and two at once make one; a body that changes nothing writes nothing, not even to the audit log. In force on the next request.";

/**
 * Answer of an operation that creates or changes a record by its external id; a new record differs only in the status.
 */
export const putAnswer = (noun: string, content: Content): Operation["answer"] => ({
  description: `The ${noun}, which was there.`,
  whenCreated: `The ${noun}, which this request made.`,
  content: [content],
});

export const keyHash: PathParameter = {
  description: "Hash of the key, as it is listed. Any other text names none: 404.",
  shape: string(),
  addressable: { form: /^[0-9a-f]{64}$/, otherwise: "Key not found" },
};
