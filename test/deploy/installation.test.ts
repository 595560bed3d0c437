/** The one-command start in daily use: with given keys, after a crash, together with another program, as root. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isAlive } from "@sluice/local/processes.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { freePort } from "../support/runner/free-ports.ts";
import { type Installation, type InstallationOptions, startInstallation } from "../support/installation.ts";
import { bareEnvironment, eventually, programIn, root, runProgram } from "../support/processes.ts";
import { isRoot, nobodyUid } from "../support/users.ts";

const supervisor = programIn(root, "deploy/local");

let dataDir: string;
let installation: Installation | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "sluice-test-deploy-"));
});

afterEach(async () => {
  await installation?.stop();
  installation = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(options: InstallationOptions = {}): Promise<Installation> {
  installation = await startInstallation({ embeddedPostgres: true, dataDir, ...options });
  return installation;
}

async function stop(): Promise<void> {
  await installation?.stop();
  installation = undefined;
}

async function statusOf({ baseUrl, apiKey }: Installation): Promise<number> {
  const response = await fetch(`${baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "hello" }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Variables to start a second installation on the ports of the first. */
const samePorts = ({ ports }: Installation): Record<string, string> => ({
  SLUICE_PORT: String(ports.gateway),
  SLUICE_INFERENCE_PORT: String(ports.inference),
  SLUICE_ADMIN_PORT: String(ports.admin),
  SLUICE_POSTGRES_PORT: String(ports.postgres),
  SLUICE_GATEWAY_HEALTH_PORT: String(ports.gateway_health),
  SLUICE_INFERENCE_HEALTH_PORT: String(ports.inference_health),
  SLUICE_ADMIN_HEALTH_PORT: String(ports.admin_health),
});

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);

describe("keys set by the operator", () => {
  test("work and are neither printed nor stored", async () => {
    const environment = {
      SLUICE_BOOTSTRAP_MANAGEMENT_KEY: mintKey(KeyKind.MANAGEMENT),
      SLUICE_BOOTSTRAP_API_KEY: mintKey(KeyKind.INFERENCE),
    };
    const started = await start({ embeddedPostgres: false, environment });
    expect(await statusOf(started)).toBe(200);
    for (const key of Object.values(environment)) expect(started.output()).not.toContain(key);
    expect(existsSync(join(dataDir, "keys.json"))).toBe(false);
  });

  test("are reported when they are of the wrong kind, and no service starts", async () => {
    const environment = { ...bareEnvironment(), SLUICE_BOOTSTRAP_API_KEY: mintKey(KeyKind.MANAGEMENT) };
    const { code, stderr } = await runProgram(process.execPath, [supervisor], { environment });
    expect(code).toBe(1);
    expect(stderr).toContain("SLUICE_BOOTSTRAP_API_KEY: not an inference key");
  });
});

describe("a start that fails", () => {
  test("reports an occupied port with its variable before any service starts", async () => {
    const other = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    try {
      await expect(start({ environment: { SLUICE_ADMIN_PORT: String(port) } })).rejects.toThrow(
        `port ${port} is in use: set SLUICE_ADMIN_PORT to another one`,
      );
    } finally {
      other.close();
    }
    expect(existsSync(join(dataDir, "postgres"))).toBe(false);
    expect(existsSync(join(dataDir, "house.json"))).toBe(false);
  });

  test("reports two variables with the same port", async () => {
    const port = String(await freePort());
    await expect(start({ environment: { SLUICE_PORT: port, SLUICE_ADMIN_PORT: port } })).rejects.toThrow(
      `SLUICE_PORT and SLUICE_ADMIN_PORT name the same port ${port}: set all but one of them to another one`,
    );
  });

  test("ends the installation when a service cannot start, and shows the service's last lines", async () => {
    await expect(start({ embeddedPostgres: false, environment: { SLUICE_LOG_LEVEL: "loud" } })).rejects.toThrow(
      /ended: exit code 1[^]*SLUICE_LOG_LEVEL/,
    );
    expect(existsSync(join(dataDir, "house.json"))).toBe(false);
  });

  test.each([
    ["SLUICE_DRAIN_LIMIT_MS", "-1"],
    ["REDIS_URL", "http://127.0.0.1"],
  ])("reports an error with %s without a stack trace", async (variable, value) => {
    const started = start({ embeddedPostgres: false, environment: { [variable]: value } });
    await expect(started).rejects.toThrow(variable);
    await expect(started).rejects.not.toThrow(/^ *at |\bproblems: /m);
  });

  test("reports an unusable data folder with a remedy", async () => {
    const file = join(dataDir, "file");
    writeFileSync(file, "");
    await expect(start({ dataDir: file })).rejects.toThrow(
      new RegExp(`The data folder ${file} cannot be used \\(.*\\). .*SLUICE_DATA_DIR`),
    );
  });

  test("ends when its data folder cannot be made", async () => {
    await expect(start({ dataDir: "/proc/sluice" })).rejects.toThrow(
      "The data folder /proc/sluice cannot be used (ENOENT",
    );
  });

  test("reports a mistake in the configuration with its path", async () => {
    await expect(start({ config: "models: [{id: a/b, endpoints: [{provider: nobody}]}]" })).rejects.toThrow(
      "models.0.endpoints.0.provider: no provider is called nobody",
    );
  });
});

describe("a start with the data of an earlier one", () => {
  test("loads the services while the database starts", async () => {
    // Processes are in the record in the order of their starts; the database is added once it accepts connections.
    const order = (started: Installation) =>
      Object.keys(started.pids()).filter((name) => name === "postgres" || name === "admin-svc");
    expect(order(await start())).toEqual(["postgres", "admin-svc"]);
    await stop();
    const again = await start();
    expect(order(again)).toEqual(["admin-svc", "postgres"]);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(again)));
    expect(statuses).toEqual(Array.from({ length: 10 }, () => 200));
  });

  test("reports why the database cannot start, and leaves no process", async () => {
    const first = await start();
    const { supervisor: pid } = first.pids();
    await stop();
    writeFileSync(join(dataDir, "postgres/cluster/postgresql.conf"), "no such setting");
    await expect(start()).rejects.toThrow(/Postgres did not start \(exit code 1\):[^]*syntax error/);
    expect(isAlive(pid as number)).toBe(false);
    expect(existsSync(join(dataDir, "house.json"))).toBe(false);
  });
});

describe("after the death of", () => {
  test("any process, the supervisor restarts it and the installation serves", async () => {
    const started = await start({ inferenceReplicas: 1 });
    for (const name of ["gateway", "inference-svc", "admin-svc", "postgres"]) {
      const pid = started.pids()[name] as number;
      process.kill(pid, "SIGKILL");
      await eventually(() => (started.pids()[name] ?? pid) !== pid);
      await eventually(async () => (await statusOf(started).catch(() => 0)) === 200);
      await eventually(async () => (await started.admin("keys", "list").catch(() => undefined)) !== undefined);
      const printed = [`${name} ended: SIGKILL`, `${name} runs again, process ${started.pids()[name]}`];
      await eventually(() => printed.every((text) => started.output().includes(text)));
    }
  });

  test("the supervisor, no process remains, and the next start finds the data and the ports", async () => {
    const first = await start();
    await first.admin("keys", "create", "--name", "kept");
    const environment = samePorts(first);
    const { supervisor: pid, ...others } = first.pids();
    process.kill(pid as number, "SIGKILL");
    const second = await start({ environment });
    expect(Object.values(others).filter(isAlive)).toEqual([]);
    expect((await second.admin("keys", "list")).stdout).toContain("kept");
    expect(await statusOf(second)).toBe(200);
  });
});

describe("a second installation", () => {
  test("in the same folder is refused, and SIGTERM to the first leaves no process and no record", async () => {
    const started = await start({ inferenceReplicas: 2 });
    await expect(startInstallation({ embeddedPostgres: true, dataDir })).rejects.toThrow(
      `Sluice already runs here: process ${started.pids()["supervisor"]}`,
    );
    expect(await statusOf(started)).toBe(200);
    const children = childrenOf(started.pids()["supervisor"] as number);
    expect(children.length).toBeGreaterThanOrEqual(Object.keys(started.pids()).length - 1);
    expect(Object.keys(started.pids()).toSorted()).toEqual(
      ["admin-svc", "gateway", "inference-svc", "inference-svc-1", "postgres", "supervisor"].toSorted(),
    );
    const all = [...children, ...Object.values(started.pids())];
    await stop();
    expect(all.filter(isAlive)).toEqual([]);
    expect(existsSync(join(dataDir, "house.json"))).toBe(false);
    expect(existsSync(join(dataDir, "database.json"))).toBe(false);
  });
});

const asRoot = isRoot ? describe : describe.skip;

asRoot("a start as root", () => {
  test("runs the database with and without user namespaces", async () => {
    const path = mkdtempSync(join(tmpdir(), "sluice-test-path-"));
    writeFileSync(join(path, "unshare"), "#!/bin/sh\nexit 1\n");
    chmodSync(join(path, "unshare"), 0o755);
    const without = await start({ environment: { PATH: `${path}:${process.env["PATH"]}` } });
    expect(ownerOf(without.pids()["postgres"])).toBe(nobodyUid);
    await without.admin("keys", "create", "--name", "kept");
    await stop();
    rmSync(path, { recursive: true });
    const again = await start();
    expect(ownerOf(again.pids()["postgres"])).toBe(0);
    expect((await again.admin("keys", "list")).stdout).toContain("kept");
  });
});

const ownerOf = (pid: number | undefined): number => statSync(`/proc/${pid}`).uid;
