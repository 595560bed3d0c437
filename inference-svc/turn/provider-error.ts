/** Classifies errors of providers by a closed list of words, without hosts and addresses. */
import type { ProviderErrorKind, UnansweredKind } from "@sluice/proto/contract/response/provider-error.js";
import { type Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** The cause of a fault for failures that have no error code. */
export class ProviderFailure extends Error {
  readonly kind: UnansweredKind;

  /** @param detail text for the log */
  constructor(kind: UnansweredKind, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.kind = kind;
  }
}

/** @returns undefined when the failure was not the provider's */
export function providerErrorKind(fault: Fault): ProviderErrorKind | undefined {
  const { origin, providerStatus } = fault;
  if (origin !== FaultOrigin.UPSTREAM || providerStatus === undefined) return unansweredKind(fault);
  return `http_${providerStatus}`;
}

/** @returns undefined when the provider answered with an HTTP error status, or when the failure was not the provider's */
export function unansweredKind(fault: Fault): UnansweredKind | undefined {
  const { reason, origin, providerStatus, cause } = fault;
  if (providerStatus !== undefined || origin !== FaultOrigin.UPSTREAM) return undefined;
  if (cause instanceof ProviderFailure) return cause.kind;
  return reason === FaultReason.PROVIDER_FAILED ? (kindOfCode(lastErrorCode(fault)) ?? "bad_answer") : undefined;
}

function kindOfCode(code: string): UnansweredKind | undefined {
  if (isDnsCode(code)) return "dns";
  if (isTlsCode(code)) return "tls";
  if (isTimeoutCode(code)) return "timeout_connect";
  if (code === "ECONNREFUSED") return "connect_refused";
  return isConnectionCode(code) ? "connection_lost" : undefined;
}

/** The last error code in the chain of causes, because earlier errors only pass it on; empty when there is none. */
export function lastErrorCode(error: unknown): string {
  let code = "";
  for (let at = error; typeof at === "object" && at !== null; at = nextOf(at)) {
    if ("code" in at && typeof at.code === "string" && at.code !== "") code = at.code;
  }
  return code;
}

/** The next error in the chain. An AggregateError has no cause, but an error for each address tried. */
const nextOf = (error: object): unknown => {
  if ("errors" in error && Array.isArray(error.errors)) return error.errors[0];
  return "cause" in error ? error.cause : undefined;
};

const tls = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$|HOSTNAME_MISMATCH$)/;
const connection = /^E(CONN|HOST|NET|PIPE)|^(ERR_CONNECTION_CLOSED|UND_ERR_SOCKET)$/;
/** Matches codes of timeouts: of Sluice's own connections, of packages based on fetch, and of the operating system. */
const timeout = /^(ERR_CONNECT_TIMEOUT|UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/;

export const isDnsCode = (code: string): boolean => code === "ENOTFOUND" || code === "EAI_AGAIN";
export const isTlsCode = (code: string): boolean => tls.test(code);
export const isTimeoutCode = (code: string): boolean => timeout.test(code);
export const isConnectionCode = (code: string): boolean => connection.test(code);

/** Length of a prompt and its maximum, in tokens. */
export interface Overflow {
  readonly requested?: number;
  readonly maximum?: number;
}
