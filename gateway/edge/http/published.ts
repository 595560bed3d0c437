/** Documents that are compressed once and served from memory, in the smallest form that the client accepts. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** A document in one content coding. */
export interface Representation {
  /** Content coding; undefined for the uncompressed document. */
  readonly coding: "br" | "gzip" | undefined;
  readonly bytes: Buffer;
  readonly etag: string;
}

export interface Published {
  /** HTTP status of the answer; 200 by default. */
  readonly status?: number;
  /** Headers of the answer; without `cache-control`, a client revalidates its copy each time. */
  readonly headers: Readonly<Record<string, string>>;
  /** Forms of the document, smallest first. */
  readonly representations: readonly Representation[];
}

/** Answers GET and HEAD for a document. */
export function writePublished(
  request: IncomingMessage,
  response: ServerResponse,
  { status = 200, headers, representations }: Published,
): void {
  const { coding, bytes, etag } = negotiate(representations, request.headers["accept-encoding"]);
  const cacheControl = headers["cache-control"] ?? "no-cache";
  response.setHeader("etag", etag).appendHeader("vary", "accept-encoding").setHeader("cache-control", cacheControl);
  if (names(request.headers["if-none-match"], etag)) return void response.writeHead(304).end();
  response.writeHead(status, {
    ...headers,
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
    ...(coding && { "content-encoding": coding }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Picks the smallest form that the client accepts; uncompressed is always acceptable. */
function negotiate(representations: readonly Representation[], accepted: string | string[] = ""): Representation {
  const codings = String(accepted).toLowerCase().split(",").map(parseCoding);
  const taken = representations.find(({ coding }) => coding === undefined || codings.includes(coding));
  return taken as Representation;
}

/** Parses an entry of Accept-Encoding; undefined for a quality of 0, which excludes the coding. */
const parseCoding = (named: string): string | undefined =>
  /^\s*([\w-]+)\s*(?:;\s*q=(?!0(?:\.0{0,3})?\s*$)[\d.]+\s*)?$/.exec(named)?.[1];

const names = (tags: string | undefined, tag: string): boolean =>
  tags !== undefined && tags.split(",").some((each) => each.trim().replace(/^W\//, "") === tag || each.trim() === "*");
