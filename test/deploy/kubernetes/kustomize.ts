/** A subset of `kubectl kustomize` that suffices for the project's folders; a test compares the two if kubectl is installed. */
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parse, parseAllDocuments } from "yaml";

export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

export interface Operation {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

export interface Kustomization {
  readonly namespace?: string;
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly labels?: readonly { readonly pairs: Record<string, string>; readonly includeTemplates?: boolean }[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly images?: readonly { readonly name: string; readonly newName?: string; readonly newTag?: string }[];
  readonly replicas?: readonly { readonly name: string; readonly count: number }[];
  readonly patches?: readonly { readonly target: { kind: string; name: string }; readonly patch: string }[];
}

export const readKustomization = (folder: string): Kustomization =>
  parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as Kustomization;

/** The resources that `kubectl apply -k` would send. @param given resources that a component changes */
export function render(folder: string, given: readonly Resource[] = []): Resource[] {
  const file = readKustomization(folder);
  const own = (file.resources ?? []).flatMap((path) => resourcesAt(join(folder, path)));
  let all = [...given, ...own, ...(file.configMapGenerator ?? []).map((map) => configMap(folder, map))];
  for (const component of file.components ?? []) all = render(join(folder, component), all);
  for (const resource of all) transform(resource, file);
  return all;
}

const resourcesAt = (path: string): Resource[] =>
  statSync(path).isDirectory()
    ? render(path)
    : parseAllDocuments(readFileSync(path, "utf8")).map((document) => document.toJS() as Resource);

function configMap(folder: string, { name, files }: { name: string; files: readonly string[] }): Resource {
  const data = Object.fromEntries(files.map((file) => [basename(file), readFileSync(join(folder, file), "utf8")]));
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

function transform(resource: Resource, file: Kustomization): void {
  const { kind, metadata } = resource;
  for (const { target, patch } of file.patches ?? []) {
    if (target.kind === kind && target.name === metadata.name) apply(resource, parse(patch) as Operation[]);
  }
  if (file.namespace !== undefined) metadata.namespace = file.namespace;
  for (const { pairs, includeTemplates } of file.labels ?? []) {
    for (const labelled of [resource, ...(includeTemplates === true ? templatesOf(resource) : [])])
      label(labelled, pairs);
  }
  const count = file.replicas?.find(({ name }) => name === metadata.name)?.count;
  if (count !== undefined && "replicas" in specOf(resource)) specOf(resource)["replicas"] = count;
  for (const container of containersOf(resource)) retag(container, file.images ?? []);
}

function label(object: { metadata?: { labels?: Record<string, string> } }, pairs: Record<string, string>): void {
  object.metadata ??= {};
  object.metadata.labels = { ...object.metadata.labels, ...pairs };
}

const specOf = (resource: Resource): Record<string, unknown> => (resource["spec"] ?? {}) as Record<string, unknown>;

interface Template {
  metadata?: { labels?: Record<string, string> };
  spec?: { containers?: { image: string }[] };
}

function templatesOf(resource: Resource): Template[] {
  const { template, volumeClaimTemplates = [] } = specOf(resource) as {
    template?: Template;
    volumeClaimTemplates?: Template[];
  };
  return [...(template === undefined ? [] : [template]), ...volumeClaimTemplates];
}

const containersOf = (resource: Resource): { image: string }[] =>
  templatesOf(resource).flatMap(({ spec }) => spec?.containers ?? []);

function retag(container: { image: string }, images: NonNullable<Kustomization["images"]>): void {
  const image = images.find(({ name }) => container.image === name || container.image.startsWith(`${name}:`));
  if (!image) return;
  const tag = image.newTag ?? container.image.slice(image.name.length + 1);
  container.image = `${image.newName ?? image.name}${tag === "" ? "" : `:${tag}`}`;
}

/** Applies the RFC 6902 operations that the project's patches use. @throws if a path does not exist, or a test operation fails */
export function apply(document: object, operations: readonly Operation[]): void {
  for (const { op, path, value } of operations) {
    const steps = path.slice(1).split("/").map(unescape);
    const last = steps.pop() as string;
    const parent = steps.reduce<unknown>((node, step) => (node as Record<string, unknown>)?.[step], document);
    if (typeof parent !== "object" || parent === null) throw new Error(`no such path: ${path}`);
    change(parent as Record<string, unknown> | unknown[], last, { op, path, value });
  }
}

const unescape = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

function change(parent: Record<string, unknown> | unknown[], last: string, { op, path, value }: Operation): void {
  const fields = parent as Record<string, unknown>;
  if (op !== "add" && !(last in parent)) throw new Error(`no such path: ${path}`);
  if (op === "test" && JSON.stringify(fields[last]) !== JSON.stringify(value)) throw new Error(`not as said: ${path}`);
  if (op === "test") return;
  if (Array.isArray(parent)) {
    const index = last === "-" ? parent.length : Number(last);
    parent.splice(index, op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
  } else if (op === "remove") delete fields[last];
  else fields[last] = value;
}
