/** Environment variables of inference-svc. */
import {
  addresses,
  commonEnvironment,
  optionalPort,
  port,
  redisUrl,
  secret,
  warmUpMs,
} from "@sluice/proto/lib/process/environment.js";
import { z } from "zod";

export const environment = z.object({
  ...commonEnvironment,
  SLUICE_INFERENCE_PORT: port(8081),
  SLUICE_INFERENCE_HTTP_PORT: optionalPort,
  SLUICE_INFERENCE_HEALTH_PORT: port(9081),
  SLUICE_ADMIN_ADDRESS: addresses,
  SLUICE_CONFIG: z.string(),
  /** Folder of AI SDK packages that the operator installs: the prefix of `npm install`. */
  SLUICE_PACKAGES_DIR: z.string().optional(),
  SLUICE_WARM_UP_MS: warmUpMs,
  REDIS_URL: redisUrl,
  SLUICE_SECRET: secret,
  SLUICE_REGION: z.string().default("local"),
  /** Folder where usage records wait until admin-svc has them; each process needs its own. */
  SLUICE_SPOOL_DIR: z.string(),
});

export type Settings = Readonly<z.infer<typeof environment>>;
