/** Endless answers of each kind at the same time with one key, and their effect on the processes and on another key. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { samplesOf } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { type LimitedInstallation, type Limits, startLimited } from "./limited.ts";

/** Kinds of answers by the name of their model, each with its request. */
export const endlessKinds = {
  whole: { stream: false },
  values: { stream: false },
  allowed: { stream: false },
  "allowed-item": { stream: false },
  "allowed-event": { stream: true },
  gzip: { stream: false },
  deflate: { stream: false },
  br: { stream: false },
  arguments: { stream: true },
  text: { stream: true },
  thoughts: { stream: true },
  native: { stream: true },
  early: { stream: true },
  line: { stream: true },
  lines: { stream: true },
  vectors: { embeds: true },
} as const;

export type EndlessKind = keyof typeof endlessKinds;

export interface EndlessReport {
  /** Number of answers by status; status 0 for an answer that was still running when its client left. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Message of the first refusal for lack of memory. */
  readonly message: string | undefined;
  /** Status and milliseconds of each small request of the other key. */
  readonly small: readonly (readonly [number, number])[];
  /** Status of an honest answer of 8 MB with the other key, and the number of characters received. */
  readonly honest: readonly [number, number];
}

type IsEnough = (ms: number, message: string | undefined) => boolean;

export interface EndlessClients {
  readonly gateway: LimitedInstallation;
  readonly inference: LimitedInstallation;
  /**
   * @param each number of answers of each kind, all at once  @param isEnough whether clients leave, given the milliseconds so far and the message of
   * one refusal
   */
  press(pressed: readonly EndlessKind[], each: number, isEnough: IsEnough): Promise<EndlessReport>;
  /** Bytes of answers that a process holds, by its own metric. */
  heldBy(process: LimitedInstallation): Promise<number>;
  stop(): Promise<void>;
}

const responsesKinds: ReadonlySet<string> = new Set(["native", "early", "allowed-item"]);

function modelOf(name: string): string {
  const provider = responsesKinds.has(name) ? "responses" : "chat";
  const embeds = name === "vectors" ? ", output_modalities: [embeddings]" : "";
  return `  - {id: endless/${name}, context_length: 100000000${embeds}, endpoints: [{provider: ${provider}, upstream_model: ${name}}]}`;
}

const configOf = (port: number): string => `
providers:
  - {id: built-in, dialect: echo}
  - {id: chat, dialect: chat, base_url: "http://127.0.0.1:${port}/v1"}
  - {id: responses, dialect: responses, base_url: "http://127.0.0.1:${port}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: built-in}]}
${["honest", ...Object.keys(endlessKinds)].map(modelOf).join("\n")}
limits: {streams_per_key: 1000}
`;

export async function startEndless(
  limits: { readonly gateway: Limits; readonly inference: Limits },
  options: { readonly embeddedPostgres?: boolean } = {},
): Promise<EndlessClients> {
  const provider: ChildProcess = fork(fileURLToPath(new URL("endless-provider.js", import.meta.url)));
  const [port] = (await once(provider, "message")) as [number];
  const installation = await startInstallation({ ...options, config: configOf(port) });
  const inference = await startLimited(installation, "inference-svc", limits.inference);
  const gateway = await startLimited(installation, "gateway", {
    ...limits.gateway,
    environment: { SLUICE_INFERENCE_ADDRESSES: `127.0.0.1:${inference.port}` },
  });
  const [key, other] = await Promise.all(["endless", "other"].map((name) => makeKey(installation, name)));
  await guard(installation, key as string);
  return {
    gateway,
    inference,
    press: (pressed, each, isEnough) => {
      const asked = pressed.flatMap((kind) => Array.from({ length: each }, () => kind));
      return press(gateway.port, asked, { key: key as string, other: other as string, isEnough });
    },
    async heldBy({ healthPort }) {
      const text = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
      return samplesOf(text).find(({ name }) => name === "sluice_held_answers_bytes")?.value ?? Number.NaN;
    },
    stop: async () => {
      await gateway.stop();
      await inference.stop();
      await installation.stop();
      provider.disconnect();
    },
  };
}

async function manage({ baseUrl, managementKey }: Installation, path: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${managementKey}`, "content-type": "application/json" };
  const answer = await fetch(`${baseUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const makeKey = async (installation: Installation, name: string): Promise<string> =>
  ((await manage(installation, "/keys", { name })) as { readonly key: string }).key;

/** Puts the key under a guardrail, which holds arguments and events back until they are complete. */
async function guard(installation: Installation, key: string): Promise<void> {
  const { stdout } = await installation.admin(
    "guardrails",
    "create",
    "--name",
    "held",
    "--block",
    "plutonium",
    "--json",
  );
  const { id } = JSON.parse(stdout) as { readonly id: string };
  await manage(installation, `/guardrails/${id}/assignments/keys`, { key_hashes: [hashKey(key)] });
}

async function post(port: number, key: string, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

interface Pressing {
  /** Key of the endless answers. */
  readonly key: string;
  readonly other: string;
  readonly isEnough: IsEnough;
}

async function press(
  port: number,
  asked: readonly EndlessKind[],
  { key, other, isEnough }: Pressing,
): Promise<EndlessReport> {
  const leave = new AbortController();
  const outcomes: Record<string, number> = {};
  let message: string | undefined;
  let settled = 0;
  const sendRequest = async (kind: EndlessKind) => {
    const settings: { readonly stream?: boolean; readonly embeds?: boolean } = endlessKinds[kind];
    const body = settings.embeds
      ? { model: `endless/${kind}`, input: "Hi" }
      : { model: `endless/${kind}`, input: "Hi", stream: settings.stream };
    let status = 0;
    try {
      const answer = await post(port, key, settings.embeds ? "embeddings" : "responses", body, leave.signal);
      const said = await answer.text();
      const failed = /"(?:message)":"(The answer is too large[^"]*)"/.exec(said)?.[1];
      status = failed === undefined ? answer.status : 502;
      if (failed?.endsWith("held the most") === true) message ??= failed;
    } catch {
      // The client has left, or the connection broke.
    }
    settled++;
    outcomes[status] = (outcomes[status] ?? 0) + 1;
  };
  const asking = asked.map(sendRequest);
  const small: (readonly [number, number])[] = [];
  const askSmall = async () => {
    const begun = performance.now();
    const status = await post(port, other, "responses", { model: "sluice/echo", input: "x" }).then(
      async (answer) => (await answer.text(), answer.status),
      () => 0,
    );
    small.push([status, performance.now() - begun]);
  };
  const begun = performance.now();
  while (settled < asked.length && !isEnough(performance.now() - begun, message)) await askSmall();
  const honest = await post(port, other, "responses", { model: "endless/honest", input: "Hi" }).then(
    async (answer) => [answer.status, textIn(await answer.json())] as const,
    () => [0, 0] as const,
  );
  await askSmall();
  leave.abort();
  await Promise.all(asking);
  return { outcomes, message, small, honest };
}

/** Length of a response's text in UTF-16 units. */
const textIn = (response: unknown): number =>
  (response as { readonly output?: readonly [{ readonly content: readonly [{ readonly text: string }] }] }).output?.[0]
    .content[0].text.length ?? 0;

/** Waits until the processes hold no bytes of answers any more. */
export async function waitUntilMemoryReleased(endless: EndlessClients): Promise<void> {
  const { gateway, inference } = endless;
  await eventually(async () => (await endless.heldBy(gateway)) === 0 && (await endless.heldBy(inference)) === 0);
}
