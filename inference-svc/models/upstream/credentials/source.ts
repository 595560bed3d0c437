/** Sources of credentials: fixed in the configuration, or issued by a cloud for a limited time. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { abortFault, throwIfAborted } from "../../../turn/abort.ts";
import type { Scope } from "../../../turn/scope.ts";
import { withoutCredentials, providerTimeout, sanitizeMessage } from "../failure.ts";

/** How long a request can wait for credentials: until it is aborted, or until another endpoint should be tried. */
export type CredentialWait = Pick<Scope, "signal" | "attempt">;

export interface CredentialSource<Credential> {
  /** Gets credentials. @throws Fault when there are none in time */
  take(patience: CredentialWait): Promise<Credential>;
  /** Called when a provider has refused the credentials. */
  refused(credential: Credential): void;
  /** Whether the next request would get the same credentials. */
  isCurrent(credential: Credential): boolean;
}

/** @param credential credentials from the configuration; they stay until the file changes */
export const fixedCredential = <Credential>(credential: Credential): CredentialSource<Credential> => ({
  take: () => Promise.resolve(credential),
  refused: () => {},
  isCurrent: () => true,
});

export interface IssuedCredential<Credential> {
  readonly credential: Credential;
  /** Time of expiry in milliseconds since 1970; undefined for credentials without one. */
  readonly expiresAtMs: number | undefined;
}

export interface RenewalDeps {
  /** Id of the provider. */
  readonly provider: string;
  readonly log: Pick<Logger, "error">;
  /** Returns the time in milliseconds since 1970, for the expiry of credentials. */
  readonly now?: () => number;
}

/**
 * Maximum milliseconds for issuing credentials. Libraries of clouds repeat failed calls; after this time, another
 * endpoint serves the request better.
 */
const issueLimitMs = 10_000;
/** Milliseconds before their expiry at which credentials are renewed; for a shorter lifetime, its last fifth. */
const maxAheadMs = 300_000;
const aheadShare = 0.2;
/**
 * Milliseconds after a failure in which credentials are not requested again, so not every request calls a token service
 * that has problems.
 */
const retryMs = 5_000;
/** Milliseconds after a refusal in which a second one renews nothing: a provider that refuses new credentials as well has another reason. */
const refusalMs = 60_000;

/** Credentials issued on demand and kept until shortly before their expiry. However many requests wait, they are renewed once. */
export class RenewedCredentials<Credential> implements CredentialSource<Credential> {
  readonly #issue: () => Promise<IssuedCredential<Credential>>;
  readonly #deps: Required<RenewalDeps>;
  #issued: (IssuedCredential<Credential> & { readonly renewAtMs: number }) | undefined;
  #renewal: Promise<Credential> | undefined;
  #failure: { readonly detail: string; readonly untilMs: number } | undefined;
  #refusalsCountFromMs = Number.NEGATIVE_INFINITY;

  /** @param issue requests credentials from the cloud, and keeps none */
  constructor(issue: () => Promise<IssuedCredential<Credential>>, deps: RenewalDeps) {
    this.#issue = issue;
    this.#deps = { now: Date.now, ...deps };
  }

  async take(patience: CredentialWait): Promise<Credential> {
    throwIfAborted(patience.signal);
    const now = this.#deps.now();
    const issued = this.#issued;
    if (issued === undefined || now >= (issued.expiresAtMs ?? now + 1)) return inTime(this.#renewed(now), patience);
    // A failed renewal in the background is ignored here, because it is already logged.
    if (now >= issued.renewAtMs && !this.#rests(now)) this.#renewed(now).catch(() => {});
    return issued.credential;
  }

  refused(credential: Credential): void {
    const now = this.#deps.now();
    if (!this.isCurrent(credential) || now < this.#refusalsCountFromMs) return;
    this.#issued = undefined;
    this.#refusalsCountFromMs = now + refusalMs;
  }

  isCurrent(credential: Credential): boolean {
    return this.#issued?.credential === credential;
  }

  #rests = (now: number): boolean => this.#failure !== undefined && now < this.#failure.untilMs;

  async #renewed(now: number): Promise<Credential> {
    if (this.#failure && this.#rests(now)) throw withoutCredentials(this.#failure.detail);
    this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  async #renew(): Promise<Credential> {
    const { now, provider, log } = this.#deps;
    try {
      const issued = await withinLimit(this.#issue());
      const leftMs = (issued.expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
      this.#failure = undefined;
      this.#issued = { ...issued, renewAtMs: now() + leftMs - Math.min(maxAheadMs, leftMs * aheadShare) };
      return issued.credential;
    } catch (error) {
      // The error itself may contain requests with secrets, so only its message is kept.
      const detail = `${noCredentials}${sanitizeMessage((error as Error).message)}`;
      this.#failure = { detail, untilMs: now() + retryMs };
      log.error({ provider, reason: detail }, "the cloud gave no credentials for a provider");
      throw withoutCredentials(detail);
    }
  }
}

/** First words of a fault's detail when credentials are missing. */
export const noCredentials = "no credentials: ";

/** Waits for the work at most `issueLimitMs`. @throws Error when the cloud takes longer */
function withinLimit<Value>(work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`the cloud did not answer in ${issueLimitMs / 1_000} s`));
    const timer = setTimeout(late, issueLimitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Waits for the work as long as the request has time; other requests may wait for the same work. @throws Fault */
function inTime<Value>(work: Promise<Value>, { signal, attempt: { withinMs } }: CredentialWait): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(abortFault(signal));
    const late = () => reject(providerTimeout("credentials"));
    const timer = Number.isFinite(withinMs) ? setTimeout(late, Math.max(0, withinMs)) : undefined;
    signal.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
