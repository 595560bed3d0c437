/** The published OpenAPI document, in the form in which the API reference uses it. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: "header" | "path" | "query";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

interface Body {
  readonly content: Readonly<
    Record<
      string,
      {
        readonly schema: JsonSchema;
        readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;
      }
    >
  >;
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Whether the operation takes a management key. */
  readonly manages: boolean;
  readonly parameters: readonly Parameter[];
  /** Names of the fields in the request body. */
  readonly fields: readonly string[];
  readonly body: { readonly schema: JsonSchema; readonly example: unknown } | undefined;
  /** Successful answers of the operation. */
  readonly answers: readonly Answer[];
  readonly failures: readonly Answer[];
}

export interface Answer {
  readonly status: string;
  readonly says: string;
  readonly schema: JsonSchema | undefined;
  readonly examples: readonly { readonly summary: string; readonly value: unknown }[];
}

export interface Contract {
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

interface RawOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, RawAnswer & { readonly $ref?: string }>>;
}

type RawAnswer = { readonly description?: string } & Partial<Body>;

interface RawDocument {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    /** Error answers shared by several operations. */
    readonly responses: Readonly<Record<string, RawAnswer>>;
  };
}

export const contractPath = "/api/v1/openapi.json";

export async function loadContract(): Promise<Contract> {
  const document = (await (await fetch(contractPath)).json()) as RawDocument;
  const { info, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => toOperation(path, method, raw, components)),
  );
  return { version: info.version, operations, schemas: components.schemas };
}

function toOperation(
  path: string,
  method: string,
  raw: RawOperation,
  { schemas, responses: failures }: RawDocument["components"],
): Operation {
  const { operationId, tags, summary, description, security, parameters = [], requestBody, responses } = raw;
  const content = requestBody && Object.values(requestBody.content)[0];
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    tag: tags[0] ?? "",
    summary,
    description,
    manages: security.some((scheme) => "managementKey" in scheme),
    parameters,
    fields: Object.keys((content && fieldsOf(content.schema, schemas)?.["properties"]) ?? {}),
    body: content && { schema: content.schema, example: Object.values(content.examples ?? {})[0]?.value },
    answers: Object.entries(responses).flatMap(([status, answer]) =>
      answer.$ref === undefined ? [toAnswer(status, answer)] : [],
    ),
    failures: Object.entries(responses).flatMap(([status, { $ref: reference }]) =>
      reference === undefined ? [] : [toAnswer(status, failures[lastName(reference)] ?? {})],
    ),
  };
}

function toAnswer(status: string, { description = "", content = {} }: RawAnswer): Answer {
  const [form] = Object.values(content);
  const examples = Object.entries(form?.examples ?? {}).map(([name, { summary = name, value }]) => ({
    summary,
    value,
  }));
  return { status, says: description, schema: form?.schema, examples };
}

const lastName = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

/** The referenced schema, or the schema itself. */
export function resolveSchema(schema: JsonSchema, schemas: Contract["schemas"]): JsonSchema {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return schemas[lastName(reference)] ?? {};
}

/** The type of a value as a short text. */
export function describeType(schema: JsonSchema): string {
  const reference = schema["$ref"];
  if (typeof reference === "string") return lastName(reference);
  const choices = schema["anyOf"];
  if (Array.isArray(choices)) return choices.map((choice) => describeType(choice as JsonSchema)).join(" or ");
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => JSON.stringify(value)).join(" or ");
  if (schema["items"] !== undefined) return `array of ${describeType(schema["items"] as JsonSchema)}`;
  return typeof schema["type"] === "string" ? schema["type"] : "any value";
}

/** The schema that lists the fields of a value: its own, or that of its reference, its array entries, or its only alternative with fields. */
export function fieldsOf(schema: JsonSchema, schemas: Contract["schemas"]): JsonSchema | undefined {
  const found: JsonSchema = resolveSchema(schema, schemas);
  if (found["properties"] !== undefined) return found;
  if (found["items"] !== undefined) return fieldsOf(found["items"] as JsonSchema, schemas);
  const choices = ((found["anyOf"] ?? []) as JsonSchema[])
    .map((choice) => fieldsOf(choice, schemas))
    .filter((choice) => choice !== undefined);
  return choices.length === 1 ? choices[0] : undefined;
}
