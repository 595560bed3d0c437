/** Finds parts of the OpenAPI schemas that HashiCorp's generator of Terraform providers does not support. */

export type Node = Readonly<Record<string, unknown>>;

export interface SchemaFinding {
  /** Path of the attribute, joined by dots. */
  readonly path: string;
  readonly problem: string;
}

const scalars = ["string", "number", "integer", "boolean"];
/** Matches look-around, back-references and `\u`, which Go's regular expressions do not support. */
const notInGo = /\(\?<?[=!]|\\[1-9]|\\u/;
const isNull = ({ type }: Node): boolean => type === "null";

/** Follows references; of two alternatives one of which is null, takes the other. */
export function resolveSchema(document: Node, schema: Node): Node {
  const { $ref: reference, anyOf } = schema;
  if (typeof reference === "string") {
    const found = reference
      .slice(2)
      .split("/")
      .reduce((node, name) => node[name] as Node, document);
    return resolveSchema(document, found);
  }
  if (!Array.isArray(anyOf)) return schema;
  const others = (anyOf as Node[]).filter((each) => !isNull(each));
  return others.length === 1 ? resolveSchema(document, others[0]!) : schema;
}

/** @param ignores paths that the generator's configuration leaves out */
export function findRefusals(document: Node, schema: Node, ignores: readonly string[], path = ""): SchemaFinding[] {
  if (ignores.includes(path)) return [];
  const found = resolveSchema(document, schema);
  const { type, pattern, properties, items, additionalProperties: values } = found;
  const alternative = ["anyOf", "oneOf", "allOf"].find((key) => key in found);
  if (alternative !== undefined) return [{ path, problem: alternative }];
  if (typeof pattern === "string" && notInGo.test(pattern)) return [{ path, problem: `the pattern ${pattern}` }];
  if (type === "array") return findRefusals(document, items as Node, ignores, path);
  if (type !== "object") return scalars.includes(type as string) ? [] : [{ path, problem: `the type ${String(type)}` }];
  if (properties === undefined)
    return typeof values === "object" && values !== null && "type" in values
      ? findRefusals(document, values, ignores, path)
      : [{ path, problem: "an object without properties" }];
  return Object.entries(properties as Record<string, Node>).flatMap(([name, each]) => {
    const inner = path === "" ? name : `${path}.${name}`;
    const badName = /^[a-z_][a-z0-9_]*$/.test(name) ? [] : [{ path: inner, problem: "the name" }];
    return [...badName, ...findRefusals(document, each, ignores, inner)];
  });
}

/** Names of the attributes that are objects or lists of objects. */
export function listObjects(document: Node, schema: Node, ignores: readonly string[], path = ""): string[] {
  const { type, properties, items } = resolveSchema(document, schema);
  if (type === "array") return listObjects(document, items as Node, ignores, path);
  if (type !== "object" || properties === undefined || ignores.includes(path)) return [];
  const own = path === "" ? [] : [path.slice(path.lastIndexOf(".") + 1)];
  const inner = Object.entries(properties as Record<string, Node>).flatMap(([name, each]) =>
    listObjects(document, each, ignores, path === "" ? name : `${path}.${name}`),
  );
  return [...own, ...inner];
}
