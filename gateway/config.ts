/** Environment of the gateway. */
import { addresses, commonEnvironment, port, redisUrl } from "@sluice/proto/runtime/config.js";
import { z } from "zod";

export const environment = z.object({
  ...commonEnvironment,
  SLUICE_PORT: port(8080),
  SLUICE_GATEWAY_HEALTH_PORT: port(9080),
  SLUICE_INFERENCE_ADDRESSES: addresses,
  SLUICE_ADMIN_ADDRESS: addresses,
  SLUICE_CONFIG: z.string(),
  REDIS_URL: redisUrl,
});
