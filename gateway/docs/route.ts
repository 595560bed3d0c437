/** GET /api/v1/openapi.json and GET /docs: the contract, for everybody. Made once, at the start of the process. */
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

const published: ReadonlyMap<string, Published> = new Map([
  ["/api/v1/openapi.json", publish(JSON.stringify(document), { "content-type": "application/json; charset=utf-8" })],
  [
    "/docs",
    publish(pageOf(document), {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'sha256-${digest(style.text)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      "referrer-policy": "no-referrer",
    }),
  ],
]);

/** Whether the request is for a published document; the path is compared as it was sent. */
export const isDocument = ({ method, url = "" }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && published.has(url.split("?", 1)[0] as string);

/** @returns the route, for metrics */
export function writeDocument(request: IncomingMessage, response: ServerResponse): string {
  const path = (request.url ?? "").split("?", 1)[0] as string;
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
