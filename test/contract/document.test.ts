/** The published document: valid, complete, and true to its own examples. */
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "@jest/globals";
import type { PublishedContent } from "@sluice/gateway/contract/operations/published.js";
import { document, validate, validateAgainst } from "../support/answers/published.ts";

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);

describe("the published document", () => {
  test("is OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(JSON.stringify(document)) as Record<string, unknown>)).toEqual({
      valid: true,
    });
    expect(validator.version).toBe("3.1");
  });

  test.each(Object.keys(document.components.schemas))("has a schema %s usable by a validator", (name) => {
    // An unknown keyword or a reference to nothing throws.
    expect(() => validate(name, null)).not.toThrow();
  });

  test("has the version of the package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
      readonly version: string;
    };
    expect(document.info.version).toBe(version);
  });

  test("gives every array its item type; client generators stop without it", () => {
    const arrays: unknown[] = [];
    JSON.stringify(document, (_, value: unknown) => {
      const { type } = (value ?? {}) as { readonly type?: unknown };
      if (type === "array" || (Array.isArray(type) && type.includes("array"))) arrays.push(value);
      return value;
    });
    expect(arrays.length).toBeGreaterThan(100);
    expect(arrays.filter((schema) => (schema as { readonly items?: unknown }).items === undefined)).toEqual([]);
  });

  test("has no pattern that ends in a slash: client generators would cut off the slash and its escape", () => {
    const patterns: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === "pattern" && typeof value === "string") patterns.push(value);
      return value;
    });
    expect(patterns).toContainEqual(expect.stringContaining("image"));
    expect(patterns.filter((pattern) => pattern.endsWith("/"))).toEqual([]);
  });

  test("lists every operation with the statuses of the contract", () => {
    const statuses = operations.map(({ name, operation }) => [name, Object.keys(operation.responses).join(" ")]);
    const inference = "200 400 401 402 403 404 408 413 422 429 500 502 503 524 529";
    const administration = "200 400 401 403 404 500";
    const report = "200 400 401 403 404 422 429 500";
    expect(Object.fromEntries(statuses)).toEqual({
      "post /responses": inference,
      "post /responses/compact": inference,
      "post /embeddings": inference,
      "post /chat/completions": inference,
      "post /messages": inference,
      "post /responses/input_tokens": "200 400 401 404 408 413 429 500 503",
      "post /messages/count_tokens": "200 400 401 404 408 413 429 500 503",
      "post /responses/dry-run": "200 400 401 403 404 408 413 429 500 503",
      "post /embeddings/dry-run": "200 400 401 403 404 408 413 429 500 503",
      "get /models": "200 400 401 408 429 500 503",
      "get /models/count": "200 400 401 408 429 500 503",
      "get /models/{author}/{slug}": "200 400 401 404 408 429 500 503",
      "get /models/{author}/{slug}/endpoints": "200 400 401 404 408 429 500 503",
      "get /providers": "200 400 401 408 429 500 503",
      "get /providers/left-out": "200 400 401 403 408 500 503",
      "get /providers/found": "200 400 401 403 408 500 503",
      "get /providers/configured": "200 400 401 403 408 500 503",
      "post /providers": "201 400 401 403 408 409 413 500 503",
      "patch /providers/{id}": "200 400 401 403 404 408 409 413 500 503",
      "delete /providers/{id}": "200 400 401 403 404 408 500 503",
      "post /providers/{id}/test": "200 400 401 403 404 408 429 500 503",
      "post /guardrails/try": administration,
      "post /guardrails/{id}/assignments/keys": administration,
      "post /guardrails/{id}/assignments/keys/remove": administration,
      "patch /end-users/{user}": administration,
      "get /guardrails": report,
      "get /guardrails/assignments/keys": "200 400 401 403 422 429 500",
      "get /guardrails/{id}/assignments/keys": report,
      "post /guardrails": administration.replace("200", "201"),
      "get /guardrails/{id}": administration,
      "patch /guardrails/{id}": administration,
      "delete /guardrails/{id}": administration,
      "get /generation": "200 400 401 404 429 500",
      "get /generation/content": "200 400 401 403 404 422 500",
      "get /generations": "200 400 401 403 422 429 500",
      "get /usage/series": "200 400 401 403 422 429 500",
      "get /usage/change": "200 400 401 403 422 429 500",
      "get /usage/health": "200 400 401 403 422 429 500",
      "get /sessions": "200 400 401 403 422 429 500",
      "get /activity": report,
      "get /credits": "200 400 401 403 500",
      "get /end-users": "200 400 401 403 422 429 500",
      "post /end-users": "201 400 401 403 409 500",
      "get /end-users/{user}": administration,
      "delete /end-users/{user}": administration.replace("200", "204"),
      "get /key": "200 400 401 429 500",
      "get /keys": report,
      "post /keys": administration.replace("200", "201"),
      "get /keys/{hash}": administration,
      "patch /keys/{hash}": administration,
      "delete /keys/{hash}": administration,
      "post /keys/{hash}/rotate": administration.replace("200", "201"),
      "delete /workspaces/{id}": "200 400 401 403 404 409 500",
      "get /workspaces": "200 400 401 403 422 429 500",
      "post /workspaces": "201 400 401 403 409 500",
      "get /workspaces/{id}": administration,
      "patch /workspaces/{id}": "200 400 401 403 404 409 500",
      "put /keys/by-external-id/{external_id}": administration.replace("200", "200 201"),
      "get /keys/by-external-id/{external_id}": administration,
      "put /guardrails/by-external-id/{external_id}": administration.replace("200", "200 201"),
      "get /guardrails/by-external-id/{external_id}": administration,
      "put /workspaces/by-external-id/{external_id}": "200 201 400 401 403 409 500",
      "get /workspaces/by-external-id/{external_id}": administration,
      "get /alert-rules": "200 400 401 403 422 429 500",
      "get /alert-rules/{name}": administration,
      "put /alert-rules/{name}": "200 201 400 401 403 404 409 500",
      "delete /alert-rules/{name}": administration,
      "get /alert-rules/{name}/history": administration,
      "post /alert-rules/{name}/test": report,
      "get /alert-channels": "200 400 401 403 500",
      "get /views": "200 400 401 403 422 429 500",
      "put /views/{name}": "200 201 400 401 403 404 409 500",
      "delete /views/{name}": administration,
      "get /audit": report,
      "get /audit/verify": report,
    });
  });

  test("requires a management key for administration", () => {
    const administration = operations.filter(({ operation }) => operation.tags[0] === "Administration");
    expect(administration.length).toBeGreaterThan(3);
    for (const { name, operation } of administration) {
      const either = ["get /key", "get /generation"].includes(name) ? [{ apiKey: [] }] : [];
      expect([name, operation.security]).toEqual([name, [...either, { managementKey: [] }]]);
    }
  });

  test.each(["KeyChange", "GuardrailChange", "WorkspaceChange"])(
    "requires at least one field in a change by the schema %s",
    (name) => {
      expect(validate(name, {})).not.toEqual([]);
      expect(validate(name, { name: "x" })).toEqual([]);
    },
  );

  const contents: [string, PublishedContent][] = [
    ...operations.flatMap(({ name, operation }): [string, PublishedContent][] => [
      ...(operation.requestBody
        ? [[`request of ${name}`, operation.requestBody.content] as [string, PublishedContent]]
        : []),
      ...Object.entries(operation.responses).flatMap(([status, answer]): [string, PublishedContent][] =>
        "content" in answer ? [[`${status} of ${name}`, answer.content]] : [],
      ),
    ]),
    ...Object.entries(document.components.responses).map(([name, { content }]): [string, PublishedContent] => [
      name,
      content,
    ]),
  ];
  test.each(contents)("has examples that match the schema %s", (_, content) => {
    for (const { schema, examples = {} } of Object.values(content)) {
      for (const { value } of Object.values(examples)) expect(validateAgainst(schema, value)).toEqual([]);
    }
  });

  test("describes every field of the request and of the answer", () => {
    const inference = ["ResponseRequest", "Response", "DryRun", "ServiceMetadata"];
    const administration = [
      "KeyHashes",
      "EndUserChange",
      "NewKey",
      "KeyChange",
      "Key",
      "CurrentKey",
      "EndUser",
      "NewEndUser",
      "KeyAssignment",
      "NewWorkspace",
      "WorkspaceChange",
      "Workspace",
      "AuditEntry",
      "AuditState",
      "NewGuardrail",
      "GuardrailChange",
      "Guardrail",
    ];
    const undescribed = [...inference, ...administration].flatMap((name) => {
      const fields = Object.entries(document.components.schemas[name]?.["properties"] ?? {});
      expect([name, fields.length]).not.toEqual([name, 0]);
      return fields.flatMap(([field, schema]) =>
        isExplained(schema as Readonly<Record<string, unknown>>) ? [] : [`${name}.${field}`],
      );
    });
    expect(undescribed).toEqual([]);
  });
});

/** Whether a schema has a description, refers to a schema with one, or permits a single value. */
function isExplained(schema: Readonly<Record<string, unknown>>): boolean {
  if (schema["description"] !== undefined || schema["const"] !== undefined) return true;
  const reference = schema["$ref"];
  if (typeof reference !== "string") return false;
  return document.components.schemas[reference.replace("#/components/schemas/", "")]?.["description"] !== undefined;
}
