/** A wrong value in any field of the contract is refused by the published document and by Sluice's own checks. */
import { describe, expect, test } from "@jest/globals";
import { assignedKeyCount, keyHashes, unassignedKeyCount } from "@sluice/proto/contract/operations/administration.js";
import { endUserAnswer, endUserChange, endUserList, newEndUser } from "@sluice/proto/contract/records/end-users.js";
import { errorShape, errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { eventName, streamEvents } from "@sluice/proto/contract/response/events.js";
import { endpointList } from "@sluice/gateway/contract/catalogue/endpoints.js";
import {
  assignmentList,
  guardrailAnswer,
  guardrailList,
  newGuardrail,
} from "@sluice/proto/contract/records/guardrails.js";
import { createdKey, currentKeyAnswer, keyAnswer, keyList, newKey } from "@sluice/proto/contract/records/keys.js";
import { modelList } from "@sluice/gateway/contract/catalogue/models.js";
import { itemName, outputItems } from "@sluice/proto/contract/items/output.js";
import { providerList } from "@sluice/gateway/contract/catalogue/providers.js";
import { response } from "@sluice/proto/contract/response/response.js";
import { serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { JsonSchema, Shape } from "@sluice/proto/lib/validation/shape.js";
import { document, validate } from "../support/answers/published.ts";

const accepts = (shape: Shape, value: unknown): boolean => {
  const problems = new Problems();
  shape.check(value, "", problems);
  return problems.empty;
};

type Json = Record<string, unknown>;

const resolved = (schema: JsonSchema): JsonSchema => {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return resolved(document.components.schemas[reference.replace("#/components/schemas/", "")] as JsonSchema);
};

/** The minimal value of a schema. */
function least(of: JsonSchema): unknown {
  const schema = resolved(of);
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  if (Array.isArray(schema["anyOf"])) return least(schema["anyOf"][0] as JsonSchema);
  switch (schema["type"]) {
    case "string":
      return textFor(schema);
    case "boolean":
      return true;
    case "integer":
    case "number":
      return Math.max(0, Number(schema["minimum"] ?? 0));
    case "array":
      return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => least(schema["items"] as JsonSchema));
    case "object": {
      const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
      const required = (schema["required"] ?? []) as string[];
      return Object.fromEntries(required.map((name) => [name, least(properties[name] as JsonSchema)]));
    }
    default:
      return null;
  }
}

function textFor({ pattern = "", minLength }: JsonSchema): string {
  if (String(pattern).includes("T")) return "2026-09-16T12:00:00Z";
  if (String(pattern).startsWith("^[0-9A-Fa-f:.]")) return "::1";
  if (String(pattern).startsWith("^[0-9a-f]{8}")) return "00000000-0000-4000-8000-000000000000";
  return String(pattern).includes("\\d") ? "1" : "a".repeat(Number(minLength ?? 0));
}

/** A value of a type outside the schema; undefined if the schema accepts any type. */
function wrong(of: JsonSchema): unknown {
  return [true, "\0not this", -1.5, [[]], { not: "this" }].find((value) => !acceptsType(of, value));
}

function acceptsType(of: JsonSchema, value: unknown): boolean {
  const schema = resolved(of);
  if (Array.isArray(schema["anyOf"])) return (schema["anyOf"] as JsonSchema[]).some((each) => acceptsType(each, value));
  if (schema["type"] === undefined) return schema["const"] === undefined;
  const type = Array.isArray(value) ? "array" : typeof value;
  return schema["type"] === type || (schema["type"] === "integer" && type === "number");
}

const kinds: [string, Shape][] = [
  ...Object.entries(outputItems).map(([type, shape]): [string, Shape] => [itemName(type), shape]),
  ...Object.entries(streamEvents).map(([type, shape]): [string, Shape] => [eventName(type), shape]),
  ...errorStatuses.map((status): [string, Shape] => [`Error${status}`, errorShape(status)]),
  ["Response", response],
  ["ServiceMetadata", serviceMetadataShape],
  ["ModelList", modelList],
  ["EndpointList", endpointList],
  ["ProviderList", providerList],
  ["KeyHashes", keyHashes],
  ["AssignedKeys", assignedKeyCount],
  ["UnassignedKeys", unassignedKeyCount],
  ["EndUserChange", endUserChange],
  ["EndUserAnswer", endUserAnswer],
  ["EndUserList", endUserList],
  ["NewEndUser", newEndUser],
  ["KeyList", keyList],
  ["KeyAnswer", keyAnswer],
  ["NewKey", newKey],
  ["CreatedKey", createdKey],
  ["CurrentKeyAnswer", currentKeyAnswer],
  ["GuardrailList", guardrailList],
  ["GuardrailAnswer", guardrailAnswer],
  ["NewGuardrail", newGuardrail],
  ["KeyAssignmentList", assignmentList],
];

describe.each(kinds)("the published schema %s and the program's check", (name, shape) => {
  const schema = document.components.schemas[name] as JsonSchema;
  const good = least(schema) as Json;
  const properties = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>);
  const both = (value: unknown) => [validate(name, value).length === 0, accepts(shape, value)];

  test("accept its minimal value", () => {
    expect(both(good)).toEqual([true, true]);
  });

  test("require every required field", () => {
    for (const field of (schema["required"] ?? []) as string[]) {
      const { [field]: _, ...without } = good;
      expect([field, ...both(without)]).toEqual([field, false, false]);
    }
  });

  test("refuse a wrong type in every field", () => {
    for (const [field, of] of properties) {
      const planted = wrong(of);
      if (planted !== undefined) expect([field, ...both({ ...good, [field]: planted })]).toEqual([field, false, false]);
    }
  });

  test.each([null, 1, "text", [[]]])("refuse %j", (value) => {
    expect(both(value)).toEqual([false, false]);
  });
});
