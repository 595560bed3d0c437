/**
 * Stores a batch of turns as an object of JSON lines in a bucket. The object's name contains the batch's first and last
 * number, so a repeated delivery replaces the object.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { S3Settings } from "@sluice/proto/config/sinks/exports.js";
import { openSigner } from "@sluice/proto/lib/aws/signature.js";
import type { Message } from "../sinks/post.ts";
import type { ExportedBatch } from "./batch.ts";

const compress = promisify(gzip);

export async function s3Message(settings: S3Settings, exported: ExportedBatch, now: Date): Promise<Message> {
  const lines = exported.turns.map((turn) => `${JSON.stringify(turn)}\n`).join("");
  const body = await compress(lines);
  const url = objectUrl(settings, objectKey(settings.prefix, exported));
  const headers = { "content-type": "application/gzip" };
  return {
    url: url.href,
    method: "PUT",
    body,
    headers: { ...headers, ...(await signHeaders(settings, url, headers, body, now)) },
  };
}

/** Number of digits of the largest turn number: padded to it, object names sort in the order of numbers. */
const digits = 19;
const padded = (number: bigint): string => number.toString().padStart(digits, "0");

/** Object name from the workspace, the UTC day of the first delivery attempt, and the batch's first and last number. */
function objectKey(prefix: string, { batch }: ExportedBatch): string {
  const day = batch.batch_at.toISOString().slice(0, 10);
  const bounds = `${padded(BigInt(batch.delivered) + 1n)}-${padded(BigInt(batch.batch_last))}`;
  return `${prefix}${batch.workspace_id}/${day}/${bounds}.jsonl.gz`;
}

function objectUrl({ bucket, region, endpoint, path_style }: S3Settings, key: string): URL {
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const base = url.pathname.replace(/\/$/, "");
  if (path_style ?? endpoint !== undefined) url.pathname = `${base}/${bucket}/${key}`;
  else {
    url.hostname = `${bucket}.${url.hostname}`;
    url.pathname = `${base}/${key}`;
  }
  return url;
}

async function signHeaders(
  { region, access_key_id, secret_access_key, session_token }: S3Settings,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  now: Date,
): Promise<Record<string, string>> {
  const credentials = {
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    ...(session_token !== undefined && { sessionToken: session_token }),
  };
  const signer = await openSigner({ service: "s3", region, credentials });
  const { protocol, hostname, host, pathname: path } = url;
  const request = { method: "PUT", protocol, hostname, path, query: {}, headers: { ...headers, host }, body };
  const { host: _, ...signed } = (await signer.sign(request, { signingDate: now })).headers;
  return signed;
}
