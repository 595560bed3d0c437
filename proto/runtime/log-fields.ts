/**
 * What may be logged: these fields, and no others. A prompt, an answer, a key or an end user has no field, so that none can be logged by a slip.
 */

/** Times are milliseconds. */
export interface LogFields {
  /** What was thrown, as log-error.ts shows it. */
  readonly err?: unknown;
  readonly request_id?: string;
  /** The client's own, when it is well-formed. */
  readonly client_request_id?: string | undefined;
  readonly trace_id?: string | undefined;
  /** SHA-256: by what keys are addressed. */
  readonly key_hash?: string;
  /** As the client spells it, cut. */
  readonly model?: string | undefined;
  readonly provider?: string;
  readonly route?: string | undefined;
  readonly method?: string;
  readonly stream?: boolean;
  readonly status?: number;
  /** Why a provider gave no HTTP answer. */
  readonly error?: string | undefined;
  readonly outcome?: string;
  readonly error_type?: string | undefined;
  readonly ms?: number;
  readonly attempts?: unknown;
  readonly usage?: unknown;
  readonly cost_usd?: unknown;
  readonly policy_generation?: number;
  readonly generation?: number | bigint;
  readonly applied?: number | bigint;
  readonly reason?: string | undefined;
  readonly problems?: readonly string[];
  /** Number of a provider's key in the house file. */
  readonly key?: number;
  readonly rests_ms?: number;
  /** What lists and logs show of a key of ours. */
  readonly label?: string;
  readonly kind?: string;
  /** Type of a server tool. */
  readonly tool?: string;
  readonly role?: string | undefined;
  readonly process?: string;
  readonly host?: string;
  readonly port?: number;
  readonly http_port?: number | undefined;
  readonly health_port?: number;
  readonly models?: number;
  readonly providers?: readonly string[];
  readonly left_out?: readonly object[];
  readonly file?: string;
  readonly offset?: number;
  readonly call?: string;
  readonly calls?: number;
  readonly name?: string | undefined;
  readonly expires_at?: Date;
  readonly signal?: string;
  readonly limit_ms?: number;
  readonly late?: boolean;
  readonly waiting?: boolean;
  readonly scarce?: boolean;
}

interface Write {
  (fields: LogFields, message: string): void;
  (message: string): void;
}

export interface Logger {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}
