/** Entry point of inference-svc. */
import { endOnConfigError, readEnvironment, withRandomServiceToken } from "@sluice/proto/lib/process/environment.js";
import { openProcess } from "@sluice/proto/lib/process/process-parts.js";
import { logUncaughtErrors } from "@sluice/proto/lib/process/uncaught.js";
import { warmBeforeReady } from "@sluice/proto/lib/warm-up/before-ready.js";
import { environment } from "./assembly/config.ts";
import { openService } from "./assembly/service.ts";
import { warmUp } from "./assembly/warm-up/warm-up.ts";

endOnConfigError("inference-svc");
const settings = readEnvironment(environment, withRandomServiceToken(process.env));
const parts = await openProcess("inference-svc", settings);
const { lifecycle, log, registry } = parts;
const service = await openService(settings, parts);
// Most of the warm-up runs while admin-svc starts.
await Promise.all([
  service.connect(),
  warmBeforeReady(settings.SLUICE_WARM_UP_MS, log, (limitMs) => warmUp(settings, limitMs)),
]);
logUncaughtErrors(log, registry);
lifecycle.started();
service.begin();
