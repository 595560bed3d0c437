/** Another process learns of an outage that one inference process has detected. */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, type ServiceError, status } from "@grpc/grpc-js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runTurn, turnRequest } from "../support/answers/run-turn.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { samplesOf } from "../support/metrics.ts";
import { eventually } from "../support/processes.ts";
import { type Upstream, chatStream, startUpstream } from "../support/providers/upstream.ts";

/** Consecutive failures before a process ejects an endpoint. */
const failuresInRow = 5;
/** News may be lost on a busy machine, so the test tries again with another model of the same provider. */
const tries = [0, 1, 2, 3, 4];
const hearLimitMs = 5_000;
const broken = { status: 500, chunks: [{ json: { error: { message: "broken" } } }] };

let failing: Upstream;
let moody: Upstream;
let steady: Upstream;
let installation: Installation;
let clients: readonly [Client, Client];
beforeAll(async () => {
  failing = await startUpstream([broken]);
  moody = await startUpstream();
  steady = await startUpstream([chatStream("steady")]);
  installation = await startInstallation({
    inferenceReplicas: 2,
    config: `
providers:
  - {id: failing, dialect: chat, base_url: "${failing.url}/v1"}
  - {id: moody, dialect: chat, base_url: "${moody.url}/v1"}
  - {id: steady, dialect: chat, base_url: "${steady.url}/v1"}
models:
${tries.flatMap((n) => ["failing", "moody"].map((id) => `  - {id: acme/${id}-${n}, endpoints: [{provider: ${id}}, {provider: steady}]}`)).join("\n")}
`,
  });
  clients = [
    dial(`127.0.0.1:${installation.ports.inference}`),
    dial(`127.0.0.1:${installation.ports.inference + 100}`),
  ];
});
afterAll(async () => {
  for (const client of clients ?? []) client.close();
  await installation?.stop();
  for (const upstream of [failing, moody, steady]) await upstream?.stop();
});

/** Retries while the process is overloaded; an overloaded process calls no provider. */
async function sendRequest(process: 0 | 1, model: string): Promise<void> {
  for (;;) {
    try {
      return await runTurn(clients[process], installation.apiKey, turnRequest(model, "Hello", { stream: true })).over;
    } catch (error) {
      if ((error as ServiceError).code !== status.UNAVAILABLE) throw error;
      await delay(100);
    }
  }
}

async function figure(
  process: 0 | 1,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const port = installation.ports.inference_health + process * 100;
  const samples = samplesOf(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  const fits = (found: Readonly<Record<string, string>>) =>
    Object.entries(labels).every(([label, value]) => found[label] === value);
  return samples.find((sample) => sample.name === name && fits(sample.labels))?.value;
}

const stateOf = (process: 0 | 1, model: string) =>
  figure(process, "sluice_endpoint_state", { model, provider: providerOf(model) });
const told = (process: 0 | 1) => figure(process, "sluice_endpoint_news_total", { direction: "told" });
const providerOf = (model: string) => /[a-z]+(?=-)/.exec(model)?.[0] as string;

/**
 * Makes the first process eject the provider of a model.
 * @returns the model reported to the second process
 */
async function ejectAtFirst(provider: string, before: () => void = () => {}): Promise<string> {
  for (const n of tries) {
    const model = `acme/${provider}-${n}`;
    before();
    for (let turn = 0; turn < failuresInRow; turn++) await sendRequest(0, model);
    expect(await stateOf(0, model)).toBe(2);
    const isHeard = eventually(async () => (await stateOf(1, model)) === 1, hearLimitMs);
    if (
      await isHeard.then(
        () => true,
        () => false,
      )
    )
      return model;
  }
  throw new Error("the second process heard nothing");
}

test("after news of an ejected endpoint, another process tries it once and ejects it at the first failure", async () => {
  const model = await ejectAtFirst("failing");
  const before = failing.requests.length;
  for (let n = 0; n < 4; n++) await sendRequest(1, model);
  expect(failing.requests.length).toBe(before + 1);
  expect([await stateOf(1, model), await told(1)]).toEqual([2, 1]);
});

test("a process for which an endpoint works keeps it after another process has ejected it", async () => {
  const toldBefore = await told(1);
  const model = await ejectAtFirst("moody", () => {
    moody.script([...Array.from({ length: failuresInRow }, () => broken), chatStream("moody")]);
  });
  const before = moody.requests.length;
  for (let n = 0; n < 4; n++) await sendRequest(1, model);
  expect(moody.requests.length).toBe(before + 4);
  expect([await stateOf(1, model), await told(1), await stateOf(0, model)]).toEqual([0, toldBefore, 2]);
});
