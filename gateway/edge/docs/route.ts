/**
 * Documents served without a key: the contract, its reference for people, and the addresses people and browsers try first. All are compressed before the
 * first request.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { openApi } from "../../contract/operations/openapi.ts";
import { type Published, writePublished } from "../http/published.ts";
import { consoleSite } from "../http/site.ts";

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

/** The answer of `/` and of the base URL, where people and programs look for signs of a service. */
const index = {
  name: "Sluice",
  version: document.info.version,
  documentation: "/docs",
  openapi: "/api/v1/openapi.json",
  responses: "/api/v1/responses",
  models: "/api/v1/models",
};

const greeting = publish(JSON.stringify(index), json);

const published: ReadonlyMap<string, Published> = new Map([
  ["/api/v1/openapi.json", publish(JSON.stringify(document), json)],
  ["/", greeting],
  ["/api/v1", greeting],
  ["/api/v1/", greeting],
]);

/** Answers without a body: browsers request an icon, which does not exist, and Claude Code probes the service without a key. */
const bodiless: ReadonlyMap<string, { readonly status: number; readonly headers: Readonly<Record<string, string>> }> =
  new Map([
    ["/api/hello", { status: 204, headers: {} }],
    // The same below a base URL that ends in /api.
    ["/api/api/hello", { status: 204, headers: {} }],
    ["/favicon.ico", { status: 204, headers: { "cache-control": "public, max-age=86400" } }],
  ]);

const reference = "/docs";

function find(path: string): Published | undefined {
  if (path === reference) return consoleSite.page;
  return path.startsWith(`${reference}/`) ? consoleSite.find(path.slice(reference.length + 1)) : published.get(path);
}

/** The path is compared undecoded. */
const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] as string;

/** The route of a request for a document, for metrics. */
export function documentRoute(request: IncomingMessage): string {
  const path = pathOf(request);
  return path.startsWith(`${reference}/`) ? `${reference}/*` : path;
}

/** Whether the request is for a published document. */
export function isDocument(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return (request.method === "GET" || request.method === "HEAD") && (bodiless.has(path) || find(path) !== undefined);
}

export function writeDocument(request: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(request);
  const short = bodiless.get(path);
  if (short !== undefined) return void response.writeHead(short.status, short.headers).end();
  writePublished(request, response, find(path) as Published);
}
