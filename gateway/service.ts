/** Opens the gateway of a process by its environment variables and the configuration file. */
import { edgeFiles, loadEdge } from "@sluice/proto/config/config-file.js";
import { LiveFile } from "@sluice/proto/config/live.js";
import { serveProbes } from "@sluice/proto/lib/process/probes.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import type { Settings } from "./config.ts";
import { openGateway } from "./gateway.ts";

export interface OpenedGateway {
  /** Resolves once the policy watch has begun and an inference process has sent its hello. */
  connect(): Promise<void>;
  /** Begins to serve. Call it once, when the process is ready. */
  begin(): void;
}

/** Opens the gateway, which listens at once. @param connectHere opens sessions with an inference service in this process, if there is one */
export async function openService(
  settings: Settings,
  parts: ProcessDeps,
  connectHere?: Connect,
): Promise<OpenedGateway> {
  const { lifecycle, log, registry, tracing } = parts;
  const config = new LiveFile({
    path: settings.SLUICE_CONFIG,
    load: () => loadEdge(settings.SLUICE_CONFIG, process.env),
    files: () => edgeFiles(settings.SLUICE_CONFIG),
    log,
    registry,
  });
  const configRefusal = () => config.findRefusal(`gateway/${parts.instance}`);
  const opened = await openGateway({ ...parts, settings, config, configRefusal, connectHere });
  const { port, access, pool, pressure, change } = opened;
  const probes = { port: settings.SLUICE_GATEWAY_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
  await serveProbes(probes, lifecycle, registry);
  lifecycle.onDrain(() => tracing?.close());
  return {
    async connect() {
      await pool.start();
      await access.watch();
      await pool.greeted();
    },
    begin() {
      pressure.start();
      config.watch((edge) => {
        change(edge);
        log.info("the changed configuration file is in force; ports and secrets stay as they were at the start");
      });
      log.info({ port }, "ready");
    },
  };
}
