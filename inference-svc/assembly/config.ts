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
  /** Folder for AI SDK packages, installed by the operator: the prefix of `npm install`. */
  SLUICE_PACKAGES_DIR: z.string().optional(),
  SLUICE_WARM_UP_MS: warmUpMs,
  REDIS_URL: redisUrl,
  SLUICE_SECRET: secret,
  SLUICE_REGION: z.string().default("local"),
  /** Folder for usage records until their delivery to admin-svc; each process needs its own folder. */
  SLUICE_SPOOL_DIR: z.string(),
});

export type Settings = Readonly<z.infer<typeof environment>>;
