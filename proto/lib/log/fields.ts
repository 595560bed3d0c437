/** The complete list of fields of log lines. Prompts, answers, keys and end users have no field, so none can be logged by mistake. */

/** Fields of a log line. Times are in milliseconds. */
export interface LogFields {
  /** A thrown value in the form of log/error.ts. */
  readonly err?: unknown;
  readonly request_id?: string;
  /** The client's own request id, when it is well-formed. */
  readonly client_request_id?: string | undefined;
  readonly trace_id?: string | undefined;
  /** Address of the client, only where `log_client_addresses` is on. */
  readonly address?: string | undefined;
  /** SHA-256 of the key, also used to address it. */
  readonly key_hash?: string;
  /** The model name from the client, cut to a maximum length. */
  readonly model?: string | undefined;
  readonly provider?: string;
  readonly route?: string | undefined;
  readonly method?: string;
  /** The client's API format. */
  readonly door?: string;
  readonly stream?: boolean;
  readonly status?: number;
  /** The nearly exhausted budget: key or workspace. */
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
  /** Cause of a hindrance. */
  readonly cause?: string;
  /** Whether a hindered process still does its work. */
  readonly partial?: boolean;
  readonly problems?: readonly string[];
  /** Index of a provider's key in the configuration file. */
  readonly key?: number;
  readonly rests_ms?: number;
  /** The key without its middle, as in lists. */
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
  /** Work on records stored before an upgrade. */
  readonly backfill?: string;
  /** Progress of the backfill. */
  readonly reached?: string;
  /** A day of the ledger, in UTC. */
  readonly day?: string;
  /** The beginning of an hour of the ledger, in UTC. */
  readonly hour?: string;
  /** The reader that still needs the turns of a day: sums or exports. */
  readonly held_by?: string;
  /** Removed records. */
  readonly removed?: Readonly<Record<string, number>>;
  /** Time of the first change of the policy that a restored database lacks. */
  readonly restored_to?: string;
  /** Number of changes of the policy that a restored database lacks. */
  readonly void_changes?: number;
  /** SHA-256 of the keys that these changes name. */
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
  /** Number of log lines. */
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
  /** Opens a log for lines written for every request. @param message of each line */
  lines(message: string): LineLog;
}

/** Log lines of one kind. */
export interface LineLog {
  /** @param members JSON members, each with a comma before it, as built by `logMember` */
  info(members: string): void;
  error(members: string, cause: unknown): void;
}
