/**
 * Checks the containers of the project's images: each variable is read by its program and has a valid value, probes use real paths, and the grace
 * period is long enough for a drain.
 */
import { environment as admin } from "@sluice/admin-svc/config.js";
import { environment as gateway } from "@sluice/gateway/config.js";
import { environment as inference } from "@sluice/inference-svc/assembly/config.js";
import { tracingEnvironment } from "@sluice/proto/lib/tracing/settings.js";
import { z } from "zod";
import type { Resource } from "./kustomize.ts";
import { namedVariables } from "./page.ts";
import { type Container, type Probe, type Variable, type Workload, isLongRunning, workloadsOf } from "./workloads.ts";

const commandLine = z.object({
  DATABASE_URL: admin.shape.DATABASE_URL,
  SLUICE_BOOTSTRAP_MANAGEMENT_KEY: admin.shape.SLUICE_BOOTSTRAP_MANAGEMENT_KEY,
  SLUICE_BOOTSTRAP_API_KEY: admin.shape.SLUICE_BOOTSTRAP_API_KEY,
});

/** Variables that are checked at the start, and those that the OpenTelemetry libraries read, as the observability page lists them. */
const tracing = { ...namedVariables("OTEL"), ...tracingEnvironment.shape };

/** Schema of the variables by image, and by script if an image has several; undefined for images of others. */
function variablesOf({ image, args }: Container): z.ZodObject | undefined {
  const service = /(?:^|\/)sluice\/([a-z-]+)/.exec(image)?.[1];
  if (service === "gateway") return gateway.extend(tracing);
  if (service === "inference-svc") return inference.extend(tracing);
  if (service !== "admin-svc") return undefined;
  return args?.[0]?.endsWith("cli.js") === true ? commandLine : admin.extend(tracing);
}

/** Whether a variable may be absent: the service token is optional if certificates identify the caller, or if a file contains the token. */
const isSpared = (name: string, set: ReadonlyMap<string, Variable>): boolean =>
  name === "SLUICE_SERVICE_TOKEN" && (set.has("SLUICE_TLS_DIR") || set.has("SLUICE_SERVICE_TOKEN_FILE"));

export function programProblems(resources: readonly Resource[]): string[] {
  return workloadsOf(resources).flatMap((workload) =>
    workload.containers.flatMap((container) =>
      [
        ...ofVariables(container, variablesOf(container)),
        ...ofAddresses(container, resources),
        ...ofPlaces(container),
        ...(isLongRunning(workload) ? ofProbes(container) : []),
        ...(isLongRunning(workload) ? ofGrace(workload, container) : []),
      ].map((problem) => `${workload.name}: ${problem}`),
    ),
  );
}

/** Checks each variable against its schema. Values from secrets are unknown here. */
function ofVariables({ env = [] }: Container, read: z.ZodObject | undefined): string[] {
  if (!read) return [];
  const fields = Object.entries<z.ZodType>(read.shape);
  const set = new Map(env.map((variable) => [variable.name, variable]));
  const unread = env.filter(({ name }) => !fields.some(([field]) => field === name));
  return [
    ...unread.map(({ name }) => `${name} is read by nobody`),
    ...fields.flatMap(([name, field]) => {
      const { value, valueFrom } = set.get(name) ?? {};
      if (valueFrom || isSpared(name, set)) return [];
      if (field.safeParse(value).success) return [];
      return value === undefined ? `${name} is required` : `${name} cannot be ${value}`;
    }),
  ];
}

/** Checks addresses of the project's own services, and their ports. */
function ofAddresses({ env = [] }: Container, resources: readonly Resource[]): string[] {
  const addresses = env.filter(({ name }) => name.endsWith("_ADDRESS") || name.endsWith("_ADDRESSES"));
  return addresses.flatMap(({ name, value = "" }) =>
    value.split(",").flatMap((address) => {
      const [host, port] = address.split(":");
      const service = resources.find(({ kind, metadata }) => kind === "Service" && metadata.name === host);
      const { ports = [] } = (service?.["spec"] ?? {}) as { ports?: { port: number }[] };
      return ports.some((served) => served.port === Number(port)) ? [] : `${name}: no service at ${address}`;
    }),
  );
}

const places = ["SLUICE_SERVICE_TOKEN_FILE", "SLUICE_CONFIG", "SLUICE_SPOOL_DIR", "SLUICE_TLS_DIR"];

/** Checks that files are in mounts: the rest of the file system belongs to the image, and is read-only. */
function ofPlaces({ env = [], volumeMounts = [] }: Container): string[] {
  const within = (path: string) => volumeMounts.some(({ mountPath }) => `${path}/`.startsWith(`${mountPath}/`));
  return env
    .filter(({ name, value }) => places.includes(name) && value !== undefined && !within(value))
    .map(({ name, value }) => `${name}: nothing is mounted at ${value}`);
}

const paths = { startupProbe: "/livez", readinessProbe: "/readyz", livenessProbe: "/livez" } as const;

function ofProbes(container: Container): string[] {
  const ours = variablesOf(container) !== undefined;
  return Object.entries(paths).flatMap(([kind, path]) => {
    const probe: Probe | undefined = container[kind as keyof typeof paths];
    if (!probe) return `no ${kind}`;
    const port = probe.httpGet?.port ?? probe.tcpSocket?.port;
    const known = container.ports?.some(({ name, containerPort }) => name === port || containerPort === port);
    if (known !== true) return `${kind}: no port ${port}`;
    return ours && probe.httpGet?.path !== path ? `${kind} asks for ${probe.httpGet?.path}` : [];
  });
}

/**
 * Checks that the grace period, which begins at SIGTERM, covers the drain (unset variables have their defaults), and five seconds more for the
 * process to end.
 */
function ofGrace({ graceSeconds }: Workload, container: Container): string[] {
  if (!variablesOf(container)) return [];
  const given = container.env?.find(({ name }) => name === "SLUICE_DRAIN_LIMIT_MS")?.value;
  const limitMs = gateway.shape.SLUICE_DRAIN_LIMIT_MS.parse(given);
  return graceSeconds * 1_000 >= limitMs + 5_000
    ? []
    : [`${graceSeconds} s are less than a drain of ${limitMs} ms takes`];
}
