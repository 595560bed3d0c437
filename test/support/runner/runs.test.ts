/** A whole test run: its output and its complete cleanup. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isAlive } from "@sluice/local/processes.js";
import { bareEnvironment, eventually, root, runProgram } from "../processes.ts";
import { Progress } from "./progress.ts";

const jest = [
  "--experimental-vm-modules",
  "--disable-warning=ExperimentalWarning",
  join(root, "node_modules/jest/bin/jest.js"),
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-runs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the report", () => {
  async function report(files: Readonly<Record<string, string>>, ...options: string[]): Promise<string[]> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const config = {
      rootDir: folder,
      testEnvironment: "node",
      reporters: [join(root, "test/dist/support/runner/reporter.js")],
    };
    const args = [...jest, "--config", JSON.stringify({ ...config, transform: {} }), ...options];
    const { stdout } = await runProgram(process.execPath, args, { cwd: folder, environment: bareEnvironment() });
    return stdout.trimEnd().split("\n");
  }

  const skipping = `
    test("runs", () => {});
    test.skip("alone (no Redis here)", () => {});
    describe.skip("in containers (there is no podman)", () => { test("a", () => {}); test("b", () => {}); });
  `;

  test("names skipped tests before its last line, which counts them", async () => {
    expect((await report({ "some.test.js": skipping })).slice(-4)).toEqual([
      "Skipped, as this machine cannot run them:",
      "      some.test: alone (no Redis here)",
      "      some.test: in containers (there is no podman) (2 tests)",
      "1 passed, 0 failed, 3 skipped",
    ]);
  });

  test("names no tests excluded on the command line", async () => {
    const lines = await report({ "some.test.js": skipping }, "-t", "runs");
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/^ok /), "1 passed, 0 failed, 3 skipped"]);
  });

  test("shows failures in full, and counts a file that fails to load", async () => {
    const broken = 'test("breaks", () => { throw new Error("on purpose"); });';
    const lines = await report({ "broken.test.js": broken, "unreadable.test.js": "(" });
    expect(lines.at(-1)).toBe("0 passed, 2 failed, 0 skipped");
    expect(lines.join("\n")).toMatch(/^FAIL {2}broken\.test [^]*on purpose/m);
  });
});

describe("the progress", () => {
  function progressOn(screen: { isTTY: boolean; columns: number }) {
    let written = "";
    let now = 0;
    const progress = new Progress({ ...screen, write: (text) => (written += text) }, () => now);
    return {
      progress,
      pass: (ms: number) => (now += ms),
      last: () => written.split("\r\u001b[2K").at(-1),
      all: () => written,
    };
  }

  test("is one line of a terminal, below the permanent lines", () => {
    const { progress, pass, last, all } = progressOn({ isTTY: true, columns: 60 });
    progress.begin(3);
    progress.started("e2e/streams.test");
    pass(61_000);
    progress.ended("e2e/streams.test", 2);
    progress.started("deploy/installation.test");
    expect(last()).toBe("1/3 files, 2 failed, 1:01, running deploy/installation");
    progress.started("a/name-that-is-longer-than-what-is-left-of-the-line.test");
    expect(last()).toHaveLength(59);
    progress.above("ok\n");
    expect(all()).toContain("\r\u001b[2Kok\n\r\u001b[2K1/3 files");
    progress.end();
    expect(last()).toBe("");
  });

  test("is empty without a terminal", () => {
    const { progress, all } = progressOn({ isTTY: false, columns: 60 });
    progress.begin(1);
    progress.started("a.test");
    progress.above("ok\n");
    progress.end();
    expect(all()).toBe("ok\n");
  });
});

describe("an interrupted run", () => {
  const ours = (): string[] => readdirSync(folder).filter((name) => name.startsWith("sluice-"));

  const foldersIn = (parent: string): string[] => readdirSync(parent).map((name) => join(parent, name));

  /** Process ids in the records of the run's installations. */
  function installationPids(): number[] {
    const places = foldersIn(folder)
      .filter((path) => path.includes("sluice-run-"))
      .flatMap(foldersIn);
    const records = places.map((place) => join(place, "house.json")).filter(existsSync);
    // A record is made empty and written in one piece.
    const texts = records.map((record) => readFileSync(record, "utf8")).filter((text) => text !== "");
    return texts.flatMap((text) => Object.values((JSON.parse(text) as { pids: Record<string, number> }).pids));
  }

  test.each(["SIGINT", "SIGKILL"] as const)("by %s leaves neither folders nor processes", async (signal) => {
    const { JEST_WORKER_ID: _, ...environment } = { ...bareEnvironment(), TMPDIR: folder } as NodeJS.ProcessEnv;
    const child = spawn(process.execPath, [...jest, "--maxWorkers=2", "deploy/curl", "support/free-ports"], {
      cwd: root,
      env: environment,
      detached: true,
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    await eventually(() => installationPids().length >= 5);
    const pids = installationPids();
    // Ctrl-C in a terminal reaches the whole group; a kill only the one process.
    process.kill(signal === "SIGINT" ? -(child.pid as number) : (child.pid as number), signal);
    await ended;
    await eventually(() => ours().length === 0 && !pids.some(isAlive), 120_000);
  });
});
