/** The steps of every request before its handler and after its answer: observation, key, and the answer to failures. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { IncomingMessage } from "node:http";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { ByteBudget, Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { isKeyRefusal, isNetworkRefusal, requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import { administrationFault, isAdministration } from "./administration.ts";
import { readKeyHash } from "./auth.ts";
import type { Exchange } from "./context.ts";
import { writeFault } from "./errors.ts";
import { recordAnswer } from "./impatience.ts";
import type { KeylessLimiter } from "./keyless-limiter.ts";
import type { NetworkRefusals } from "@sluice/proto/lib/rpc/network-refusals.js";
import type { Observer } from "./observe.ts";
import { auditedCall, rawPath } from "./path.ts";

/** Accepted form of a client's X-Request-Id. The gateway keeps its own id as well, since a client may repeat its ids. */
const clientIdForm = /^[\w-]{1,64}$/;

export interface ExchangeDeps {
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly keylessLimiter: KeylessLimiter;
  readonly networkRefusals: NetworkRefusals;
  readonly observer: Observer;
  /** Finds the address of a request's client. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** Whether the log line of a request contains the address of its client. */
  readonly logsAddresses: boolean;
}

/** Begins to observe a request; `closeExchange` must follow when its response closes. */
export function beginExchange(
  { observer, addressOf, logsAddresses }: Pick<ExchangeDeps, "observer" | "addressOf" | "logsAddresses">,
  exchange: Exchange,
): void {
  exchange.startedAt = performance.now();
  exchange.observation = observer.begin(exchange.req);
  exchange.trace = exchange.observation.trace;
  exchange.requestId = newId("req_");
  exchange.clientRequestId = readClientRequestId(exchange.req);
  exchange.route = "unknown";
  exchange.loggedAddress = logsAddresses ? addressOf(exchange.req) : undefined;
  exchange.fault = undefined;
}

/** Reads `X-Request-Id`; undefined when it is absent or malformed. */
export function readClientRequestId({ headers: { "x-request-id": id } }: IncomingMessage): string | undefined {
  return typeof id === "string" && clientIdForm.test(id) ? id : undefined;
}

/** Records the outcome of a request, and releases its memory. */
export function closeExchange(exchange: Exchange): void {
  const { req: request, res: response, fault } = exchange;
  exchange.observation.note({
    requestId: exchange.requestId,
    clientRequestId: exchange.clientRequestId,
    method: request.method ?? "",
    route: exchange.route,
    status: response.writableFinished ? response.statusCode : 499,
    ms: performance.now() - exchange.startedAt,
    errorType: fault?.errorType,
    cause: fault?.cause,
    address: exchange.loggedAddress,
  });
  recordAnswer(request, response, fault);
  // The reservation is absent for a request with a refused key, or from a network that its key does not allow.
  (exchange.room as Reservation | undefined)?.release();
}

/**
 * Looks up the key of a request, after unknown paths were refused, and waits for the key's turn in the event loop.  @returns undefined if there is
 * nothing to wait for
 */
export function authenticate(parts: ExchangeDeps, exchange: Exchange): Promise<void> | undefined {
  const keyHash = readKeyHash(exchange.req);
  const resolved = parts.access.resolve(keyHash, undefined, exchange.trace);
  if (resolved instanceof Promise)
    return resolved.then(({ caller }) => continueAsCaller(parts, exchange, keyHash, caller));
  return continueAsCaller(parts, exchange, keyHash, resolved.caller);
}

/**
 * Continues a request with its key's policy, once it is the key's turn in the event loop.  @param caller undefined for an unknown key  @throws Fault
 * UNAUTHENTICATED, PERMISSION_DENIED
 */
export function continueAsCaller(
  { budget, addressOf }: ExchangeDeps,
  exchange: Exchange,
  keyHash: string,
  caller: Caller | undefined,
): Promise<void> | undefined {
  if (!caller) throw invalidKey();
  exchange.keyHash = keyHash;
  exchange.caller = caller;
  if (caller.allowedNetworks.length > 0) requireAllowedNetwork(caller.allowedNetworks, addressOf(exchange.req));
  exchange.room = budget.open(keyHash);
  // The client may have closed the connection during the key's lookup.
  if (exchange.res.closed) exchange.room.release();
  exchange.path = rawPath(exchange.req);
  return eventLoop.turnOf(keyHash);
}

/** Answers with the failure of a request, unless its answer has begun. */
export async function answerFailure(
  { keylessLimiter, networkRefusals, addressOf }: ExchangeDeps,
  exchange: Exchange,
  error: unknown,
): Promise<void> {
  const { req: request, res: response } = exchange;
  const fault = Fault.from(error);
  const caller = exchange.caller as Caller | undefined;
  const isLost = fault.reason === FaultReason.NOT_FOUND && caller === undefined;
  if (isLost || isKeyRefusal(fault)) await keylessLimiter.admit(request);
  if (caller && isNetworkRefusal(fault)) {
    const { requestId, trace } = exchange;
    await networkRefusals.note(caller, auditedCall(request), { requestId, trace, address: addressOf(request) });
  }
  exchange.fault = isAdministration(request.url ?? "") ? administrationFault(fault) : fault;
  if (response.headersSent) response.destroy();
  else writeFault(response, exchange.fault, { requestId: exchange.requestId }, exchange.faults);
}
