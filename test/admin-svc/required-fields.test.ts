/** A field that the HTTP contract requires is required over gRPC too: without it, a message must not mean 0, false or an empty text. */
import { type JsonValue, create, fromJson, toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { operations } from "@sluice/gateway/contract/operations/operations.js";
import type { Forwarded } from "@sluice/proto/contract/operations/forward.js";
import { type Operation, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { JsonSchema, Shape } from "@sluice/proto/lib/validation/shape.js";
import { followReference, leastValue } from "../support/schema-walk.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKeys,
  addWorkspace,
  callAsAdministrator,
  openInstallation,
} from "./installation.ts";

type Path = readonly string[];

/** Values of fields whose smallest value by their schema would be refused. */
const chosen: Readonly<Record<string, unknown>> = {
  model_limits: [{ models: ["acme/large"], requests_per_minute: 1 }],
};

/** The value with all objects and lists of objects of the schema, each with its required fields; the rest is as given. */
function filled(given: JsonSchema, value: unknown): unknown {
  const schema = formOf(given);
  if (schema["type"] === "array" && isContainer(schema["items"] as JsonSchema))
    return ((value ?? [undefined]) as unknown[]).map((entry) => filled(schema["items"] as JsonSchema, entry));
  if (schema["properties"] === undefined) return value ?? leastValue(schema);
  const required = (schema["required"] ?? []) as string[];
  const fields = Object.entries(schema["properties"] as Readonly<Record<string, JsonSchema>>).flatMap(
    ([name, field]) => {
      const own = (value as Readonly<Record<string, unknown>> | undefined)?.[name] ?? chosen[name];
      return own !== undefined || required.includes(name) || isContainer(field) ? [[name, filled(field, own)]] : [];
    },
  );
  return Object.fromEntries(fields) as unknown;
}

/** The schema itself, or the alternative that is not null. */
function formOf(given: JsonSchema): JsonSchema {
  const schema = followReference(given);
  const choices = schema["anyOf"] as readonly JsonSchema[] | undefined;
  return choices ? formOf(choices.find(({ type }) => type !== "null") ?? {}) : schema;
}

/** Whether the schema is an object with known fields, or a list of such objects. */
function isContainer(given: JsonSchema): boolean {
  const { properties, items } = formOf(given);
  return properties !== undefined || (items !== undefined && isContainer(items as JsonSchema));
}

const isHolder = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Paths of all fields of a JSON value, and of the entries of its lists. */
const pathsOf = (value: unknown): Path[] =>
  isHolder(value)
    ? Object.entries(value).flatMap(([name, field]) => [[name], ...pathsOf(field).map((rest) => [name, ...rest])])
    : [];

/** A copy in which the field at the path has another value, or none if that is undefined. */
function replaced(root: unknown, path: Path, change: (value: unknown) => unknown): unknown {
  const copy = structuredClone(root);
  const holder = path
    .slice(0, -1)
    .reduce((at, name) => at[name] as Record<string, unknown>, copy as Record<string, unknown>);
  const name = path.at(-1) as string;
  const value = change(holder[name]);
  if (value === undefined) delete holder[name];
  else holder[name] = value;
  return copy;
}

const without = (root: unknown, path: Path): unknown => replaced(root, path, () => undefined);

function problemsOf(shape: Shape, body: unknown): string {
  const problems = new Problems();
  shape.check(body, "", problems);
  try {
    problems.throwIfAny();
    return "";
  } catch (error) {
    return (error as Fault).message;
  }
}

interface Case {
  readonly operation: Operation & Forwarded;
  readonly body: unknown;
  readonly path: Path;
}

function casesOf(operation: Operation): Case[] {
  const { body: described } = operation;
  if (!("forward" in operation) || !described) return [];
  const example = Object.values(described.examples)[0]?.value;
  const body = filled(described.shape.schema(new Map()), example);
  // A body that is refused anyway would hide what is required in it.
  if (problemsOf(described.shape, body) !== "") throw new Error(problemsOf(described.shape, body));
  return pathsOf(body)
    .filter((path) => problemsOf(described.shape, without(body, path)) === `${path.join(".")}: required`)
    .map((path) => ({ operation: operation as Operation & Forwarded, body, path }));
}

/** Required fields without which a message has a meaning of its own. */
const meaningful = {
  "external.user": "a key without an end user",
  query: "the empty query, of the explorer as it opens",
};

const allCases = Object.entries(operations).flatMap(([name, operation]) =>
  casesOf(operation as Operation).map((each): [string, string, Case] => [name, each.path.join("."), each]),
);
const cases = allCases.filter(([, field]) => !(field in meaningful));

const otherValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return [];
  if (typeof value === "boolean") return !value;
  return typeof value === "number" ? value + 1 : `${String(value)}x`;
};

/** Paths of the fields of a JSON value that another one lacks or has with another value. */
const differences = (one: unknown, two: unknown): Path[] => {
  if (isHolder(one) && isHolder(two))
    return Object.keys(one).flatMap((name) => differences(one[name], two[name]).map((rest) => [name, ...rest]));
  return one === two ? [] : [[]];
};

let installation: AdminInstallation;
let parameters: Readonly<Record<string, string>>;
beforeAll(async () => {
  installation = await openInstallation();
  const { database } = installation;
  const [hash = ""] = await addKeys(database, 1);
  parameters = { guardrails: await addGuardrail(database), workspaces: await addWorkspace(database), hash };
});
afterAll(() => installation?.close());

/** The request message of a body as JSON, in which fields that are not set are absent. */
function messageOf({ path, forward: { method, toRequest } }: Operation & Forwarded, body: unknown): JsonValue {
  const [collection = ""] = path.split("/").slice(1);
  const valueOf = (name: string) => parameters[name] ?? (name === "id" ? parameters[collection] : undefined) ?? "one";
  const named = Object.fromEntries(parameterNames(path).map((name) => [name, valueOf(name)]));
  return toJson(method.input, create(method.input, toRequest({ parameters: named, query: {}, body })));
}

/** The error of a call over gRPC; undefined if it succeeds. */
async function errorOf({ forward: { method } }: Forwarded, message: JsonValue): Promise<unknown> {
  return callAsAdministrator(installation, method, fromJson(method.input, message)).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("the contract has required fields of every kind, and those that a message may lack", () => {
  const found = allCases.map(([name, field]) => `${name} ${field}`);
  expect(found).toEqual(
    expect.arrayContaining([
      "putAlertRule threshold",
      "updateEndUser is_active",
      "createGuardrail detectors.0.action",
      "createWorkspace tag_budgets.0.limit",
      "assignKeys key_hashes",
    ]),
  );
  const fields = new Set(allCases.map(([, field]) => field));
  expect(Object.keys(meaningful).filter((field) => !fields.has(field))).toEqual([]);
});

test.each(cases)(
  "the operation %s over gRPC without the field %s is refused, and the error names it",
  async (_, name, given) => {
    const { operation, body, path } = given;
    const message = messageOf(operation, body);
    const places = differences(message, messageOf(operation, replaced(body, path, otherValue)));
    expect(places).toHaveLength(1);
    const error = await errorOf(operation, without(message, places[0] as Path) as JsonValue);
    expect(error).toMatchObject({
      reason: FaultReason.INVALID_REQUEST,
      message: expect.stringContaining(`${name}:`),
    });
    expect(await errorOf(operation, message)).not.toEqual(error);
  },
);
