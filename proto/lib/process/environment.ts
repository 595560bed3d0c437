/** Reads the settings of a process from environment variables, as a frozen object, or reports all problems at once. */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { readRedisAddress, redisAddressRule } from "../redis/address.ts";

/** Error that lists every problem of a configuration, one per line, each with its variable or path. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];
  constructor(source: string, problems: readonly string[]) {
    super(`${source}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/**
 * Makes the process print only the problems of an invalid configuration and exit: an operator would overlook them below
 * a stack trace.
 */
export function endOnConfigError(room: string): void {
  process.on("uncaughtExceptionMonitor", (error) => {
    if (!(error instanceof ConfigError)) return;
    process.stderr.write(`${room}: ${error.message}\n`);
    process.exit(1);
  });
}

/** The problems of a zod error, each with its path. */
export const zodProblems = (error: z.ZodError): string[] =>
  error.issues.map((issue) => `${issue.path.join(".") || "(root)"}: ${issue.message}`);

/** Reads the environment variables of a schema. An empty variable counts as unset. */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): Readonly<z.infer<Schema>> {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const result = schema.safeParse(set, { error: ({ input }) => (input === undefined ? "is not set" : undefined) });
  if (!result.success) throw new ConfigError("environment", zodProblems(result.error));
  return Object.freeze(result.data);
}

/** Checks a value against a schema. @param source beginning of the error text */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  source: string,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new ConfigError(source, zodProblems(result.error));
  return result.data;
}

const portRule = "must be a port, 0 to 65535";

/** A TCP port. @param fallback used when the variable is unset */
export const port = (fallback: number) =>
  z.coerce.number(portRule).int(portRule).min(0, portRule).max(65535, portRule).default(fallback);

/** A TCP port, or unset for none. */
export const optionalPort = z.coerce.number().int().min(0).max(65535).optional();

const hostRule = "must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them";

/** Address on which client connections are accepted. */
export const host = z.union([z.ipv4(), z.ipv6(), z.literal("localhost")], hostRule);

/**
 * Address on which all other connections are accepted. IPv6 addresses are excluded, because lists of service addresses
 * cannot contain them.
 */
export const internalHost = z.union([z.ipv4(), z.literal("::"), z.literal("localhost")], hostRule);

/** A duration in milliseconds. @param fallback used when the variable is unset */
export const milliseconds = (fallback: number) => z.coerce.number().int().min(0).max(3_600_000).default(fallback);

/** Maximum milliseconds for warm-up requests before a process is ready; 0 turns the warm-up off. */
export const warmUpMs = milliseconds(1_500);

/** A secret of at least 32 characters, so it cannot be guessed; 256 bits in hexadecimal have 64. */
export const secret = z.string().min(32, "at least 32 characters");

const addressRule = "host:port, several separated by commas";
const hasPort = (address: string): boolean => Number(address.split(":")[1]) <= 65_535;

/** Addresses of the form `host:port`, separated by commas. */
export const addresses = z
  .string()
  .transform((text) => text.split(",").map((part) => part.trim()))
  .pipe(
    z
      .array(
        z
          .string()
          .regex(/^[^\s:]+:\d+$/, addressRule)
          .refine(hasPort, addressRule),
      )
      .min(1),
  );

/** Address of Redis, with which processes share rate limits; without it, each process counts only its own requests. */
export const redisUrl = z
  .string()
  .refine((url) => readRedisAddress(url) !== undefined, redisAddressRule)
  .optional();

/** Environment variables of every service. */
export const commonEnvironment = {
  SLUICE_SERVICE_TOKEN: secret,
  /**
   * Path of a file that replaces SLUICE_SERVICE_TOKEN; it contains one or two tokens, and is read again when it
   * changes.
   */
  SLUICE_SERVICE_TOKEN_FILE: z.string().optional(),
  /** Path of a folder with tls.crt, tls.key and ca.crt, with which services authenticate each other. */
  SLUICE_TLS_DIR: z.string().optional(),
  /** Address for internal connections; when unset, all addresses of the machine, as in images. */
  SLUICE_INTERNAL_HOST: internalHost.optional(),
  SLUICE_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  SLUICE_DRAIN_DELAY_MS: milliseconds(5_000),
  SLUICE_DRAIN_LIMIT_MS: milliseconds(310_000),
};

/**
 * Adds a random service token when certificates or a token file replace it. Nobody knows the random token, and a token
 * file takes precedence over it.
 */
export function withRandomServiceToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isGivenOtherwise = environment["SLUICE_TLS_DIR"] || environment["SLUICE_SERVICE_TOKEN_FILE"];
  if (!isGivenOtherwise || environment["SLUICE_SERVICE_TOKEN"]) return environment;
  return { ...environment, SLUICE_SERVICE_TOKEN: randomBytes(32).toString("hex") };
}
