/**
 * Entry point of gateway and inference-svc in one process, in which they exchange messages without sockets. They serve the same ports as two
 * processes would, and keep their own log lines, metrics and probes.
 */
import { environment as gatewayEnvironment } from "@sluice/gateway/config.js";
import { openService as openGateway } from "@sluice/gateway/service.js";
import { warmUp } from "@sluice/gateway/warm-up/warm-up.js";
import { environment as inferenceEnvironment } from "@sluice/inference-svc/assembly/config.js";
import { openService as openInference } from "@sluice/inference-svc/assembly/service.js";
import { openWarmUpService } from "@sluice/inference-svc/assembly/warm-up/service.js";
import { endOnConfigError, readEnvironment, withRandomServiceToken } from "@sluice/proto/lib/process/environment.js";
import { openSecondService, openProcess } from "@sluice/proto/lib/process/process-parts.js";
import { logUncaughtErrors } from "@sluice/proto/lib/process/uncaught.js";
import { warmBeforeReady } from "@sluice/proto/lib/warm-up/before-ready.js";
import { join } from "node:path";

/** Environment of a service in this process. SLUICE_TLS_DIR contains one folder of certificates for each service. */
function environmentOf(room: string): NodeJS.ProcessEnv {
  const { SLUICE_TLS_DIR: folder } = process.env;
  return withRandomServiceToken(folder ? { ...process.env, SLUICE_TLS_DIR: join(folder, room) } : process.env);
}

endOnConfigError("gateway");
const settings = readEnvironment(gatewayEnvironment, environmentOf("gateway"));
const inferenceSettings = readEnvironment(inferenceEnvironment, environmentOf("inference-svc"));
const parts = await openProcess("gateway", settings, 0.5);
const { lifecycle, log, registry } = parts;
// The gateway opens first because services drain in the order of their opening: it must answer its clients before inference-svc stops.
const gateway = await openGateway(settings, parts, (listener) => inference.connectHere(listener));
const inference = await openInference(
  inferenceSettings,
  await openSecondService(parts, "inference-svc", inferenceSettings),
);
const openPeer = () => openWarmUpService(inferenceSettings);
// Most of the warm-up runs while admin-svc starts.
await Promise.all([
  inference.connect(),
  gateway.connect(),
  warmBeforeReady(settings.SLUICE_WARM_UP_MS, log, (limitMs) => warmUp(settings, limitMs, openPeer)),
]);
logUncaughtErrors(log, registry);
lifecycle.started();
inference.begin();
gateway.begin();
