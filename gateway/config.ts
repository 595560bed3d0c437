/** Environment of the gateway. */
import { addresses, commonEnvironment, host, port, redisUrl, warmUpMs } from "@sluice/proto/lib/process/environment.js";
import { z } from "zod";

export const environment = z.object({
  ...commonEnvironment,
  SLUICE_PORT: port(8080),
  /** Takes precedence over `host` of the configuration file; all addresses of the machine when neither is set. */
  SLUICE_HOST: host.optional(),
  SLUICE_GATEWAY_HEALTH_PORT: port(9080),
  SLUICE_INFERENCE_ADDRESSES: addresses,
  SLUICE_ADMIN_ADDRESS: addresses,
  SLUICE_CONFIG: z.string(),
  /** The link that signs in to the console once. The supervisor sets it when Sluice runs on one's own machine. */
  SLUICE_CONSOLE_LINK: z.string().optional(),
  SLUICE_WARM_UP_MS: warmUpMs,
  REDIS_URL: redisUrl,
});

export type Settings = Readonly<z.infer<typeof environment>>;
