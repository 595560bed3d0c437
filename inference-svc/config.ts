/** Environment of inference-svc. */
import { addresses, commonEnvironment, optionalPort, port, redisUrl, secret } from "@sluice/proto/runtime/config.js";
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
  REDIS_URL: redisUrl,
  SLUICE_SECRET: secret,
  SLUICE_REGION: z.string().default("local"),
  /** Where usage records wait until admin-svc has them; of this process alone. */
  SLUICE_SPOOL_DIR: z.string(),
});
