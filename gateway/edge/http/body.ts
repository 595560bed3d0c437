/** Reads a JSON body within limits of size and time. A body that its headers already exclude is not read. */
import type { Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { timeLimits } from "@sluice/proto/lib/time/timer-wheel.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { type CreateDecoder, decodeBody, decoderOf } from "./body-coding.ts";

/** Timeout for a body: 32 MiB take 27 s at 10 Mbit/s. A slower sender is more likely an attacker than a client. */
const bodyTimeoutMs = 30_000;

/**
 * Accepted values of Content-Type. JSON defines no parameters (RFC 8259), so unknown parameters are accepted. A charset other than UTF-8 is rejected,
 * because the body may really be encoded in it.
 */
const jsonType =
  /^application\/json[ \t]*(?:;[ \t]*(?:(?:charset="?utf-?8"?|(?!charset=)[\w.-]+=(?:[\w.-]+|"[^"]*"))[ \t]*)?)*$/i;

/** Number of copies of a body in memory until it is sent to inference-svc: the bytes read, the message, and the message's frame. */
const copiesHeld = 3;

const awaited = new WeakMap<IncomingMessage, () => void>();

/** Marks a request whose complete body was read before Node noticed the end of the body. */
const isTaken = Symbol("body is taken");
type TakenRequest = IncomingMessage & { [isTaken]?: true };

/** Registers a client that waits for `100 Continue`. @param send called when a handler begins to read the body */
export function deferContinue(request: IncomingMessage, send: () => void): void {
  awaited.set(request, send);
}

/** Whether the client may have sent bytes of the body that no handler has read. */
export function hasUnreadBody(request: TakenRequest): boolean {
  if (request.complete || request[isTaken] === true || awaited.has(request)) return false;
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== "0");
}

/**
 * Reads the complete body. Memory is reserved first: for all of it if the length is announced, otherwise as the body grows.  @param limitBytes
 * maximum size; a body announced as larger is refused unread  @param room memory of the request, which the caller must release if reading fails
 * @returns the body without a promise if it arrived together with its headers  @throws Fault INVALID_REQUEST for another type or encoding,
 * PAYLOAD_TOO_LARGE, DEADLINE_EXCEEDED, UNAVAILABLE if no memory is free
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  room: Reservation,
  timeoutMs: number = bodyTimeoutMs,
): Buffer | Promise<Buffer> {
  checkHeaders(request, limitBytes);
  const { "content-encoding": coding, "transfer-encoding": transferCoding, "content-length": length } = request.headers;
  const decoder = coding === undefined ? undefined : decoderOf(coding);
  if (decoder) return readCoded(request, decoder, limitBytes, room, timeoutMs);
  // A body with a transfer coding announces no length.
  const announced = transferCoding === undefined ? Number(length ?? 0) : undefined;
  const waiting = room.grow(copiesHeld * (announced ?? 0));
  if (waiting) return waiting.then(() => readReserved(request, announced, limitBytes, room, timeoutMs));
  return readReserved(request, announced, limitBytes, room, timeoutMs);
}

function readReserved(
  request: IncomingMessage,
  announced: number | undefined,
  limitBytes: number,
  room: Reservation,
  timeoutMs: number,
): Buffer | Promise<Buffer> {
  begin(request);
  if (request.complete || request.readableLength === announced) return takeWhole(request, limitBytes);
  return announced === undefined
    ? readGrowing(request, limitBytes, timeoutMs, room)
    : readAnnounced(request, announced, timeoutMs);
}

/** Takes a body that has been received completely. */
function takeWhole(request: TakenRequest, limitBytes: number): Buffer {
  const body = (request.read() as Buffer | null) ?? Buffer.alloc(0);
  request[isTaken] = true;
  // Resuming lets Node notice the request's end; otherwise Node would keep the request until the next one on the connection.
  request.resume();
  if (body.length > limitBytes) throw bodyTooLargeFault(limitBytes);
  return body;
}

async function readAnnounced(request: IncomingMessage, length: number, timeoutMs: number): Promise<Buffer> {
  // The buffer is neither pooled nor zeroed: it takes no memory until it is written, and every byte of it will be written.
  const body = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  await receive(request, length, timeoutMs, (chunk) => {
    filled += chunk.copy(body, filled);
  });
  return body;
}

async function readGrowing(
  request: IncomingMessage,
  limitBytes: number,
  timeoutMs: number,
  room: Reservation,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await receive(request, limitBytes, timeoutMs, (chunk) => {
    chunks.push(chunk);
    return room.grow(copiesHeld * chunk.length);
  });
  return Buffer.concat(chunks);
}

async function readCoded(
  request: IncomingMessage,
  decoder: CreateDecoder,
  limitBytes: number,
  room: Reservation,
  timeoutMs: number,
): Promise<Buffer> {
  begin(request);
  const chunks: Buffer[] = [];
  await receiveCoded(request, decoder, limitBytes, timeoutMs, (chunk) => {
    chunks.push(chunk);
    return room.grow(copiesHeld * chunk.length);
  });
  return Buffer.concat(chunks);
}

/** Receives a compressed body. The limit applies before and after decoding; beyond it, decoding stops. */
function receiveCoded(
  request: IncomingMessage,
  decoder: CreateDecoder,
  limitBytes: number,
  timeoutMs: number,
  keep: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  let length = 0;
  const take = (chunk: Buffer): Promise<void> | void => {
    length += chunk.length;
    if (length > limitBytes) throw bodyTooLargeFault(limitBytes);
    return keep(chunk);
  };
  return decodeBody(decoder, (write) => receive(request, limitBytes, timeoutMs, write), take);
}

/** Adds the complete body to a hash, without keeping the body.  @throws as readBody */
export async function digestBody(request: IncomingMessage, limitBytes: number, hash: Hash): Promise<void> {
  checkHeaders(request, limitBytes);
  const { "content-encoding": coding } = request.headers;
  const decoder = coding === undefined ? undefined : decoderOf(coding);
  begin(request);
  if (decoder) await receiveCoded(request, decoder, limitBytes, bodyTimeoutMs, (chunk) => void hash.update(chunk));
  else if (request.complete) hash.update(takeWhole(request, limitBytes));
  else await receive(request, limitBytes, bodyTimeoutMs, (chunk) => void hash.update(chunk));
}

function begin(request: IncomingMessage): void {
  // A destroyed request emits no further "close", so waiting for one would never end.
  if (request.destroyed) throw incompleteBodyFault();
  if (request.headers.expect === undefined) return;
  awaited.get(request)?.();
  awaited.delete(request);
}

/** @param keep takes a chunk; reading pauses until its promise resolves */
function receive(
  request: IncomingMessage,
  limitBytes: number,
  timeoutMs: number,
  keep: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (fault?: Error) => {
      timer.stop();
      request.off("data", take).off("end", settleWhole).off("close", settleEarly);
      if (fault === undefined) resolve();
      else reject(fault);
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) return settle(bodyTooLargeFault(limitBytes));
      const waiting = keep(chunk);
      if (!waiting) return;
      request.pause();
      waiting.then(() => request.resume(), settle);
    };
    const settleWhole = () => settle();
    const settleEarly = () => settle(incompleteBodyFault());
    const timer = timeLimits.start(timeoutMs, () => settle(tooSlow(timeoutMs)), undefined);
    request.on("data", take).on("end", settleWhole).on("close", settleEarly);
    // A reset also emits "close", which is handled; an "error" without a listener would end the process.
    request.on("error", ignoreReset);
  });
}

/**
 * Listener for a reset. It is defined at module level because it stays with the request: a closure made while reading would keep the body in memory
 * as long.
 */
const ignoreReset = (): void => {};

function checkHeaders({ headers }: IncomingMessage, limitBytes: number): void {
  const { "content-type": type = "" } = headers;
  if (type !== "application/json" && !jsonType.test(type)) {
    throw invalid("content-type", "must be application/json, in UTF-8");
  }
  if (Number(headers["content-length"] ?? 0) > limitBytes) throw bodyTooLargeFault(limitBytes);
}

/** The fault of a request whose client left before the end of the body. Nobody reads its answer. */
export const incompleteBodyFault = (): Fault => invalid("body", "the connection closed before its end");

export const bodyTooLargeFault = (limitBytes: number): Fault =>
  new Fault(FaultReason.PAYLOAD_TOO_LARGE, `Request payload too large: at most ${limitBytes} bytes`, {
    origin: FaultOrigin.CLIENT,
  });

const tooSlow = (timeoutMs: number): Fault =>
  new Fault(FaultReason.DEADLINE_EXCEEDED, `Operation timed out: the body took longer than ${timeoutMs} ms`, {
    origin: FaultOrigin.CLIENT,
  });
