/** A gateway and an inference process under memory limits, and how they serve other clients while one client sends too much. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { type LimitedInstallation, type Limits, startLimited } from "./limited.ts";
import type { Outcomes, RequestStorm } from "./storm.ts";

export interface PressedInstallation {
  readonly installation: Installation;
  readonly gateway: LimitedInstallation;
  readonly inference: LimitedInstallation;
  /** Sends too much with one key, while another key sends small requests again and again. */
  press(storm: Omit<RequestStorm, "port">): Promise<PressureOptions>;
  stop(): Promise<void>;
}

export interface PressureOptions {
  readonly outcomes: Outcomes;
  /** Status and milliseconds of each small request. */
  readonly small: readonly (readonly [number, number])[];
  readonly ms: number;
}

export async function startPressed(
  limits: { readonly gateway: Limits; readonly inference: Limits },
  installation: { readonly embeddedPostgres?: boolean } = {},
): Promise<PressedInstallation> {
  const upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Yes." })]);
  const started = await startInstallation({ ...installation, config: configOf(upstream) });
  const inference = await startLimited(started, "inference-svc", limits.inference);
  const gateway = await startLimited(started, "gateway", {
    ...limits.gateway,
    environment: { SLUICE_INFERENCE_ADDRESSES: `127.0.0.1:${inference.port}` },
  });
  const otherKey = await makeKey(started);
  const sendRequest = () => askSmall(gateway.port, otherKey);
  await sendRequest();
  return {
    installation: started,
    gateway,
    inference,
    press: (storm) => press({ ...storm, port: storm.kind === "bodies" ? gateway.port : inference.port }, sendRequest),
    stop: async () => {
      await gateway.stop();
      await inference.stop();
      await started.stop();
      await upstream.stop();
    },
  };
}

export interface PressedTogether extends Pick<PressedInstallation, "installation" | "press" | "stop"> {
  /** Process id. */
  readonly pid: number;
}

/** Gateway and inference-svc as one process under a memory limit. */
export async function startPressedTogether({ nodeOptions = [] }: Limits): Promise<PressedTogether> {
  const upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Yes." })]);
  const environment = { NODE_OPTIONS: nodeOptions.join(" ") };
  const installation = await startInstallation({ config: configOf(upstream), environment, inferenceReplicas: 0 });
  const { gateway, inference } = installation.ports;
  const otherKey = await makeKey(installation);
  const sendRequest = () => askSmall(gateway, otherKey);
  await sendRequest();
  return {
    installation,
    pid: installation.pids()["gateway"] as number,
    press: (storm) => press({ ...storm, port: storm.kind === "bodies" ? gateway : inference }, sendRequest),
    stop: async () => {
      await installation.stop();
      await upstream.stop();
    },
  };
}

const configOf = (upstream: Upstream): string => `
providers:
  - {id: built-in, dialect: echo}
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: built-in}]}
  - {id: acme/large, context_length: 100000000, endpoints: [{provider: acme}]}
limits: {streams_per_key: 1000}
`;

async function makeKey({ baseUrl, managementKey }: Installation): Promise<string> {
  const headers = { authorization: `Bearer ${managementKey}`, "content-type": "application/json" };
  const made = await fetch(`${baseUrl}/keys`, { method: "POST", headers, body: '{"name":"other"}' });
  return ((await made.json()) as { key: string }).key;
}

/** Status and milliseconds of a small request; status 0 for a broken connection. */
async function askSmall(port: number, key: string): Promise<readonly [number, number]> {
  const begun = performance.now();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = '{"model":"sluice/echo","input":"x"}';
  const status = await fetch(`http://127.0.0.1:${port}/api/v1/responses`, { method: "POST", headers, body }).then(
    async (answer) => {
      await answer.text();
      return answer.status;
    },
    () => 0,
  );
  return [status, performance.now() - begun];
}

async function press(
  storm: RequestStorm,
  sendRequest: () => Promise<readonly [number, number]>,
): Promise<PressureOptions> {
  const begun = performance.now();
  const small: (readonly [number, number])[] = [];
  const sending = sent(storm);
  for (;;) {
    small.push(await sendRequest());
    const outcomes = await Promise.race([sending, delay(30, undefined)]);
    if (outcomes) return { outcomes, small, ms: performance.now() - begun };
  }
}

function sent(storm: RequestStorm): Promise<Outcomes> {
  const worker = new Worker(new URL("storm.js", import.meta.url), { workerData: storm });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve).once("error", reject);
  });
}

/** Peak memory of a process in MiB. */
export function peakMib({ pid }: Pick<LimitedInstallation, "pid">): number {
  const [, kib = "0"] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1_024);
}
