/** Normalizes objects of the chart and of the manifests, so objects with the same meaning are equal. */
import type { Resource } from "../kubernetes/kustomize.ts";

/** Resources by kind and name. Lists of named items are sorted by name, since no program depends, for example, on the order of volumes. */
export const byName = (resources: readonly Resource[]): Record<string, unknown> =>
  Object.fromEntries(
    resources.map((resource) => [`${resource.kind} ${resource.metadata.name}`, sortNamed(withoutHooks(resource))]),
  );

/** Removes the hooks of a resource: a kustomization has none, and its jobs are deleted and applied by hand. */
function withoutHooks(resource: Resource): Resource {
  if (resource.kind !== "Job") return resource;
  const { annotations: _, ...metadata } = resource.metadata as Resource["metadata"] & { annotations?: unknown };
  return { ...resource, metadata };
}

function sortNamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortNamed).toSorted(compareNames);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, sortNamed(field)]));
}

function compareNames(one: unknown, other: unknown): number {
  const [first, second] = [nameOf(one), nameOf(other)];
  return first === undefined || second === undefined ? 0 : first.localeCompare(second);
}

const nameOf = (item: unknown): string | undefined =>
  typeof item === "object" && item !== null && "name" in item ? String(item.name) : undefined;
