/** The parts that all services have: log, metrics, shutdown, and authentication between services. */
import { hostname } from "node:os";
import type { z } from "zod";
import type { commonEnvironment } from "./environment.ts";
import { delayFullCollections } from "../load/full-collections.ts";
import { Lifecycle } from "./lifecycle.ts";
import { type Logger, openLog } from "../log/log.ts";
import { type Registry, openMetrics } from "../metrics/metrics.ts";
import { type ServiceToken, openServiceToken } from "../rpc/service-token.ts";
import { Certificates } from "../tls/certificates.ts";
import { openTracing } from "../tracing/open.ts";
import type { Tracing } from "../tracing/span.ts";

export interface ProcessDeps {
  /** Name of this process, unique among those of its service. */
  readonly instance: string;
  readonly token: ServiceToken;
  /** Certificates for connections between services; clear text when undefined. */
  readonly certificates: Certificates | undefined;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly registry: Registry;
  readonly tracing: Tracing | undefined;
  /**
   * Fraction of the process's memory and file descriptors for this service; 1 unless another service runs in the same
   * process.
   */
  readonly share: number;
}

type CommonSettings = Readonly<z.infer<z.ZodObject<typeof commonEnvironment>>>;

/**
 * Creates the parts of a process. Call it before the first await, because it handles termination signals.
 * @param share below 1 when another service will run in the process
 */
export async function openProcess(room: string, settings: CommonSettings, share = 1): Promise<ProcessDeps> {
  delayFullCollections();
  const log = openLog(room, settings.SLUICE_LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  lifecycle.handleSignals(settings.SLUICE_DRAIN_DELAY_MS, settings.SLUICE_DRAIN_LIMIT_MS);
  return openParts(room, settings, { log, lifecycle, share });
}

/** Creates the parts of a second service in the same process, which starts and ends together with the first. */
export function openSecondService(
  { lifecycle, share }: ProcessDeps,
  room: string,
  settings: CommonSettings,
): Promise<ProcessDeps> {
  const log = openLog(room, settings.SLUICE_LOG_LEVEL);
  return openParts(room, settings, { log, lifecycle, share: 1 - share });
}

async function openParts(
  room: string,
  settings: CommonSettings,
  { log, lifecycle, share }: Pick<ProcessDeps, "log" | "lifecycle" | "share">,
): Promise<ProcessDeps> {
  const registry = openMetrics(room);
  const instance = `${hostname()}-${process.pid}`;
  const tracing = await openTracing({ room, instance, log, registry, environment: process.env });
  const token = openServiceToken(settings.SLUICE_SERVICE_TOKEN, settings.SLUICE_SERVICE_TOKEN_FILE, log);
  const { SLUICE_TLS_DIR: tlsDir } = settings;
  const certificates = tlsDir === undefined ? undefined : new Certificates(tlsDir, { log, registry });
  return { instance, token, certificates, lifecycle, log, registry, tracing, share };
}
