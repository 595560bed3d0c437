/** Reads a JSON body: bounded in size and time, and not at all when its headers already refuse it. */
import type { Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";

/** A body of 32 MiB takes 27 s at 10 Mbit/s; slower is an attack more often than a client. */
const bodyTimeoutMs = 30_000;

/** JSON has no parameters (RFC 8259), so clients add what they like; but another charset would be taken at its word. */
const jsonType =
  /^application\/json[ \t]*(?:;[ \t]*(?:(?:charset="?utf-?8"?|(?!charset=)[\w.-]+=(?:[\w.-]+|"[^"]*"))[ \t]*)?)*$/i;

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
 * The whole body.
 * @param limitBytes above which the body is refused, before it is read when its length is announced
 * @throws Fault INVALID_REQUEST for another type or encoding, PAYLOAD_TOO_LARGE, DEADLINE_EXCEEDED
 */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  timeoutMs: number = bodyTimeoutMs,
): Promise<Buffer> {
  begin(request, limitBytes);
  // A small body comes with its headers: then there is nothing to wait for.
  if (request.complete) return bounded((request.read() as Buffer | null) ?? Buffer.alloc(0), limitBytes);
  const chunks: Buffer[] = [];
  await receive(request, limitBytes, timeoutMs, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/**
 * Adds the whole body to a hash, without keeping it.
 * @throws as readBody
 */
export async function digestBody(request: IncomingMessage, limitBytes: number, hash: Hash): Promise<void> {
  begin(request, limitBytes);
  if (request.complete) hash.update(bounded((request.read() as Buffer | null) ?? Buffer.alloc(0), limitBytes));
  else await receive(request, limitBytes, bodyTimeoutMs, (chunk) => hash.update(chunk));
}

function begin(request: IncomingMessage, limitBytes: number): void {
  checkHeaders(request, limitBytes);
  // Its "close" is over, and nothing would ever settle.
  if (request.destroyed) throw cutShort();
  awaited.get(request)?.();
  awaited.delete(request);
}

function receive(
  request: IncomingMessage,
  limitBytes: number,
  timeoutMs: number,
  keep: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (fault?: Fault) => {
      clearTimeout(timer);
      request.off("data", take).off("end", settleWhole).off("close", settleEarly);
      if (fault) reject(fault);
      else resolve();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) settle(tooLarge(limitBytes));
      else keep(chunk);
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
