/**
 * Receives the signed requests of a `webhook` detector and answers them with findings. The other programs in this folder use it to call the service
 * of a vendor; a program of your own only needs `serve`. Node.js 20 or later, no dependencies.
 *
 * Environment: WEBHOOK_SECRET (whsec_...), PORT (8099), HOST (127.0.0.1).
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const maxBodyBytes = 1_000_000;
/** Seconds by which the clocks of both sides may differ. An older message is refused as a replay. */
const toleranceSeconds = 300;

/** @returns the value of an environment variable @throws if it is not set */
export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}

/**
 * Serves until SIGTERM or SIGINT.
 * @param check receives {text, direction, detector, path} and a signal that aborts when the caller is gone, and returns findings:
 *   {label, score?, start?, end?}, places in code points. A failure becomes 502: the guardrail's `on_error` decides then.
 */
export function serve(check) {
  const key = Buffer.from(required("WEBHOOK_SECRET").replace(/^whsec_/, ""), "base64");
  const server = createServer((request, response) => {
    answer(request, key, check, gone(response)).then(
      ({ status, body }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      (error) => {
        console.error(String(error?.message ?? error));
        response.writeHead(502, { "content-type": "application/json" }).end('{"error":"the check failed"}');
      },
    );
  });
  const port = Number(process.env.PORT ?? 8099);
  server.listen(port, process.env.HOST ?? "127.0.0.1", () => console.log(`ready on port ${server.address().port}`));
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => server.close());
}

function gone(response) {
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}

async function answer(request, key, check, signal) {
  if (request.method !== "POST") return { status: 405, body: { error: "POST only" } };
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return { status: 413, body: { error: "too long" } };
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString();
  if (!isSigned(request.headers, body, key)) return { status: 401, body: { error: "wrong signature" } };
  const { data } = JSON.parse(body);
  const path = new URL(request.url, "http://receiver").pathname;
  return { status: 200, body: { findings: await check({ ...data, path }, signal) } };
}

/** Whether a message is signed as Standard Webhooks requires: one of its signatures is the base64 of an HMAC-SHA256 over id, time and body. */
function isSigned(headers, body, key) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": given = "" } = headers;
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= toleranceSeconds)) return false;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  return given.split(" ").some((signature) => {
    const bytes = Buffer.from(signature.replace(/^v1,/, ""), "base64");
    return signature.startsWith("v1,") && bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}

/** Calls the vendor's service. @throws for every status but 200, so a failure never counts as a clean text */
export async function post(url, headers, body, signal) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal,
  });
  if (response.status !== 200) throw new Error(`${new URL(url).host} answered ${response.status}`);
  return response.json();
}

/** Places at which a text contains another one, in code points. */
export function placesOf(text, part) {
  const places = [];
  for (let at = text.indexOf(part); part !== "" && at !== -1; at = text.indexOf(part, at + part.length)) {
    const start = codePoints(text.slice(0, at));
    places.push({ start, end: start + codePoints(part) });
  }
  return places;
}

const codePoints = (text) => Array.from(text).length;
