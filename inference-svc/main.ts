/** Entry point of inference-svc. */
import { endOnConfigError, readEnvironment, withOwnToken } from "@sluice/proto/runtime/config.js";
import { type LeftOut, type LoadedHouse, loadHouse } from "@sluice/proto/runtime/house-file.js";
import { LiveFile } from "@sluice/proto/runtime/house/live.js";
import { readSeed } from "@sluice/proto/runtime/house/seed.js";
import { serveProbes } from "@sluice/proto/runtime/probes.js";
import { openProcess } from "@sluice/proto/runtime/process-parts.js";
import { outliveErrors } from "@sluice/proto/runtime/uncaught.js";
import { warmBeforeReady } from "@sluice/proto/runtime/warm-up/before-ready.js";
import { environment } from "./config.ts";
import { openInference } from "./inference.ts";
import { warmUp } from "./warm-up/warm-up.ts";
import { leaveOutBroken, loadSdkPackages } from "./upstream/ai-sdk/load.ts";

endOnConfigError("inference-svc");
const settings = readEnvironment(environment, withOwnToken(process.env));
const parts = await openProcess("inference-svc", settings);
const { lifecycle, log, registry, tracing } = parts;
// Relative to inference-svc/dist/main.js, which this file becomes.
const seedFile = new URL("../catalog/seed.json", import.meta.url);
const liveFile = new LiveFile({
  path: settings.SLUICE_CONFIG,
  load: () => loadHouse(settings.SLUICE_CONFIG, process.env, readSeed(seedFile)),
  files: ({ files }) => files,
  log,
  registry,
});
const packages = await loadSdkPackages(liveFile.current.file.providers, settings.SLUICE_PACKAGES_DIR);
const usable = (loaded: LoadedHouse) => leaveOutBroken(loaded, packages, settings.SLUICE_CONFIG);
const atStart = usable(liveFile.current);
const isBroken = ({ problem }: LeftOut) => problem !== undefined;
const broken = atStart.leftOut.filter(isBroken);
const unset = atStart.leftOut.filter((left) => !isBroken(left));
if (unset.length > 0) log.info({ left_out: unset }, "providers are left out: their environment variables are not set");
if (broken.length > 0) log.warn({ left_out: broken }, "providers are left out: their packages cannot be loaded");

const { file } = atStart;
const { server, access, config, runtime, pressure, learned } = await openInference({
  ...parts,
  settings,
  file,
  packages,
});
const probes = { port: settings.SLUICE_INFERENCE_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
await serveProbes(probes, lifecycle, registry);
// Most of the warm-up passes while admin-svc starts.
await Promise.all([
  access.watch(),
  warmBeforeReady(settings.SLUICE_WARM_UP_MS, log, (limitMs) => warmUp(settings, limitMs)),
]);
pressure.start();
void learned.refresh();

liveFile.watch((loaded) => {
  const { file, leftOut: left } = usable(loaded);
  runtime.replace(file);
  void learned.refresh();
  log.info(
    { models: file.models.length, providers: file.providers.map(({ id }) => id), left_out: left },
    "the changed configuration file is in force; ports, secrets and environment variables are read only at the start",
  );
});

lifecycle.onDrain(() => tracing?.close());
outliveErrors(log, registry);
lifecycle.started();
log.info({ port: server.port, http_port: server.http1Port, models: config.catalog.models.length }, "ready");
