/** The source resources of the Terraform provider, checked against our own OpenAPI. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { openApi } from "@sluice/gateway/contract/operations/openapi.js";
import { parse } from "yaml";
import { root } from "../../support/processes.ts";
import { type Node, type SchemaFinding, findRefusals, listObjects, resolveSchema } from "./schemas.ts";

const config = join(root, "deploy/terraform/generator_config.yml");

type Verb = "create" | "read" | "update" | "delete";

type Resource = { readonly [verb in Verb]?: { readonly path: string; readonly method: string } } & {
  readonly schema?: { readonly ignores?: readonly string[] };
};

const { resources } = parse(readFileSync(config, "utf8")) as { readonly resources: Readonly<Record<string, Resource>> };
const document = openApi() as unknown as Node;

interface Operation extends Node {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

function operation(resource: Resource, verb: Verb): Operation | undefined {
  const at = resource[verb];
  return at && (document["paths"] as Record<string, Record<string, Operation>>)[at.path]?.[at.method.toLowerCase()];
}

const content = (node: unknown): Node =>
  resolveSchema(document, (node as { content: Record<string, { schema: Node }> }).content["application/json"]!.schema);

const bodyOf = (found: Operation): Node => content(found["requestBody"]);
const answerOf = (found: Operation): Node => content((found["responses"] as Record<string, Node>)["200"]);
const fieldsOf = (schema: Node): Record<string, Node> => schema["properties"] as Record<string, Node>;
const dataOf = (resource: Resource): Node =>
  resolveSchema(document, fieldsOf(answerOf(operation(resource, "read")!))["data"]!);

/** Names of attributes that Terraform itself reserves. */
const reserved = ["count", "for_each", "provider", "lifecycle", "depends_on", "connection", "provisioner"];
/** Records without a delete operation. */
const kept = ["workspace"];

describe.each(Object.entries(resources))("the Terraform resource %s", (name, resource) => {
  const create = operation(resource, "create")!;
  const ignores = resource.schema?.ignores ?? [];

  test("is created, read, changed and deleted by operations of the contract", () => {
    const verbs = (["create", "read", "update", "delete"] as const).filter((verb) => operation(resource, verb));
    expect(verbs).toEqual(["create", "read", "update", ...(kept.includes(name) ? [] : ["delete"])]);
  });

  test("is addressed by an id chosen by its caller, or given in its answer", () => {
    const parameters = (verb: Verb) =>
      (operation(resource, verb)?.parameters ?? []).filter((each) => each.in !== "header").map((each) => each.name);
    for (const verb of ["create", "read", "update"] as const) expect(parameters(verb)).toEqual(["external_id"]);
    for (const id of parameters("delete")) expect(Object.keys(fieldsOf(dataOf(resource)))).toContain(id);
  });

  test("is created and changed by the same settings, including all required ones, which are returned", () => {
    const body = bodyOf(create);
    expect(bodyOf(operation(resource, "update")!)).toEqual(body);
    expect(body["required"]).toEqual(["name"]);
    const answered = Object.keys(fieldsOf(dataOf(resource)));
    // The end user of a key comes back as external_user.
    const settings = Object.keys(fieldsOf(body)).filter((field) => field !== "external");
    expect(settings.filter((field) => !answered.includes(field))).toEqual([]);
    expect(Object.keys(fieldsOf(body)).filter((field) => reserved.includes(field))).toEqual([]);
  });

  test("has schemas supported by the generator and by Go's regular expressions", () => {
    const schemas = [bodyOf(create), answerOf(create), answerOf(operation(resource, "read")!)];
    const found: SchemaFinding[] = schemas.flatMap((schema) => findRefusals(document, schema, ignores));
    expect(found).toEqual([]);
  });

  test("uses each object name once, because each becomes a Go type", () => {
    const names = [bodyOf(create), answerOf(create)].flatMap((schema) => listObjects(document, schema, ignores));
    expect(names).toEqual([...new Set(names)]);
  });

  test("ignores only existing paths", () => {
    const fields = new Set([bodyOf(create), answerOf(create)].flatMap((schema) => Object.keys(fieldsOf(schema))));
    for (const path of ignores) expect([...fields]).toContain(path.split(".")[0]);
  });
});
