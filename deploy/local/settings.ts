/** Settings of the operator for Sluice on this machine; everything has a default. */
import { availableParallelism } from "node:os";
import { host, internalHost, milliseconds, readEnvironment, secret } from "@sluice/proto/lib/process/environment.js";
import { KeyKind, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { z } from "zod";
import { configPath, dataPath, isCheckout, packagesPath, program } from "./places.ts";
import { type Replicas, chooseReplicas } from "./replicas.ts";

const portRule = "must be a port, 1 to 65535";
const port = z.coerce.number(portRule).int(portRule).min(1, portRule).max(65_535, portRule);
const fixedPort = (fallback: number) => port.default(fallback);

const key = (kind: KeyKind) =>
  z.string().refine((text) => kindOfKey(text) === kind, {
    message: `not ${kind === KeyKind.MANAGEMENT ? "a management" : "an inference"} key; ${program.call} keys mint prints a valid one`,
  });

const databaseUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: "must be postgres://user:password@host:port/database",
});

const schema = z.object({
  SLUICE_HOST: host.optional(),
  SLUICE_INTERNAL_HOST: internalHost.default("127.0.0.1"),
  SLUICE_PORT: fixedPort(8080),
  SLUICE_INFERENCE_PORT: fixedPort(8081),
  SLUICE_INFERENCE_HTTP_PORT: port.optional(),
  SLUICE_ADMIN_PORT: fixedPort(8082),
  SLUICE_POSTGRES_PORT: fixedPort(8083),
  SLUICE_GATEWAY_HEALTH_PORT: fixedPort(9080),
  SLUICE_INFERENCE_HEALTH_PORT: fixedPort(9081),
  SLUICE_ADMIN_HEALTH_PORT: fixedPort(9082),
  /** Number of inference processes; with 0, inference-svc runs in the process of the gateway. */
  SLUICE_INFERENCE_REPLICAS: z.coerce.number().int().min(0).max(32).optional(),
  /** Whether the built-in model is served, unless the configuration file decides. */
  SLUICE_ECHO: z.enum(["true", "false"]).default("true"),
  SLUICE_DATA_DIR: z.string().optional(),
  SLUICE_CONFIG: z.string().optional(),
  SLUICE_PACKAGES_DIR: z.string().optional(),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_READ_URL: databaseUrl.optional(),
  SLUICE_BOOTSTRAP_MANAGEMENT_KEY: key(KeyKind.MANAGEMENT).optional(),
  SLUICE_BOOTSTRAP_API_KEY: key(KeyKind.INFERENCE).optional(),
  SLUICE_SERVICE_TOKEN: secret.optional(),
  SLUICE_SECRET: secret.optional(),
  /** A folder with one folder of certificates for each service, named like the service. */
  SLUICE_TLS_DIR: z.string().optional(),
  // Delay before a drain in milliseconds: on a single machine, no load balancer needs time to notice the drain.
  SLUICE_DRAIN_DELAY_MS: milliseconds(0),
  SLUICE_DRAIN_LIMIT_MS: milliseconds(310_000),
});

/** Names of all settings of this file. */
export const settingNames: readonly string[] = Object.keys(schema.shape);

export interface Settings extends Readonly<z.infer<typeof schema>> {
  readonly dataDir: string;
  readonly config: string;
  /** Folder given to `npm install --prefix` for packages named in the configuration file. */
  readonly packagesDir: string;
  readonly replicas: Replicas;
}

export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const settings = readEnvironment(schema, environment);
  return {
    ...settings,
    dataDir: dataPath(settings.SLUICE_DATA_DIR),
    config: configPath(settings.SLUICE_CONFIG),
    packagesDir: packagesPath(settings),
    replicas: chooseReplicas(settings.SLUICE_INFERENCE_REPLICAS, availableParallelism(), isCheckout),
  };
}
