/**
 * Slows and then closes connections whose client goes on asking while it is refused. Refusing costs little, but two hundred connections that
 * repeat a refused request at once take the time of everybody's turns: those took 19 instead of 2.5 ms beside them.
 *
 * A client that waits as long as the answer says, or for a moment where it says nothing, is never slowed and never closed. Neither is another
 * client on the same connection, which an ingress shares among all of its clients: a request with other credentials is not slowed.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "@sluice/proto/runtime/fault.js";

/** Statuses that asking again at once does not change. A guardrail's 403 is about one prompt, and the next one may pass. */
const refusals: ReadonlySet<number> = new Set([401, 402, 429]);
/** Pause that a client owes after a refusal without a hint. */
const pauseMs = 1_000;
/** Part of a hint that has to pass: the client's clock starts when it has read the answer, and its timer may be early. */
const patience = 0.8;
/** Requests without a pause that are answered at once, so that a program that meets its limit with a few calls notices nothing. */
export const maxUndelayed = 3;
/** Requests without a pause after which the connection is closed. */
export const maxUnheeded = 16;
const firstDelayMs = 100;
const maxDelayMs = 1_000;

interface Refused {
  readonly credentials: string;
  /** performance.now() from which on the client may ask again. */
  mayAskAt: number;
  /** Requests that came earlier than that, one after the other. */
  unheeded: number;
}

/** Connections whose last answer was a refusal. */
const refused = new WeakMap<Socket, Refused>();

/** Notes the answer to a request, once it is out. */
export function noteAnswer(
  { socket, headers }: IncomingMessage,
  { statusCode }: ServerResponse,
  fault: Fault | undefined,
): void {
  if (!refusals.has(statusCode)) return void refused.delete(socket);
  const credentials = credentialsIn(headers);
  const mayAskAt = performance.now() + patience * (fault?.retryAfterMs || pauseMs);
  const known = refused.get(socket);
  if (known?.credentials === credentials) known.mayAskAt = mayAskAt;
  else refused.set(socket, { credentials, mayAskAt, unheeded: 0 });
}

const credentialsIn = ({ authorization, "x-api-key": key }: IncomingHttpHeaders): string =>
  authorization ?? (typeof key === "string" ? key : "");

/** Called for each request before anything is done for it. @returns undefined when it need not wait */
export function waitAfterRefusals(
  { socket, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  const known = refused.get(socket);
  if (known === undefined || known.credentials !== credentialsIn(headers)) return undefined;
  if (performance.now() >= known.mayAskAt) known.unheeded = 0;
  else known.unheeded++;
  const delayed = known.unheeded - maxUndelayed;
  if (delayed <= 0) return undefined;
  if (known.unheeded >= maxUnheeded) response.setHeader("connection", "close");
  return delay(Math.min(maxDelayMs, firstDelayMs * 2 ** (delayed - 1)));
}
