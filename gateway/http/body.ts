/** Reads a JSON body: bounded in size and time, and not at all when its headers already refuse it. */
import type { Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Reservation } from "@sluice/proto/runtime/byte-budget.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";

/** A body of 32 MiB takes 27 s at 10 Mbit/s; slower is an attack more often than a client. */
const bodyTimeoutMs = 30_000;

/** JSON has no parameters (RFC 8259), so clients add what they like; but another charset would be taken at its word. */
const jsonType =
  /^application\/json[ \t]*(?:;[ \t]*(?:(?:charset="?utf-?8"?|(?!charset=)[\w.-]+=(?:[\w.-]+|"[^"]*"))[ \t]*)?)*$/i;

/** A body is held three times until it has left for inference-svc: as it was read, in the message, and in the frame of the message. */
const copiesHeld = 3;

const awaited = new WeakMap<IncomingMessage, () => void>();

/** The client waits for `100 Continue` before it sends its body; `send` is called when somebody wants to read it. */
export function deferContinue(request: IncomingMessage, send: () => void): void {
  awaited.set(request, send);
}

/** Whether the client may have sent body bytes that nobody has read. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete || awaited.has(request)) return false;
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== "0");
}

/**
 * The whole body, for which memory is reserved before it is read: at once where its length is announced, and else as it grows.
 * @param limitBytes above which the body is refused, before it is read when its length is announced
 * @param room still the caller's to release when this throws
 * @throws Fault INVALID_REQUEST for another type or encoding, PAYLOAD_TOO_LARGE, DEADLINE_EXCEEDED, UNAVAILABLE where no memory is free
 */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  room: Reservation,
  timeoutMs: number = bodyTimeoutMs,
): Promise<Buffer> {
  checkHeaders(request, limitBytes);
  const announced = announcedBytes(request);
  const waiting = room.grow(copiesHeld * (announced ?? 0));
  if (waiting) await waiting;
  begin(request);
  // A small body comes with its headers: then there is nothing to wait for.
  if (request.complete) return bounded((request.read() as Buffer | null) ?? Buffer.alloc(0), limitBytes);
  return announced === undefined
    ? readGrowing(request, limitBytes, timeoutMs, room)
    : readAnnounced(request, announced, timeoutMs);
}

async function readAnnounced(request: IncomingMessage, length: number, timeoutMs: number): Promise<Buffer> {
  // Not from the pool, and not filled with zeros: the whole of it is written to, and it takes no memory before.
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

/**
 * Adds the whole body to a hash, without keeping it.
 * @throws as readBody
 */
export async function digestBody(request: IncomingMessage, limitBytes: number, hash: Hash): Promise<void> {
  checkHeaders(request, limitBytes);
  begin(request);
  if (request.complete) hash.update(bounded((request.read() as Buffer | null) ?? Buffer.alloc(0), limitBytes));
  else await receive(request, limitBytes, bodyTimeoutMs, (chunk) => void hash.update(chunk));
}

function begin(request: IncomingMessage): void {
  // Its "close" is over, and nothing would ever settle.
  if (request.destroyed) throw cutShort();
  awaited.get(request)?.();
  awaited.delete(request);
}

/** @param keep takes a chunk; nothing more is read until a promise that it returns has settled */
function receive(
  request: IncomingMessage,
  limitBytes: number,
  timeoutMs: number,
  keep: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (fault?: Error) => {
      clearTimeout(timer);
      request.off("data", take).off("end", settleWhole).off("close", settleEarly);
      if (fault === undefined) resolve();
      else reject(fault);
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) return settle(tooLarge(limitBytes));
      const waiting = keep(chunk);
      if (!waiting) return;
      request.pause();
      waiting.then(() => request.resume(), settle);
    };
    const settleWhole = () => settle();
    const settleEarly = () => settle(cutShort());
    const timer = setTimeout(() => settle(tooSlow(timeoutMs)), timeoutMs);
    request.on("data", take).on("end", settleWhole).on("close", settleEarly);
    // A reset is reported by "close" as well; without a listener it would be an uncaught error.
    request.on("error", () => {});
  });
}

function bounded(body: Buffer, limitBytes: number): Buffer {
  if (body.length > limitBytes) throw tooLarge(limitBytes);
  return body;
}

/** Undefined for a body in chunks. */
function announcedBytes({ headers }: IncomingMessage): number | undefined {
  if (headers["transfer-encoding"] !== undefined) return undefined;
  return Number(headers["content-length"] ?? 0);
}

function checkHeaders({ headers }: IncomingMessage, limitBytes: number): void {
  if (!jsonType.test(headers["content-type"] ?? "")) {
    throw invalid("content-type", "must be application/json, in UTF-8");
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw invalid("content-encoding", "content-encoding not supported; send the body uncompressed");
  }
  if (Number(headers["content-length"] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

/** Nobody waits for the answer any more. */
export const cutShort = (): Fault => invalid("body", "the connection closed before its end");

const tooLarge = (limitBytes: number): Fault =>
  new Fault(FaultReason.PAYLOAD_TOO_LARGE, `Request payload too large: at most ${limitBytes} bytes`, {
    origin: FaultOrigin.CLIENT,
  });

const tooSlow = (timeoutMs: number): Fault =>
  new Fault(FaultReason.DEADLINE_EXCEEDED, `Operation timed out: the body took longer than ${timeoutMs} ms`, {
    origin: FaultOrigin.CLIENT,
  });
