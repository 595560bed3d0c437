/** Writes errors as HTTP answers: the contract's body for every status, and headers with retry hints for clients. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isVersionError, versionRefusal } from "@sluice/proto/lib/http1/framing.js";
import { rateLimitHeaderNames, refusalHeaders } from "@sluice/proto/lib/limits/decision.js";
import { type ModelLimitRefusal, errorMembers, openAiTypeOf } from "@sluice/proto/contract/operations/errors.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import { hasUnreadBody } from "./body.ts";
import { bodyCodings } from "./body-coding.ts";

/** Names of Sluice's own answer headers, which CORS exposes to pages of other origins. */
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
  /** Second name under which the answer contains `service_metadata`. */
  readonly metadataAlias?: string | undefined;
  /** JSON of the tokens consumed by an answer that was not delivered. */
  readonly usageJson?: string | undefined;
}

type Headers = Record<string, string | number>;

/** The form of error answers in a request format. */
export interface FaultForm {
  /** Second name of the header `x-request-id` in lower case; undefined for a format without one. */
  readonly requestIdHeader: string | undefined;
  readonly body: (fault: Fault, ids: AnswerIds) => Buffer;
}

/** Answers a request with an error. Once the headers were sent, it can only close the connection. */
export function writeFault(
  response: ServerResponse,
  fault: Fault,
  ids: AnswerIds = {},
  form: FaultForm = responseFaults,
): void {
  const unread = hasUnreadBody(response.req);
  const gone = unread && response.req.destroyed;
  if (response.headersSent || gone) return void response.destroy();
  const body = form.body(fault, ids);
  const { requestIdHeader } = form;
  response.writeHead(fault.status, {
    ...headersOf(body, ids),
    ...(requestIdHeader !== undefined && ids.requestId !== undefined && { [requestIdHeader]: ids.requestId }),
    ...retryHeaders(fault),
    ...modelLimitHeaders(fault),
    ...(fault.metadata?.["param"] === "content-encoding" && { "accept-encoding": bodyCodings }),
    ...(unread && { connection: "close" }),
  });
  if (unread) linger(response, body);
  else response.end(body);
}

/** Answers with a JSON value. */
export function writeJson(response: ServerResponse, value: unknown, ids: AnswerIds = {}, status = 200): void {
  writeJsonText(response, Buffer.from(JSON.stringify(value)), ids, status);
}

/** Answers with 204 and no body. */
export function writeNothing(response: ServerResponse, { requestId }: AnswerIds = {}): void {
  response.writeHead(204, requestId === undefined ? {} : { "x-request-id": requestId });
  response.end();
}

/** Answers with bytes that are already JSON. */
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

/** The body of an error answer: `error`, and then `usage` and the receipt if known. */
export function faultBody(fault: Fault, { metadataAlias, usageJson }: AnswerIds = {}): Buffer {
  const { status, message, metadata = status === 401 ? undefined : { error_type: fault.errorType } } = fault;
  const error = JSON.stringify(errorMembers({ status, message, metadata }));
  const usage = usageJson === undefined ? "" : `,"usage":${usageJson}`;
  return Buffer.from(`{"error":${error}${usage}${serviceMetadataMembers(fault.serviceMetadataJson, metadataAlias)}}`);
}

/** The form of error answers at /responses and at every operation outside of the other doors. */
export const responseFaults: FaultForm = { requestIdHeader: undefined, body: faultBody };

/** Retry headers in three spellings, since each client reads only one of them. */
function retryHeaders(fault: Fault): Headers {
  const retryAfterMs = Math.ceil(fault.retryAfterMs);
  return {
    "x-should-retry": String(fault.shouldRetry),
    ...(retryAfterMs > 0 && { "retry-after": Math.ceil(retryAfterMs / 1_000), "retry-after-ms": retryAfterMs }),
  };
}

/** Headers about the limit on requests or tokens of a model that refused the request; empty for any other failure. */
function modelLimitHeaders({ metadata }: Fault): Headers {
  const { limit, maximum, reset_ms: resetMs } = (metadata?.["model_limit"] ?? {}) as Partial<ModelLimitRefusal>;
  if (limit === undefined || maximum === undefined || resetMs === undefined) return {};
  return refusalHeaders(limit.includes("tokens") ? "tokens" : "requests", maximum, resetMs);
}

/** Number of unread bytes after which the connection is closed at once: twice the maximum body. A client that sends more does not read the answer. */
const lingerBytes = 67_108_864;
const lingerMs = 5_000;

/**
 * Sends the complete answer, and closes the connection once the client has received it. Closing with unread bytes resets the connection, and the
 * reset can overtake the answer, so that the client sees a network error instead of 413.
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

/** Converts an error of Node's HTTP parser into a fault of the contract. */
export function toClientFault({ code = "" }: NodeJS.ErrnoException): Fault {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Fault(FaultReason.DEADLINE_EXCEEDED, "", clientMade);
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new Fault(FaultReason.PAYLOAD_TOO_LARGE, "", clientMade);
  const what = malformations[code] ?? "it cannot be parsed";
  return new Fault(FaultReason.INVALID_REQUEST, `Malformed HTTP request: ${what}`, clientMade);
}

const malformations: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "headers of more than 16 KiB",
  HPE_INVALID_TRANSFER_ENCODING: "transfer-encoding must be chunked, and nothing else",
};

const versionBody = Buffer.from(
  JSON.stringify({
    error: {
      code: versionRefusal.status,
      message: versionRefusal.message,
      type: openAiTypeOf(versionRefusal.status),
      metadata: { error_type: "invalid_request" },
    },
  }),
);

const clientMade = { origin: FaultOrigin.CLIENT };
const rawLingerMs = 1_000;
/** Sockets that were already answered after a parse error. */
const answered = new WeakSet<Duplex>();

/** Formats headers for an answer written by hand. */
export function fieldLines(headers: Headers): string {
  let lines = "";
  for (const name in headers) lines += `${name}: ${headers[name]}\r\n`;
  return lines;
}

/**
 * Handles 'clientError', for which Node has no response object, so the answer is written to the socket. Bytes after the error cause further errors;
 * these are ignored for a moment, because the client may not have read the answer yet.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET") return void socket.destroy();
  if (answered.has(socket)) return;
  if (!socket.writable) return void socket.destroy();
  answered.add(socket);
  const fault = toClientFault(error);
  const isVersion = isVersionError(error);
  // The refusal of an HTTP version has status 505 of HTTP, which no fault of the contract has.
  const status = isVersion ? versionRefusal.status : fault.status;
  const body = isVersion ? versionBody : faultBody(fault);
  const lines = fieldLines({ ...headersOf(body, {}), ...retryHeaders(fault), connection: "close" });
  // The reason phrase is optional and stays empty, because several of the contract's statuses have none.
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} \r\n${lines}\r\n`), body]));
  const timer = setTimeout(() => socket.destroy(), rawLingerMs);
  socket.on("close", () => clearTimeout(timer));
}
