/**
 * Documents that are answered without a key: the contract, and the addresses that people and browsers try first. All are built and compressed
 * once, at the start of the process.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { openApi } from "@sluice/proto/contract/operations/openapi.js";
import { buildPage } from "./page.ts";
import { style } from "./style.ts";

/** A document in a content coding. */
interface Representation {
  /** Undefined for the plain text. */
  readonly coding: "br" | "gzip" | undefined;
  readonly bytes: Buffer;
  readonly etag: string;
}

interface Published {
  readonly headers: Readonly<Record<string, string>>;
  /** Sorted by size, smallest first. */
  readonly representations: readonly Representation[];
}

const digest = (text: string | Buffer): string => createHash("sha256").update(text).digest("base64");

/** Quality 7 gives two thirds of the size of gzip's best; the maximum would add half a second to every start. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } };

function publish(text: string, headers: Readonly<Record<string, string>>): Published {
  const body = Buffer.from(text);
  const etag = digest(body);
  return {
    headers,
    representations: [
      { coding: "br", bytes: brotliCompressSync(body, brotli), etag: `"${etag}-br"` },
      { coding: "gzip", bytes: gzipSync(body, { level: 9 }), etag: `"${etag}-gzip"` },
      { coding: undefined, bytes: body, etag: `"${etag}"` },
    ],
  };
}

const document = openApi();

const json = { "content-type": "application/json; charset=utf-8" };

/** The answer of `/` and of the base URL, which people and programs open to see whether anything is there. */
const index = {
  name: "Sluice",
  version: document.info.version,
  documentation: "/docs",
  openapi: "/api/v1/openapi.json",
  responses: "/api/v1/responses",
  models: "/api/v1/models",
};

const page = publish(buildPage(document), {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${digest(style.text)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
});

const greeting = publish(JSON.stringify(index), json);

const published: ReadonlyMap<string, Published> = new Map([
  ["/api/v1/openapi.json", publish(JSON.stringify(document), json)],
  ["/", greeting],
  ["/api/v1", greeting],
  ["/api/v1/", greeting],
  ["/docs", page],
  ["/docs/", page],
]);

/** Answers without a body: browsers ask for an icon that does not exist, and Claude Code asks, without a key, whether anything is there. */
const bodiless: ReadonlyMap<string, { readonly status: number; readonly headers: Readonly<Record<string, string>> }> =
  new Map([
    ["/api/hello", { status: 204, headers: {} }],
    // The same below a base URL that ends in /api.
    ["/api/api/hello", { status: 204, headers: {} }],
    ["/favicon.ico", { status: 204, headers: { "cache-control": "public, max-age=86400" } }],
  ]);

/** The route of a request for a document, for metrics; the path is compared as it was sent. */
export const documentPath = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] as string;

/** Whether the request is for a published document. */
export const isDocument = (request: IncomingMessage): boolean =>
  (request.method === "GET" || request.method === "HEAD") &&
  (published.has(documentPath(request)) || bodiless.has(documentPath(request)));

export function writeDocument(request: IncomingMessage, response: ServerResponse): void {
  const path = documentPath(request);
  const short = bodiless.get(path);
  if (short !== undefined) return void response.writeHead(short.status, short.headers).end();
  const { headers, representations } = published.get(path) as Published;
  const { coding, bytes, etag } = negotiate(representations, request.headers["accept-encoding"]);
  response.setHeader("etag", etag).appendHeader("vary", "accept-encoding").setHeader("cache-control", "no-cache");
  if (names(request.headers["if-none-match"], etag)) return void response.writeHead(304).end();
  response.writeHead(200, {
    ...headers,
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
    ...(coding && { "content-encoding": coding }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Picks the smallest representation that the client accepts; the plain one is always acceptable. */
function negotiate(representations: readonly Representation[], accepted: string | string[] = ""): Representation {
  const codings = String(accepted).toLowerCase().split(",").map(parseCoding);
  const taken = representations.find(({ coding }) => coding === undefined || codings.includes(coding));
  return taken as Representation;
}

/** Parses an entry of Accept-Encoding; undefined for a quality of 0. */
const parseCoding = (named: string): string | undefined =>
  /^\s*([\w-]+)\s*(?:;\s*q=(?!0(?:\.0{0,3})?\s*$)[\d.]+\s*)?$/.exec(named)?.[1];

const names = (tags: string | undefined, tag: string): boolean =>
  tags !== undefined && tags.split(",").some((each) => each.trim().replace(/^W\//, "") === tag || each.trim() === "*");
