/** `npm start` in an installed but never built checkout, in a container of 1 GiB. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { root } from "../../support/processes.ts";
import { isolation } from "../../support/programs/namespace.ts";
import { type MemoryGroup, makeMemoryGroup } from "./limited.ts";

const mib = 1024 * 1024;
const megabyte = 1_000_000;

const group = groupOrUndefined();
const inGroup = group !== undefined && isolation !== undefined ? describe : describe.skip;

/** A memory group can be made only by root, and only with control groups of version 1. */
function groupOrUndefined(): MemoryGroup | undefined {
  try {
    return makeMemoryGroup(`sluice-first-start-${process.pid}`, 1_024 * mib);
  } catch {
    return undefined;
  }
}

afterAll(() => group?.remove());

/** Copies this checkout without build output. Packages are linked if the file system allows it. */
function copyUnbuilt(target: string): void {
  const made = new Set(["node_modules", "dist", "bundle", "bundle.new", ".git", ".sluice"]);
  const consoleTypes = join(root, "gateway/console/gen");
  const filter = (path: string) => !made.has(basename(path)) && path !== consoleTypes;
  cpSync(root, target, { recursive: true, verbatimSymlinks: true, filter });
  for (const room of [".", "gateway", "gateway/console", "inference-svc", "admin-svc", "proto", "deploy/local"]) {
    const packages = join(root, room, "node_modules");
    if (existsSync(packages)) copyPackages(packages, join(target, room, "node_modules"));
  }
}

function copyPackages(from: string, to: string): void {
  try {
    execFileSync("cp", ["-al", from, to], { stdio: "ignore" });
  } catch {
    rmSync(to, { recursive: true, force: true });
    execFileSync("cp", ["-a", from, to]);
  }
}

inGroup("a first start in 1 GiB without a network (needs root, and control groups of version 1)", () => {
  let folder: string;
  let installation: Installation;
  let peakBytes = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sluice-test-first-start-"));
    const checkout = join(folder, "checkout");
    copyUnbuilt(checkout);
    const limited = group as MemoryGroup;
    const ended = new AbortController();
    const watching = (async () => {
      for (; !ended.signal.aborted; await delay(20)) peakBytes = Math.max(peakBytes, limited.residentBytes);
    })();
    // The program of the copied checkout, instead of the one that startInstallation appends.
    const program = ["/bin/sh", "-c", `exec "${process.execPath}" "${join(checkout, "deploy/local/start.mjs")}"`];
    try {
      installation = await startInstallation({
        checkout,
        dataDir: join(folder, "data"),
        embeddedPostgres: true,
        prefix: [...limited.prefix, ...(isolation ?? []), ...program],
      });
    } finally {
      ended.abort();
      await watching;
    }
  }, 600_000);

  afterAll(async () => {
    await installation?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("compiles, builds and bundles", () => {
    for (const step of ["building: tsc -b", "building the console", "bundling the services", "\nready "]) {
      expect(installation.output()).toContain(step);
    }
  });

  test("takes at most 600 MB at its peak, in all processes together", () => {
    process.stderr.write(`peak of a first start: ${Math.round(peakBytes / megabyte)} MB\n`);
    expect(peakBytes).toBeGreaterThan(100 * megabyte);
    expect(peakBytes).toBeLessThanOrEqual(600 * megabyte);
  });

  test("leaves at most 120 MB to the supervisor", () => {
    const status = readFileSync(`/proc/${installation.pids()["supervisor"]}/status`, "utf8");
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
    process.stderr.write(`supervisor after a first start: ${Math.round(resident / megabyte)} MB\n`);
    expect(resident).toBeLessThanOrEqual(120 * megabyte);
  });
});
