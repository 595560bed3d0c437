/** The inference service of a process, by the settings of its environment and the configuration file. */
import { type LeftOut, type LoadedConfig, type ReadConfig, loadConfig } from "@sluice/proto/config/config-file.js";
import { LiveFile } from "@sluice/proto/config/live.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { serveProbes } from "@sluice/proto/lib/process/probes.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import type { Settings } from "./config.ts";
import { openInference } from "./inference.ts";
import { leaveOutBrokenProviders, loadSdkPackages } from "../models/upstream/ai-sdk/load.ts";
import { seedFile } from "./seed-file.ts";

export interface OpenedInference {
  /** Opens a session to a gateway of this process. */
  readonly connectHere: Connect;
  /** Settles when the policy watch has begun. */
  connect(): Promise<void>;
  /** Starts the work after the start; called once, when the process is ready. */
  begin(): void;
}

/** Opens the service. When the promise settles, its ports listen. */
export async function openService(settings: Settings, parts: ProcessDeps): Promise<OpenedInference> {
  const { lifecycle, log, registry, tracing } = parts;
  const liveFile = new LiveFile({
    path: settings.SLUICE_CONFIG,
    load: () => loadConfig(settings.SLUICE_CONFIG, process.env, readSeed(seedFile)),
    files: ({ files }) => files,
    log,
    registry,
  });
  const packages = await loadSdkPackages(liveFile.current.file.providers, settings.SLUICE_PACKAGES_DIR);
  const usable = (loaded: LoadedConfig) => leaveOutBrokenProviders(loaded, packages, settings.SLUICE_CONFIG);
  const { file, leftOut } = usable(liveFile.current);
  logLeftOut(leftOut, log);
  let leftOutNow = leftOut;
  const configRefusal = () => liveFile.findRefusal(`inference-svc/${parts.instance}`);
  const opened = await openInference({
    ...parts,
    settings,
    file,
    read: liveFile.current,
    configRefusal,
    leftOut: () => leftOutNow,
    packages,
  });
  const { server, connectHere, access, config, runtime, pressure, learned, stored } = opened;
  const probes = { port: settings.SLUICE_INFERENCE_HEALTH_PORT, host: settings.SLUICE_INTERNAL_HOST };
  await serveProbes(probes, lifecycle, registry);
  lifecycle.onDrain(() => tracing?.close());
  stored.onChange((combined) => {
    const { file: changed, leftOut: left } = usable(combined);
    runtime.replace(changed);
    leftOutNow = left;
    void learned.refresh();
  });
  access.onProviders(() => stored.read());
  const change = (loaded: ReadConfig) => {
    stored.replaceFile(loaded);
    log.info(
      {
        models: config.catalog.models.length,
        providers: config.file.providers.map(({ id }) => id),
        left_out: leftOutNow,
      },
      "the changed configuration file is in force; ports, secrets and environment variables are read only at the start",
    );
  };
  return {
    connectHere,
    async connect() {
      await access.watch();
      await lifecycle.hindrances.look("policy");
    },
    begin() {
      pressure.start();
      void learned.refresh();
      liveFile.watch(change);
      log.info({ port: server.port, http_port: server.http1Port, models: config.catalog.models.length }, "ready");
    },
  };
}

function logLeftOut(leftOut: readonly LeftOut[], log: Logger): void {
  const isBroken = ({ problem }: LeftOut) => problem !== undefined;
  const broken = leftOut.filter(isBroken);
  const unset = leftOut.filter((left) => !isBroken(left));
  if (unset.length > 0)
    log.info({ left_out: unset }, "providers are left out: their environment variables are not set");
  if (broken.length > 0) log.warn({ left_out: broken }, "providers are left out: their packages cannot be loaded");
}
