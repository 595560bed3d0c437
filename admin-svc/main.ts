/** Entry point of admin-svc. */
import { readEnvironment, withRandomServiceToken } from "@sluice/proto/lib/process/environment.js";
import { LiveFile } from "@sluice/proto/config/live.js";
import { type LoadedSinks, loadSinks } from "@sluice/proto/config/sinks/sinks.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { serveProbes } from "@sluice/proto/lib/process/probes.js";
import { openProcess } from "@sluice/proto/lib/process/process-parts.js";
import type { AddressInfo } from "node:net";
import { openAdmin } from "./admin.ts";
import { type Settings, environment } from "./config.ts";

async function main(settings: Settings): Promise<void> {
  const { instance, token, certificates, lifecycle, log, registry, tracing } = await openProcess("admin-svc", settings);
  const {
    DATABASE_URL: databaseUrl,
    DATABASE_READ_URL: replicaUrl,
    SLUICE_ADMIN_PORT: listenPort,
    SLUICE_ADMIN_HEALTH_PORT: healthPort,
    SLUICE_INTERNAL_HOST: host,
    SLUICE_BOOTSTRAP_MANAGEMENT_KEY: managementKey,
    SLUICE_BOOTSTRAP_API_KEY: apiKey,
  } = settings;
  const probes = await serveProbes({ port: healthPort, host }, lifecycle, registry);
  const file = watchSinks(settings.SLUICE_CONFIG, log, registry);
  const { port } = await openAdmin({
    databaseUrl,
    replicaUrl,
    port: listenPort,
    host,
    bootstrapKeys: [managementKey, apiKey].filter((key) => key !== undefined),
    serviceToken: token,
    lifecycle,
    log,
    registry,
    tls: certificates && { certificates, clients: ["gateway", "inference-svc"], token },
    tracing,
    sinks: file && (() => file.current.settings),
    configRefusal: () => file?.findRefusal(`admin-svc/${instance}`),
  });
  lifecycle.onDrain(() => tracing?.close());
  log.info({ port, health_port: (probes.address() as AddressInfo).port }, "ready");
}

/** Watches the configuration file for the settings of sinks. @returns undefined without a configuration file */
function watchSinks(path: string | undefined, log: Logger, registry: Registry): LiveFile<LoadedSinks> | undefined {
  if (path === undefined) return undefined;
  const load = () => loadSinks(path, process.env);
  const file = new LiveFile({ path, load, files: (loaded) => loaded.files, log, registry });
  file.watch(() => log.info("the changed configuration file is in force"));
  return file;
}

try {
  await main(readEnvironment(environment, withRandomServiceToken(process.env)));
} catch (error) {
  process.stderr.write(`admin-svc: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
