/**
 * Delays requests of clients that keep sending them although they are refused, and finally closes the connection. A refusal costs little, but two
 * hundred connections that repeat refused requests at once raise the latency of everybody's turns from 2.5 to 19 ms. A client that waits as long as
 * the retry hint says, or a moment without a hint, is neither delayed nor disconnected. The same holds for other clients on a connection that an
 * ingress shares among its clients: a request with other credentials is not delayed.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { isNetworkRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";

/**
 * Statuses after which an immediate retry is useless. A 403 is among them only if it refuses the client's address: a guardrail's 403 concerns one
 * prompt, and the next may pass.
 */
const refusals: ReadonlySet<number> = new Set([401, 402, 429]);
/** Expected pause in milliseconds after a refusal without a retry hint. */
const pauseMs = 1_000;
/** Share of the hinted pause that a client must wait: its clock starts only when it has read the answer, and its timer may be early. */
const patience = 0.8;
/** Number of hasty requests answered without delay, so that a program that meets its limit with a few calls notices nothing. */
export const maxHastyBeforeDelay = 3;
/** Number of hasty requests after which the connection is closed. */
export const maxHastyRequests = 16;
const firstDelayMs = 100;
const maxDelayMs = 1_000;

interface Refused {
  readonly credentials: string;
  /** Earliest time for the next request, by performance.now() in milliseconds. */
  mayAskAt: number;
  /** Number of consecutive requests before that time. */
  unheeded: number;
}

/** Refusal state of the connections whose last answer was a refusal. */
const refused = new WeakMap<Socket, Refused>();

/** Records an answer once it is sent, so that a refusal can delay the next request. */
export function recordAnswer(
  { socket, headers }: IncomingMessage,
  { statusCode }: ServerResponse,
  fault: Fault | undefined,
): void {
  const isRefusal = refusals.has(statusCode) || (statusCode === 403 && fault !== undefined && isNetworkRefusal(fault));
  if (!isRefusal) return void refused.delete(socket);
  const credentials = credentialsIn(headers);
  const mayAskAt = performance.now() + patience * (fault?.retryAfterMs || pauseMs);
  const known = refused.get(socket);
  if (known?.credentials === credentials) known.mayAskAt = mayAskAt;
  else refused.set(socket, { credentials, mayAskAt, unheeded: 0 });
}

const credentialsIn = ({ authorization, "x-api-key": key }: IncomingHttpHeaders): string =>
  authorization ?? (typeof key === "string" ? key : "");

/** Called for each request before any other work. @returns undefined if the request need not wait */
export function waitAfterRefusals(
  { socket, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  const known = refused.get(socket);
  if (known === undefined || known.credentials !== credentialsIn(headers)) return undefined;
  if (performance.now() >= known.mayAskAt) known.unheeded = 0;
  else known.unheeded++;
  const delayed = known.unheeded - maxHastyBeforeDelay;
  if (delayed <= 0) return undefined;
  if (known.unheeded >= maxHastyRequests) response.setHeader("connection", "close");
  return delay(Math.min(maxDelayMs, firstDelayMs * 2 ** (delayed - 1)));
}
