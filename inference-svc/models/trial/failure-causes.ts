/** Explains why a test request to a provider failed, with a remedy. The texts never contain an API key. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { isConnectionCode, isDnsCode, isTimeoutCode, isTlsCode, lastErrorCode } from "../../turn/provider-error.ts";
import { noCredentials } from "../upstream/credentials/source.ts";

export interface Cause {
  readonly kind: "dns" | "connection" | "tls" | "timeout" | "credentials" | "refused" | "answer";
  /** HTTP status of the provider's answer; absent when there was none. */
  readonly status?: number;
  readonly message: string;
}

/** @param host name for the provider in the explanation @param model the provider's name for the model */
export function explainFault(fault: Fault, host: string, model: string): Cause {
  const code = lastErrorCode(fault);
  const network = networkCause(code, host);
  if (network) return network;
  const { cause } = fault;
  const detail = cause instanceof Error ? cause.message : "";
  if (detail.startsWith(noCredentials)) return { kind: "credentials", message: `${detail}; ${credentialsHint}` };
  if (!detail.startsWith("provider answered")) {
    if (/in time/.test(detail)) return { kind: "timeout", message: `${host}: ${detail}` };
    return { kind: "answer", message: `${host} sent an answer that cannot be read: ${detail || fault.message}` };
  }
  const status = fault.attemptStatus;
  const words = explained.has(status) ? `${detail}: ${fault.message}` : detail;
  const hint = hints[status]?.(model);
  return { kind: "refused", status, message: hint === undefined ? words : `${words}; ${hint}` };
}

const credentialsHint = "`check-config` says which identity is used here";

/** HTTP statuses with which the fault contains the provider's own message. */
const explained: ReadonlySet<number> = new Set([400, 413, 422]);

const hints: Readonly<Record<number, (model: string) => string>> = {
  400: () => "the provider takes no such request: is `dialect` the right one?",
  401: () => "the key is not valid there: check `api_keys` and the variables that they name, or the identity",
  402: () => "the account has no credit",
  403: (model) => `the key may not use ${model}, or the account may not`,
  404: (model) => `it knows no model ${model}, or \`base_url\` is not right`,
  429: () => "the rate limit or the quota of the account is used up",
};

const outdated = "the provider's certificate is not valid now: is the clock of this machine right?";
const tlsHints: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: outdated,
  CERT_NOT_YET_VALID: outdated,
  ERR_TLS_CERT_ALTNAME_INVALID: "the provider's certificate names other hosts: check `base_url`",
};
const otherTlsHint = "is it the right host and port? NODE_EXTRA_CA_CERTS names further certificates to trust";

function networkCause(code: string, host: string): Cause | undefined {
  if (isDnsCode(code)) {
    return {
      kind: "dns",
      message: `${host} has no address (${code}): check \`base_url\`, and the DNS of this machine`,
    };
  }
  if (isTlsCode(code)) {
    return { kind: "tls", message: `${host}: TLS failed (${code}): ${tlsHints[code] ?? otherTlsHint}` };
  }
  if (isTimeoutCode(code)) {
    return {
      kind: "timeout",
      message: `${host} did not accept the connection in time: is there a firewall or a proxy?`,
    };
  }
  if (isConnectionCode(code)) {
    return { kind: "connection", message: `${host}: ${code}: does a server listen there?` };
  }
  return undefined;
}
