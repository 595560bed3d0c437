/**
 * Documents that are answered without a key: the contract, and the addresses that people and browsers try first. All are built and compressed
 * once, at the start of the process.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { openApi } from "@sluice/proto/contract/operations/openapi.js";
import { type Published, writePublished } from "../http/published.ts";
import { buildPage } from "./page.ts";
import { style } from "./style.ts";

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
  writePublished(request, response, published.get(path) as Published);
}
