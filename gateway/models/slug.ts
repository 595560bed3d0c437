/** The slug of a model in a path: one segment, or its author and the rest. */
import { decodeSegment } from "../http/path.ts";

const form = /^\/api\/v1\/models\/([^/]+)(?:\/([^/]+))?$/;

/**
 * @param path /api/v1/models/ and the slug, undecoded
 * @throws Fault INVALID_REQUEST for anything that decoders disagree about
 */
export function slugOf(path: string): string {
  const [, first = "", slug] = form.exec(path) ?? [];
  if (slug === undefined) return decodeSegment(first, "model");
  return `${decodeSegment(first, "author")}/${decodeSegment(slug, "slug")}`;
}
