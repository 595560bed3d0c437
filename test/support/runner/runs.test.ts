/** A whole test run: its output and its complete cleanup. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
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

describe("the report of a test run", () => {
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

  test("repeats the beginning of every failure between the skipped tests and its last line", async () => {
    const long = Array.from({ length: 60 }, (_, n) => `line ${n}`).join("\\n");
    const files = {
      "broken.test.js": `test("breaks", () => { throw "${long}"; }); test.skip("alone (no Redis here)", () => {});`,
      "unreadable.test.js": "(",
      "whole.test.js": 'test("works", () => {});',
    };
    const lines = await report(files);
    const from = lines.indexOf("Failed:");
    expect(lines[from - 1]).toBe("      broken.test: alone (no Redis here)");
    const names = lines.slice(from).filter((line) => line.startsWith("FAIL"));
    expect(names.sort()).toEqual(["FAIL  broken.test", "FAIL  unreadable.test"]);
    const own = lines.slice(lines.lastIndexOf("FAIL  broken.test") + 1);
    expect(own[0]).toContain("breaks");
    expect(own[39]).toMatch(/line 3\d$/);
    expect(own[40]).toMatch(/^(FAIL {2}unreadable\.test|1 passed, 2 failed, 1 skipped)$/);
    expect(lines.at(-1)).toBe("1 passed, 2 failed, 1 skipped");
  });
});

describe("the gate of two test runs", () => {
  /** Runs the gate with programs that print what a test run would. */
  async function gate(tests: string): Promise<string[]> {
    for (const name of [".ci", "bin"]) mkdirSync(join(folder, name));
    copyFileSync(join(root, ".ci/run"), join(folder, ".ci/run"));
    writeFileSync(join(folder, "tests.txt"), tests);
    const programs = { npm: 'if [ "$1" = test ]; then cat tests.txt; fi', node: "echo v1", helm: "echo" };
    for (const [name, text] of Object.entries(programs))
      writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const environment = { ...bareEnvironment(), PATH: `${join(folder, "bin")}:${process.env["PATH"]}` };
    const { stdout } = await runProgram("bash", [join(folder, ".ci/run")], { cwd: folder, environment });
    const lines = stdout.trimEnd().split("\n");
    return lines.slice(lines.indexOf("Failures of all runs:"));
  }

  const notInstalled = (version: string) => [
    expect.stringMatching(`^== smoke on Node ${version}`),
    "FAIL  this version could not be installed",
  ];

  test("prints the failures of each run before its last line", async () => {
    expect(await gate("Failed:\nFAIL  old\nFailed:\nFAIL  a.test\nwhy\n5 passed, 1 failed, 2 skipped\n")).toEqual([
      "Failures of all runs:",
      "== every test on Node v1",
      "FAIL  a.test",
      "why",
      ...notInstalled("22"),
      ...notInstalled("24"),
      "5 passed, 3 failed, 2 skipped",
    ]);
  });

  test("prints the end of a run without a total", async () => {
    expect((await gate("killed\n")).slice(0, 4)).toEqual([
      "Failures of all runs:",
      "== every test on Node v1",
      "FAIL  no total, status 0",
      "killed",
    ]);
  });

  test("keeps many failures to 120 lines, with every name", async () => {
    const names = Array.from({ length: 9 }, (_, n) => `FAIL  ${n}.test`);
    const failures = names.map((name) => `${name}\n${"why\n".repeat(39)}`).join("");
    const lines = await gate(`Failed:\n${failures}1 passed, 9 failed, 0 skipped\n`);
    expect(lines).toEqual(expect.arrayContaining([...names, "1 passed, 11 failed, 0 skipped"]));
    expect(lines.length).toBeLessThan(120);
    expect(lines.length).toBeGreaterThan(80);
  });
});

describe("the progress line of a test run", () => {
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

describe("an interrupted test run", () => {
  const ours = (): string[] => readdirSync(folder).filter((name) => name.startsWith("sluice-"));

  const foldersIn = (parent: string): string[] => readdirSync(parent).map((name) => join(parent, name));

  /** Process ids in the records of the run's installations. */
  function installationPids(): number[] {
    const places = foldersIn(folder)
      .filter((path) => path.includes("sluice-run-"))
      .flatMap(foldersIn);
    const records = places.map((place) => join(place, "house.json")).filter(existsSync);
    // A record is created empty, and then written in one piece.
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
