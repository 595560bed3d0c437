/**
 * Delays and then closes connections of clients that keep sending requests while they are refused. A refusal costs little, but two hundred connections
 * repeating refused requests at once slow down everybody's turns: from 2.5 to 19 ms.
 *
 * A client that waits for the retry hint, or for a moment without one, is never delayed and never closed. Neither is another client on the same connection,
 * which an ingress shares among all its clients: a request with other credentials is not delayed.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { isNetworkRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";

/** Statuses for which an immediate retry is useless. A guardrail's 403 is about one prompt, and the next may pass; a 403 for the client's address is as useless. */
const refusals: ReadonlySet<number> = new Set([401, 402, 429]);
/** Expected pause after a refusal without a hint. */
const pauseMs = 1_000;
/** Required share of the hint: the client's clock starts when it has read the answer, and its timer may be early. */
const patience = 0.8;
/** Number of hasty requests answered at once: a program that meets its limit with a few calls notices nothing. */
export const maxHastyBeforeDelay = 3;
/** Number of hasty requests after which the connection is closed. */
export const maxHastyRequests = 16;
const firstDelayMs = 100;
const maxDelayMs = 1_000;

interface Refused {
  readonly credentials: string;
  /** performance.now() of the earliest acceptable next request. */
  mayAskAt: number;
  /** Consecutive requests before that time. */
  unheeded: number;
}

/** Connections with a refusal as their last answer. */
const refused = new WeakMap<Socket, Refused>();

/** Records the answer to a request, once it is sent. */
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

/** Called for each request before any other work. @returns undefined when it need not wait */
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
