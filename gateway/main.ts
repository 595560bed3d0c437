/** Entry point of the gateway. */
import { endOnConfigError, readEnvironment, withOwnToken } from "@sluice/proto/runtime/config.js";
import { edgeFiles, loadEdge } from "@sluice/proto/runtime/house-file.js";
import { LiveFile } from "@sluice/proto/runtime/house/live.js";
import { serveProbes } from "@sluice/proto/runtime/probes.js";
import { openProcess } from "@sluice/proto/runtime/process-parts.js";
import { outliveErrors } from "@sluice/proto/runtime/uncaught.js";
import { warmBeforeReady } from "@sluice/proto/runtime/warm-up/before-ready.js";
import { environment } from "./config.ts";
import { openGateway } from "./gateway.ts";
import { warmUp } from "./warm-up/warm-up.ts";

endOnConfigError("gateway");
const settings = readEnvironment(environment, withOwnToken(process.env));
const parts = await openProcess("gateway", settings);
const { lifecycle, log, registry, tracing } = parts;
const house = new LiveFile({
  path: settings.SLUICE_CONFIG,
  load: () => loadEdge(settings.SLUICE_CONFIG, process.env),
  files: () => edgeFiles(settings.SLUICE_CONFIG),
  log,
  registry,
});
const { port, access, pool, pressure, change } = await openGateway({ ...parts, settings, house });
const probes = { port: settings.SLUICE_GATEWAY_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
await serveProbes(probes, lifecycle, registry);
const serving = async () => {
  await pool.start();
  await access.watch();
  await pool.greeted();
};
// Most of the warm-up passes while admin-svc and inference-svc start.
await Promise.all([
  serving(),
  warmBeforeReady(settings.SLUICE_WARM_UP_MS, log, (limitMs) => warmUp(settings, limitMs)),
]);
pressure.start();

house.watch((edge) => {
  change(edge);
  log.info("the changed configuration file is in force; ports and secrets stay as they were at the start");
});

lifecycle.onDrain(() => tracing?.close());
outliveErrors(log, registry);
lifecycle.started();
log.info({ port }, "ready");
