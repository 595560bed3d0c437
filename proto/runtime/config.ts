/** Settings of a process: environment in, frozen object out, all problems at once. */
import { randomBytes } from "node:crypto";
import { z } from "zod";

/** Thrown with every problem found, one a line, each naming the variable or path. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];
  constructor(source: string, problems: readonly string[]) {
    super(`${source}:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/** Ends a process whose settings are wrong with what is wrong alone: behind a stack nobody looks for it. */
export function endOnConfigError(room: string): void {
  process.on("uncaughtExceptionMonitor", (error) => {
    if (!(error instanceof ConfigError)) return;
    process.stderr.write(`${room}: ${error.message}\n`);
    process.exit(1);
  });
}

/** Each with its path. */
export const problemsOf = (error: z.ZodError): string[] =>
  error.issues.map((issue) => `${issue.path.join(".") || "(root)"}: ${issue.message}`);

/** Reads what the schema names. An empty variable counts as unset. */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): Readonly<z.infer<Schema>> {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const result = schema.safeParse(set, { error: ({ input }) => (input === undefined ? "is not set" : undefined) });
  if (!result.success) throw new ConfigError("environment", problemsOf(result.error));
  return Object.freeze(result.data);
}

/** Reads any value by a schema; `source` opens the message. */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  source: string,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new ConfigError(source, problemsOf(result.error));
  return result.data;
}

const portRule = "must be a port, 0 to 65535";

/** A TCP port. */
export const port = (fallback: number) =>
  z.coerce.number(portRule).int(portRule).min(0, portRule).max(65535, portRule).default(fallback);

/** A TCP port on which nothing listens unless it is set. */
export const optionalPort = z.coerce.number().int().min(0).max(65535).optional();

const hostRule = "must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them";

/** Address on which a port for clients listens. */
export const host = z.union([z.ipv4(), z.ipv6(), z.literal("localhost")], hostRule);

/** Address on which the other ports listen. Lists of addresses of services have no form for IPv6 numbers. */
export const internalHost = z.union([z.ipv4(), z.literal("::"), z.literal("localhost")], hostRule);

/** Milliseconds. */
export const milliseconds = (fallback: number) => z.coerce.number().int().min(0).max(3_600_000).default(fallback);

/** 256 bits or more, so that it cannot be guessed; hexadecimal or any other text. */
export const secret = z.string().min(32, "at least 32 characters");

const addressRule = "host:port, several separated by commas";
const hasPort = (address: string): boolean => Number(address.split(":")[1]) <= 65_535;

/** `host:port`, several with commas. */
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

/** Where processes count limits together; without it each counts by itself. */
export const redisUrl = z
  .url({ protocol: /^rediss?$/, error: "must be redis://host:port, or rediss:// with TLS" })
  .optional();

/** What every service reads. */
export const commonEnvironment = {
  SLUICE_SERVICE_TOKEN: secret,
  /** Instead: a file with one or two of them, read again when it changes. */
  SLUICE_SERVICE_TOKEN_FILE: z.string().optional(),
  /** A folder with tls.crt, tls.key and ca.crt: services know each other by certificates. */
  SLUICE_TLS_DIR: z.string().optional(),
  /** All addresses of the machine when it is not set, as in images. */
  SLUICE_INTERNAL_HOST: internalHost.optional(),
  SLUICE_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  SLUICE_DRAIN_DELAY_MS: milliseconds(5_000),
  SLUICE_DRAIN_LIMIT_MS: milliseconds(310_000),
};

/**
 * Where certificates say who calls, a token that nobody was given is never presented: any will do that cannot be guessed. Where a file has
 * it, none of the environment counts.
 */
export function withOwnToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isGivenOtherwise = environment["SLUICE_TLS_DIR"] || environment["SLUICE_SERVICE_TOKEN_FILE"];
  if (!isGivenOtherwise || environment["SLUICE_SERVICE_TOKEN"]) return environment;
  return { ...environment, SLUICE_SERVICE_TOKEN: randomBytes(32).toString("hex") };
}
