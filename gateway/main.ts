/** Entry point of the gateway. */
import { endOnConfigError, readEnvironment, withRandomServiceToken } from "@sluice/proto/lib/process/environment.js";
import { openProcess } from "@sluice/proto/lib/process/process-parts.js";
import { logUncaughtErrors } from "@sluice/proto/lib/process/uncaught.js";
import { warmBeforeReady } from "@sluice/proto/lib/warm-up/before-ready.js";
import { environment } from "./config.ts";
import { openService } from "./service.ts";
import { warmUp } from "./warm-up/warm-up.ts";

endOnConfigError("gateway");
const settings = readEnvironment(environment, withRandomServiceToken(process.env));
const parts = await openProcess("gateway", settings);
const { lifecycle, log, registry } = parts;
const service = await openService(settings, parts);
// Most of the warm-up runs while admin-svc and inference-svc start.
await Promise.all([
  service.connect(),
  warmBeforeReady(settings.SLUICE_WARM_UP_MS, log, (limitMs) => warmUp(settings, limitMs)),
]);
logUncaughtErrors(log, registry);
lifecycle.started();
service.begin();
