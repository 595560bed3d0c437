/** Names by which a request can be found again. */
import { randomFillSync } from "node:crypto";
import type { IncomingMessage } from "node:http";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const length = 22; // 22 x log2(62) = 131 bits
const clientForm = /^[\w-]{1,64}$/;

/** Asking the kernel for each digit would cost more than the rest of the request's bookkeeping. */
const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

/** A digit without bias: bytes from 248 on would favour the first eight. */
function randomDigit(): string {
  for (;;) {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const byte = pool[used++] as number;
    if (byte < 248) return alphabet[byte % 62] as string;
  }
}

/** @param prefix says what the name is of */
export function newId(prefix: string): string {
  let id = prefix;
  for (let i = 0; i < length; i++) id += randomDigit();
  return id;
}

export interface RequestIds {
  /** Ours: unique, and in every log line. */
  readonly requestId: string;
  /** The client's X-Request-Id, kept beside ours and never in its place: a client can repeat it. */
  readonly clientRequestId: string | undefined;
}

export function requestIds(request: IncomingMessage): RequestIds {
  const presented = request.headers["x-request-id"];
  const wellFormed = typeof presented === "string" && clientForm.test(presented);
  return { requestId: newId("req_"), clientRequestId: wellFormed ? presented : undefined };
}
