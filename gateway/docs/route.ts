/** Paths that are answered without a key: the contract, and the addresses that people and browsers try first. Made once, at the start. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { openApi } from "@sluice/proto/contract/openapi.js";
import { pageOf } from "./page.ts";
import { style } from "./style.ts";

interface Published {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

const digest = (text: string | Buffer): string => createHash("sha256").update(text).digest("base64");

function publish(text: string, headers: Readonly<Record<string, string>>): Published {
  const body = Buffer.from(text);
  return { headers, body, gzipped: gzipSync(body, { level: 9 }), etag: digest(body) };
}

const document = openApi();

const json = { "content-type": "application/json; charset=utf-8" };

/** Answer of the base URL itself, which people open to see whether anything is there. */
const index = {
  name: "Sluice",
  documentation: "/docs",
  openapi: "/api/v1/openapi.json",
  responses: "/api/v1/responses",
  models: "/api/v1/models",
};

const page = publish(pageOf(document), {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${digest(style.text)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
});

const published: ReadonlyMap<string, Published> = new Map([
  ["/api/v1/openapi.json", publish(JSON.stringify(document), json)],
  ["/api/v1", publish(JSON.stringify(index), json)],
  ["/api/v1/", publish(JSON.stringify(index), json)],
  ["/docs", page],
  ["/docs/", page],
]);

/** Answers without a body: the first page leads to the documentation, and browsers ask for an icon that does not exist. */
const bodiless: ReadonlyMap<string, { readonly status: number; readonly headers: Readonly<Record<string, string>> }> =
  new Map([
    ["/", { status: 302, headers: { location: "/docs", "cache-control": "no-cache" } }],
    ["/favicon.ico", { status: 204, headers: { "cache-control": "public, max-age=86400" } }],
  ]);

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] as string;

/** Whether the request is for a published document; the path is compared as it was sent. */
export const isDocument = (request: IncomingMessage): boolean =>
  (request.method === "GET" || request.method === "HEAD") &&
  (published.has(pathOf(request)) || bodiless.has(pathOf(request)));

/** @returns the route, for metrics */
export function writeDocument(request: IncomingMessage, response: ServerResponse): string {
  const path = pathOf(request);
  const short = bodiless.get(path);
  if (short !== undefined) {
    response.writeHead(short.status, short.headers).end();
    return path;
  }
  const { headers, body, gzipped, etag } = published.get(path) as Published;
  const compressed = takesGzip(request.headers["accept-encoding"]);
  const tag = `"${etag}${compressed ? "-gzip" : ""}"`;
  response.setHeader("etag", tag).appendHeader("vary", "accept-encoding").setHeader("cache-control", "no-cache");
  if (names(request.headers["if-none-match"], tag)) {
    response.writeHead(304).end();
    return path;
  }
  const bytes = compressed ? gzipped : body;
  response.writeHead(200, {
    ...headers,
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
    ...(compressed && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
  return path;
}

/** Named, and not with a quality of 0. */
const takesGzip = (accepted: string | string[] | undefined): boolean =>
  typeof accepted === "string" &&
  accepted.split(",").some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0{0,3})?\s*$)[\d.]+\s*)?$/i.test(coding));

const names = (tags: string | undefined, tag: string): boolean =>
  tags !== undefined && tags.split(",").some((each) => each.trim().replace(/^W\//, "") === tag || each.trim() === "*");
