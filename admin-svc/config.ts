/** Environment variables of admin-svc. */
import { commonEnvironment, port } from "@sluice/proto/lib/process/environment.js";
import { KeyKind, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { z } from "zod";

const keyOf = (kind: KeyKind, prefix: string) =>
  z
    .string()
    .refine((key) => kindOfKey(key) === kind, `not a key of the form ${prefix}...: make one with \`keys mint\``);

/** The driver pg accepts every scheme, and reads a text without a scheme as a database on a host called base. */
export const isDatabaseUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text);

export const noDatabaseUrl = "must be postgres://user:password@host:port/database";

export const environment = z.object({
  ...commonEnvironment,
  DATABASE_URL: z.string("required: postgres://user:password@host:port/database").refine(isDatabaseUrl, noDatabaseUrl),
  /** Address of a standby server of the same database, for reports. */
  DATABASE_READ_URL: z.string().refine(isDatabaseUrl, noDatabaseUrl).optional(),
  /**
   * Path of the configuration file. admin-svc reads only its sections on sinks; without the file there are no sinks.
   */
  SLUICE_CONFIG: z.string().optional(),
  SLUICE_ADMIN_PORT: port(8082),
  SLUICE_ADMIN_HEALTH_PORT: port(9082),
  SLUICE_BOOTSTRAP_MANAGEMENT_KEY: keyOf(KeyKind.MANAGEMENT, "mk-sl-").optional(),
  SLUICE_BOOTSTRAP_API_KEY: keyOf(KeyKind.INFERENCE, "sk-sl-").optional(),
});

export type Settings = Readonly<z.infer<typeof environment>>;
