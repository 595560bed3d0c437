/**
 * The complete list of fields of log lines. There is none for prompts, answers, keys or end users, so none of these can
 * be logged by mistake.
 */

/** Fields of a log line. Times are in milliseconds. */
export interface LogFields {
  /** A thrown value, logged as log/error.ts describes. */
  readonly err?: unknown;
  readonly request_id?: string;
  /** Request id that the client sent, when it is well-formed. */
  readonly client_request_id?: string | undefined;
  readonly trace_id?: string | undefined;
  /** Network address of the client, only if `log_client_addresses` is enabled. */
  readonly address?: string | undefined;
  /** SHA-256 of the key, under which the key is also addressed. */
  readonly key_hash?: string;
  /** Name of the model as the client sent it, cut to a maximum length. */
  readonly model?: string | undefined;
  readonly provider?: string;
  readonly route?: string | undefined;
  readonly method?: string;
  /** API format of the client. */
  readonly door?: string;
  readonly stream?: boolean;
  readonly status?: number;
  /** Scope of the nearly exhausted budget: key or workspace. */
  readonly budget?: string;
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
  /** The hindrance that stops or slows down the process. */
  readonly cause?: string;
  /** Whether a hindered process still works. */
  readonly partial?: boolean;
  readonly problems?: readonly string[];
  /** Index of a provider's key in the configuration file. */
  readonly key?: number;
  readonly rests_ms?: number;
  /** The key without its middle, as lists show it. */
  readonly label?: string;
  readonly kind?: string;
  /** Search engine by its id in the configuration file. */
  readonly engine?: string;
  /** Vector store by its name in the configuration file. */
  readonly store?: string;
  /** Type of a server tool. */
  readonly tool?: string;
  /** Name of an entry of `alerts` or `exports`. */
  readonly sink?: string;
  /** Id of an alert. */
  readonly alert?: string;
  /** Name of a conversion of older records after an upgrade. */
  readonly backfill?: string;
  /** How far the conversion has come. */
  readonly reached?: string;
  /** A day of the ledger, in UTC. */
  readonly day?: string;
  /** The beginning of an hour of the ledger, in UTC. */
  readonly hour?: string;
  /** What still needs the turns of a day: sums or exports. */
  readonly held_by?: string;
  /** Numbers of removed records, by kind. */
  readonly removed?: Readonly<Record<string, number>>;
  /** Time of the first policy change that a restored database lacks. */
  readonly restored_to?: string;
  /** Number of policy changes that a restored database lacks. */
  readonly void_changes?: number;
  /** SHA-256 of the keys in these policy changes. */
  readonly void_keys?: readonly string[];
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
  /** Number of lost log lines. */
  readonly lines?: number;
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
  /** Opens a log for lines that are written for every request. @param message text of all its lines */
  lines(message: string): LineLog;
}

/** Writes log lines of one kind. */
export interface LineLog {
  /** @param members JSON members, each with a comma before it, as built by `logMember` */
  info(members: string): void;
  error(members: string, cause: unknown): void;
}
