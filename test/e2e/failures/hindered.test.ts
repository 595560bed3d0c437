/** An inference process that fails for a local cause, together with a healthy process and by itself. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { spoolFolder } from "@sluice/local/spools.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import {
  type InstallationProcess,
  serviceSecrets,
  spawnGateway,
  spawnInference,
  startGateway,
  startInference,
} from "../../support/members.ts";
import { Balancer } from "../../support/balancer.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { Link } from "../../support/link.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

/** Longest time from the repair until the process is ready. */
const repairedMs = 5_000;
/** Time limit of a request, far above an answer's time on a busy machine: without it, a lost request would hide the failed expectation. */
const answerMs = 20_000;

/** The Retry-After of a refusal. */
const retryMs = 1_000;
const mostTries = 4;

const configFor = ({ url }: Upstream): string => `
providers:
  - {id: acme, dialect: chat, base_url: "${url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
  - {id: acme/embed, context_length: 8192, output_modalities: [embeddings], endpoints: [{provider: acme}]}
`;

/** Answers a chat and a request for embeddings alike. Each call has a separate connection, as with many providers. */
const answer = {
  headers: { connection: "close" },
  chunks: [
    {
      json: {
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "large-2",
        choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
        data: [{ index: 0, object: "embedding", embedding: [0.5] }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    },
  ],
};

const limit = (pid: number, resource: string, value: string): void =>
  void execFileSync("prlimit", ["--pid", String(pid), `--${resource}=${value}:`]);

/** Mounts a small disk. @returns whether the machine lets us */
function mount(folder: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const isReady = (healthPort: number): Promise<readonly [status: number, text: string]> =>
  fetch(`http://127.0.0.1:${healthPort}/readyz`, { signal: AbortSignal.timeout(answerMs) }).then(
    async (response) => [response.status, await response.text()] as const,
    (error: Error) => [0, error.message] as const,
  );

class Clients {
  readonly #origin: string;
  readonly #key: string;

  constructor(origin: string, key: string) {
    this.#origin = origin;
    this.#key = key;
  }

  async post(path: string, body: object): Promise<number> {
    const response = await fetch(`${this.#origin}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMs),
    }).catch(() => undefined);
    const whole = await response?.arrayBuffer().catch(() => undefined);
    return whole && response ? response.status : 0;
  }

  readonly turn = () => this.post("/responses", { model: "acme/large-2", input: "Hi" });

  /** Retries after the time that a refusal names: a busy machine overloads both processes, which refuse embeddings instead of queueing them. */
  readonly embedding = async (): Promise<number> => {
    for (let tries = 1; ; tries++) {
      const status = await this.post("/embeddings", { model: "acme/embed", input: "Hi" });
      if (status !== 503 || tries === mostTries) return status;
      await delay(retryMs);
    }
  };

  /** @returns the statuses other than 200, of a request without an answer 0 */
  async failures(count: number, atOnce: number, sendRequest = this.turn): Promise<number[]> {
    let left = count;
    const failed: number[] = [];
    const client = async () => {
      while (left-- > 0) {
        const status = await sendRequest();
        if (status !== 200) failed.push(status);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));
    return failed;
  }
}

interface Cause {
  readonly name: string;
  /** Text that /readyz contains while the process fails. */
  readonly readiness: string;
  /** Whether the process stays ready, because it can do some of its work. */
  readonly isPartial?: boolean;
  /** Whether the cause needs a separate disk, mounted if the machine allows it. */
  readonly needsDisk?: boolean;
  readonly break: (bad: Bad) => void | Promise<void>;
  readonly repair: (bad: Bad) => void | Promise<void>;
}

interface Bad extends InstallationProcess {
  readonly spool: string;
  readonly config: string;
  readonly toAdmin: Link;
  /** While this file exists, the name of the provider has the address of nobody. */
  readonly wrongAddress: string;
  /** While this file exists, the process has no file descriptor left. */
  readonly descriptorsTaken: string;
}

/**
 * Program that a process runs first.
 * @param wrongAddress while it exists, the name server of this process answers with an address where nobody listens
 * @param descriptorsTaken while it exists, every free descriptor is taken, also one that closes later
 */
const saboteur = (wrongAddress: string, descriptorsTaken: string): string => `
import dns from "node:dns";
import { closeSync, existsSync, openSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { lookup } = dns;
dns.lookup = (host, options, done) => {
  if (!existsSync(${JSON.stringify(wrongAddress)})) return lookup(host, options, done);
  return options.all ? done(null, [{ address: "127.0.0.2", family: 4 }]) : done(null, "127.0.0.2", 4);
};
syncBuiltinESMExports();
const taken = [];
setInterval(() => {
  if (!existsSync(${JSON.stringify(descriptorsTaken)})) {
    for (const each of taken.splice(0)) closeSync(each);
    return;
  }
  try {
    for (;;) taken.push(openSync("/dev/null"));
  } catch {}
}, 10).unref();
`;

const filler = (bad: Bad): string => join(bad.spool, "filler");

const causes: readonly Cause[] = [
  {
    name: "a full disk",
    readiness: "ready: spool: ",
    needsDisk: true,
    break: (bad) => expect(() => writeFileSync(filler(bad), Buffer.alloc(4 * 1024 * 1024))).toThrow("ENOSPC"),
    repair: (bad) => rmSync(filler(bad)),
  },
  {
    name: "files that may not grow",
    readiness: "ready: spool: ",
    break: ({ pid }) => limit(pid, "fsize", "1"),
    repair: ({ pid }) => limit(pid, "fsize", "unlimited"),
  },
  {
    name: "a spool folder that is gone",
    readiness: "ready: spool: ",
    break: ({ spool }) => rmSync(spool, { recursive: true }),
    repair: ({ spool }) => mkdirSync(spool),
  },
  {
    name: "no file descriptor left",
    // The first part of the process in need of a descriptor reports its cause: the spool, or the check of descriptors.
    readiness: "(EMFILE)",
    break: ({ pid, descriptorsTaken }) => {
      limit(pid, "nofile", "512");
      writeFileSync(descriptorsTaken, "");
    },
    repair: ({ descriptorsTaken }) => rmSync(descriptorsTaken),
  },
  {
    name: "admin-svc out of its reach",
    readiness: "ready: policy: ",
    isPartial: true,
    break: ({ toAdmin }) => toAdmin.cut(),
    repair: ({ toAdmin }) => toAdmin.restore(),
  },
  {
    name: "a name server that answers with wrong addresses",
    readiness: "ready: egress: ",
    isPartial: true,
    break: ({ wrongAddress }) => writeFileSync(wrongAddress, ""),
    repair: ({ wrongAddress }) => rmSync(wrongAddress),
  },
  {
    name: "a changed configuration file that it cannot load",
    readiness: "ready: configuration: ",
    isPartial: true,
    break: ({ config }) => writeFileSync(config, "providers: 1\n"),
    repair: ({ config }) => writeFileSync(config, `${readFileSync(`${config}.good`, "utf8")}# mended\n`),
  },
];

test("a gateway is ready once its inference process knows the policy, and then serves every request", async () => {
  const upstream = await startUpstream([answer]);
  const installation = await startInstallation({
    inferenceReplicas: 1,
    environment: serviceSecrets,
    config: configFor(upstream),
  });
  const toAdmin = new Link({ host: "127.0.0.1", port: installation.ports.admin });
  await toAdmin.listen();
  await toAdmin.cut();
  const inference = await spawnInference(installation, toAdmin.port);
  const gateway = await spawnGateway(installation, installation.ports.admin, [inference.port]);
  try {
    const hindered = /^sluice_inference_hindered_processes{.*} 1$/m;
    const metrics = () => fetch(`http://127.0.0.1:${gateway.healthPort}/metrics`).then((answered) => answered.text());
    await eventually(async () => hindered.test(await metrics().catch(() => "")));
    const ports = [gateway.port, gateway.healthPort, inference.healthPort];
    for (const port of ports) expect((await isReady(port))[0]).toBe(503);
    expect((await isReady(inference.healthPort))[1]).toContain("not ready: policy: ");
    await toAdmin.restore();
    await gateway.ready;
    const clients = new Clients(`http://127.0.0.1:${gateway.port}`, installation.apiKey);
    expect(await clients.failures(10, 1)).toEqual([]);
  } finally {
    await gateway.stop();
    await inference.stop();
    await toAdmin.cut();
    await installation.stop();
    await upstream.stop();
  }
});

describe("one of two inference processes, failing locally,", () => {
  let upstream: Upstream;
  let installation: Installation;
  let bad: Bad;
  let gateway: InstallationProcess;
  let clients: Clients;
  const disk = mkdtempSync(join(tmpdir(), "sluice-disk-"));
  const isMounted = mount(disk);
  beforeAll(async () => {
    upstream = await startUpstream([answer]);
    installation = await startInstallation({
      inferenceReplicas: 1,
      environment: serviceSecrets,
      config: configFor(upstream),
    });
    const toAdmin = new Link({ host: "127.0.0.1", port: installation.ports.admin });
    await toAdmin.listen();
    const config = join(installation.dataDir, "own.yaml");
    const byName = configFor({ ...upstream, url: upstream.url.replace("127.0.0.1", "localhost") });
    for (const file of [config, `${config}.good`]) writeFileSync(file, byName);
    const wrongAddress = join(installation.dataDir, "wrong-address");
    const descriptorsTaken = join(installation.dataDir, "descriptors-taken");
    const preload = join(installation.dataDir, "saboteur.mjs");
    writeFileSync(preload, saboteur(wrongAddress, descriptorsTaken));
    const environment = { NODE_OPTIONS: `--import ${preload}` };
    const member = await startInference(installation, toAdmin.port, { config, folder: disk, environment });
    bad = { ...member, config, toAdmin, wrongAddress, descriptorsTaken };
    // The failing process has the first address, since a gateway sends a turn to the first of two equal processes.
    gateway = await startGateway(installation, installation.ports.admin, [bad.port, installation.ports.inference]);
    clients = new Clients(`http://127.0.0.1:${gateway.port}`, installation.apiKey);
    await eventually(async () => (await figure("sluice_inference_processes")) === 2);
  });
  afterAll(async () => {
    await gateway?.stop();
    await bad?.stop();
    await bad?.toAdmin.cut();
    await installation?.stop();
    await upstream?.stop();
    if (isMounted) execFileSync("umount", [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  /** Undoes the cause of the present case, once. */
  let repair = async (): Promise<void> => {};
  // A case that reached its time limit has not run its repair.
  afterEach(() => repair());

  async function breakBy(cause: Cause): Promise<void> {
    let isBroken = true;
    repair = async () => {
      if (!isBroken) return;
      isBroken = false;
      await cause.repair(bad);
    };
    await cause.break(bad);
  }

  const isWhole = async () =>
    (await isReady(bad.healthPort)).join() === "200,ready\n" &&
    (await figure("sluice_inference_hindered_processes")) === 0;

  async function figure(name: string): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.healthPort}/metrics`)).text();
    return Number(new RegExp(`^${name}{.*} (.*)$`, "m").exec(metrics)?.[1]);
  }

  const possible = (cause: Cause) => isMounted || !cause.needsDisk;
  if (!causes.every(possible)) test.skip("is not used while its disk is full (this machine mounts none)", () => {});

  test.each(causes.filter(possible).map((cause) => [cause.name, cause] as const))(
    "is not used while it has %s",
    async (_, cause) => {
      const { readiness, isPartial = false } = cause;
      await eventually(isWhole);
      expect(await clients.failures(8, 4)).toEqual([]);
      await breakBy(cause);
      try {
        // Only a few requests may fail until the failure is detected.
        expect((await clients.failures(40, 1)).length).toBeLessThanOrEqual(2);
        expect((await clients.failures(80, 8)).length).toBeLessThanOrEqual(4);
        await eventually(async () => (await figure("sluice_inference_hindered_processes")) === 1);
        const [status, text] = await isReady(bad.healthPort);
        expect(status === 200).toBe(isPartial);
        // A process without file descriptors accepts no connection.
        if (status !== 0) expect(text).toContain(readiness);
        expect(await figure("sluice_inference_processes")).toBe(isPartial ? 2 : 1);
        expect([await clients.failures(40, 8), await clients.failures(16, 4, clients.embedding)]).toEqual([[], []]);
      } finally {
        await repair();
      }
      await eventually(async () => (await isReady(bad.healthPort)).join() === "200,ready\n", repairedMs);
      await eventually(async () => (await figure("sluice_inference_hindered_processes")) === 0, repairedMs);
      expect(await clients.failures(8, 4)).toEqual([]);
    },
  );

  test("makes turns 503 with a retry hint when the second fails, too", async () => {
    const pids = [bad.pid, installation.pids()["inference-svc"] as number];
    for (const pid of pids) limit(pid, "fsize", "1");
    try {
      await eventually(async () => (await isReady(gateway.healthPort))[0] === 200 && (await clients.turn()) === 503);
      await eventually(async () => (await figure("sluice_inference_processes")) === 0);
      const { status, headers } = await fetch(`http://127.0.0.1:${gateway.port}/api/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/large-2", input: "Hi" }),
      });
      expect([status, headers.get("retry-after"), headers.get("x-should-retry")]).toEqual([503, "1", "true"]);
      expect((await fetch(`http://127.0.0.1:${gateway.port}/readyz`)).status).toBe(503);
    } finally {
      for (const pid of pids) limit(pid, "fsize", "unlimited");
    }
    await eventually(async () => (await clients.turn()) === 200, repairedMs);
  });
});

test("a gateway in one process with a failing inference-svc is withdrawn, and is ready again after the repair", async () => {
  const upstream = await startUpstream([answer]);
  const environment = { ...serviceSecrets, SLUICE_BOOTSTRAP_API_KEY: mintKey(KeyKind.INFERENCE) };
  const options = { inferenceReplicas: 0, environment, config: configFor(upstream) };
  const installations: Installation[] = [];
  const balancer = await Balancer.start();
  try {
    for (let n = 0; n < 2; n++) installations.push(await startInstallation(options));
    const [bad] = installations as [Installation, Installation];
    const backends = installations.map(({ ports }) => ({ port: ports.gateway, healthPort: ports.gateway_health }));
    for (const backend of backends) balancer.add(backend);
    await eventually(() => backends.every((backend) => balancer.isReady(backend)));
    const clients = new Clients(`http://127.0.0.1:${balancer.port}`, bad.apiKey);
    expect(await clients.failures(8, 4)).toEqual([]);

    const spool = spoolFolder(bad.dataDir, 0);
    rmSync(spool, { recursive: true });
    // The load balancer detects an unready gateway after some time, as in a cluster.
    await eventually(() => !balancer.isReady(backends[0] as (typeof backends)[0]));
    for (const port of [bad.ports.gateway_health, bad.ports.gateway])
      expect(await isReady(port)).toEqual([503, expect.stringContaining("not ready: spool: ")]);
    // Kept-alive connections of clients end with their next answer.
    expect((await clients.failures(80, 4)).length).toBeLessThanOrEqual(4);
    mkdirSync(spool);
    await eventually(() => backends.every((backend) => balancer.isReady(backend)), repairedMs);
    expect(await clients.failures(8, 4)).toEqual([]);
  } finally {
    balancer.stop();
    for (const installation of installations) await installation.stop();
    await upstream.stop();
  }
});
