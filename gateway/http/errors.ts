/** Failures on the wire: the contract's body for every status, and headers that tell a client whether to try again. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { rateLimitHeaderNames } from "@sluice/proto/runtime/limits/decision.js";
import { hasUnreadBody } from "./body.ts";
import { serviceMetadataMembers } from "./service-metadata.ts";

/** Headers of ours that an answer may carry, for pages of other origins. */
export const answerHeaders = [
  "x-request-id",
  "x-generation-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "x-sluice-warning",
  ...rateLimitHeaderNames,
];

export interface AnswerIds {
  readonly requestId?: string;
  readonly generationId?: string;
  /** A second name for service_metadata. */
  readonly metadataAlias?: string | undefined;
  /** JSON: what was consumed by answers that nobody got. */
  readonly usageJson?: string | undefined;
}

type Headers = Record<string, string | number>;

/** Answers with a failure. Does nothing useful once headers were sent, except to end the connection. */
export function writeFault(response: ServerResponse, fault: Fault, ids: AnswerIds = {}): void {
  const unread = hasUnreadBody(response.req);
  const gone = unread && response.req.destroyed;
  if (response.headersSent || gone) return void response.destroy();
  const body = faultBody(fault, ids);
  response.writeHead(fault.status, {
    ...headersOf(body, ids),
    ...retryHeaders(fault),
    ...(unread && { connection: "close" }),
  });
  if (unread) linger(response, body);
  else response.end(body);
}

/** Answers with a JSON value. */
export function writeJson(response: ServerResponse, value: unknown, ids: AnswerIds = {}, status = 200): void {
  writeJsonText(response, Buffer.from(JSON.stringify(value)), ids, status);
}

/** Answers that it is done, and that there is nothing to say. */
export function writeNothing(response: ServerResponse, { requestId }: AnswerIds = {}): void {
  response.writeHead(204, requestId === undefined ? {} : { "x-request-id": requestId });
  response.end();
}

/** Answers with JSON as it stands. */
export function writeJsonText(response: ServerResponse, body: Uint8Array, ids: AnswerIds = {}, status = 200): void {
  response.writeHead(status, headersOf(body, ids));
  response.end(body);
}

function headersOf(body: Uint8Array, { requestId, generationId }: AnswerIds): Headers {
  return {
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    ...(requestId !== undefined && { "x-request-id": requestId }),
    ...(generationId !== undefined && { "x-generation-id": generationId }),
  };
}

/** `error`, usage where there is some, and the receipt verbatim when there is one. */
export function faultBody(fault: Fault, { metadataAlias, usageJson }: AnswerIds = {}): Buffer {
  const metadata = fault.metadata ?? (fault.status === 401 ? undefined : { error_type: fault.errorType });
  const error = JSON.stringify({ code: fault.status, message: fault.message, metadata });
  const usage = usageJson === undefined ? "" : `,"usage":${usageJson}`;
  return Buffer.from(`{"error":${error}${usage}${serviceMetadataMembers(fault.serviceMetadataJson, metadataAlias)}}`);
}

/** Clients differ in which of the three they read. */
function retryHeaders(fault: Fault): Headers {
  const retryAfterMs = Math.ceil(fault.retryAfterMs);
  return {
    "x-should-retry": String(fault.shouldRetry),
    ...(retryAfterMs > 0 && { "retry-after": Math.ceil(retryAfterMs / 1_000), "retry-after-ms": retryAfterMs }),
  };
}

/** Twice the largest body: whoever sends more does not read the answer. */
const lingerBytes = 67_108_864;
const lingerMs = 5_000;

/**
 * Sends the whole answer, and closes only when the client has seen it. To close on bytes that were not read resets the connection, and
 * a reset can overtake the answer: the client would see a network error in the place of 413.
 */
function linger(response: ServerResponse, body: Buffer): void {
  const request = response.req;
  let left = lingerBytes;
  const close = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(close, lingerMs);
  response.write(body);
  request.on("error", () => {});
  request.on("end", close).on("close", close);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) close();
  });
  request.resume();
}

/** What Node's HTTP parser refuses, in the contract's statuses. */
export function faultOfClientError({ code = "" }: NodeJS.ErrnoException): Fault {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Fault(FaultReason.DEADLINE_EXCEEDED, "", clientMade);
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new Fault(FaultReason.PAYLOAD_TOO_LARGE, "", clientMade);
  const what = malformations[code] ?? "it cannot be parsed";
  return new Fault(FaultReason.INVALID_REQUEST, `Malformed HTTP request: ${what}`, clientMade);
}

const malformations: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "headers of more than 16 KiB",
  HPE_INVALID_TRANSFER_ENCODING: "transfer-encoding must be chunked, and nothing else",
};

const clientMade = { origin: FaultOrigin.CLIENT };
const rawLingerMs = 1_000;
/** Sockets on which such an answer was written. */
const answered = new WeakSet<Duplex>();

/** Headers as they stand in an answer that is written by hand. */
export function fieldLines(headers: Headers): string {
  let lines = "";
  for (const name in headers) lines += `${name}: ${headers[name]}\r\n`;
  return lines;
}

/**
 * For 'clientError': there is no response object, so the answer is written by hand. Whatever comes after it is an error again, and is passed over
 * for a moment, as the client may not have read the answer.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET") return void socket.destroy();
  if (answered.has(socket)) return;
  if (!socket.writable) return void socket.destroy();
  answered.add(socket);
  const fault = faultOfClientError(error);
  const body = faultBody(fault);
  const lines = fieldLines({ ...headersOf(body, {}), ...retryHeaders(fault), connection: "close" });
  // Without a reason phrase: it is optional, and several of our statuses have none.
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${fault.status} \r\n${lines}\r\n`), body]));
  const timer = setTimeout(() => socket.destroy(), rawLingerMs);
  socket.on("close", () => clearTimeout(timer));
}
