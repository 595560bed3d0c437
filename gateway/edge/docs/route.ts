/**
 * Documents served without a key: the contract, the documentation, and the addresses that people and browsers try first. The contract is compressed
 * on other threads at its first request: at the start, compression took a tenth of the gateway's loading time.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { version } from "@sluice/proto/lib/process/version.js";
import { openApi } from "../../contract/operations/openapi.ts";
import { type Published, writePublished } from "../http/published.ts";
import { findInDocumentation } from "./documentation.ts";

const digest = (body: Buffer): string => createHash("sha256").update(body).digest("base64");

/** Compression options. Quality 7 gives two thirds of the size of gzip's best; the maximum would take half a second. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } };

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) };

async function publish(content: object): Promise<Published> {
  const body = Buffer.from(JSON.stringify(content));
  const etag = digest(body);
  const [br, gzipped] = await Promise.all([compress.br(body, brotli), compress.gzip(body, { level: 9 })]);
  return {
    headers: { "content-type": "application/json; charset=utf-8" },
    representations: [
      { coding: "br", bytes: br, etag: `"${etag}-br"` },
      { coding: "gzip", bytes: gzipped, etag: `"${etag}-gzip"` },
      { coding: undefined, bytes: body, etag: `"${etag}"` },
    ],
  };
}

/** A document that is made for its first request and then kept. */
function publishOnce(makeContent: () => object): () => Promise<Published> {
  let published: Promise<Published> | undefined;
  return () => (published ??= publish(makeContent()));
}

/** The answer of `/` and of the base URL, which people and programs open to see whether a service is there. */
const greeting = publishOnce(() => ({
  name: "Sluice",
  version,
  documentation: "/docs",
  openapi: "/api/v1/openapi.json",
  responses: "/api/v1/responses",
  models: "/api/v1/models",
}));

const published: ReadonlyMap<string, () => Promise<Published>> = new Map([
  ["/api/v1/openapi.json", publishOnce(openApi)],
  ["/", greeting],
  ["/api/v1", greeting],
  ["/api/v1/", greeting],
]);

/** Answers without a body, by path: browsers request an icon, although there is none, and Claude Code probes the service without a key. */
const bodiless: ReadonlyMap<string, { readonly status: number; readonly headers: Readonly<Record<string, string>> }> =
  new Map([
    ["/api/hello", { status: 204, headers: {} }],
    // The probe of Claude Code with a base URL that ends in /api.
    ["/api/api/hello", { status: 204, headers: {} }],
    ["/favicon.ico", { status: 204, headers: { "cache-control": "public, max-age=86400" } }],
  ]);

const documentation = "/docs";

function find(path: string): (() => Promise<Published>) | undefined {
  if (path !== documentation && !path.startsWith(`${documentation}/`)) return published.get(path);
  return () => findInDocumentation(path.slice(documentation.length));
}

/** The path of a request, without percent-decoding. */
const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] as string;

/** The route of a document's request as a label of metrics. */
export function documentRoute(request: IncomingMessage): string {
  const path = pathOf(request);
  return path.startsWith(`${documentation}/`) ? `${documentation}/*` : path;
}

/** Whether the request is for a published document. */
export function isDocument(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return (request.method === "GET" || request.method === "HEAD") && (bodiless.has(path) || find(path) !== undefined);
}

export async function writeDocument(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = pathOf(request);
  const short = bodiless.get(path);
  if (short !== undefined) return void response.writeHead(short.status, short.headers).end();
  const document = find(path) as () => Promise<Published>;
  writePublished(request, response, await document());
}
