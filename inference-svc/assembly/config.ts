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
  /** Folder with the AI SDK packages the operator installed there by `npm install --prefix`. */
  SLUICE_PACKAGES_DIR: z.string().optional(),
  SLUICE_WARM_UP_MS: warmUpMs,
  REDIS_URL: redisUrl,
  SLUICE_SECRET: secret,
  SLUICE_REGION: z.string().default("local"),
  /** Folder for usage records until their delivery to admin-svc; each process needs its own folder. */
  SLUICE_SPOOL_DIR: z.string(),
  /** Hours for which delivered usage records are kept in the spool folder; 0 removes them at once. */
  SLUICE_SPOOL_KEEP_HOURS: z.coerce.number().int().min(0).max(720).default(24),
  /** Maximum size of the kept usage records in MiB. */
  SLUICE_SPOOL_KEEP_MIB: z.coerce.number().int().min(1).max(1_048_576).default(512),
});

export type Settings = Readonly<z.infer<typeof environment>>;
