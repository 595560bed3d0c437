/** A checkout with some services of an earlier build, and with the tests that check it. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { intendedChanges, intendedChangesElsewhere } from "./conformance.ts";
import { serverVariable } from "../../support/database.ts";
import { bareEnvironment, root, runProgram } from "../../support/processes.ts";
import { linkPackages } from "./packages.ts";
import type { Service } from "../../support/installation.ts";

/** Folders to copy instead of linking: their programs and tests find the checkout by their own location. */
const copied = ["deploy", "test"];
const speakers = ["proto", "gateway", "inference-svc"];

/**
 * Makes a checkout in which everything except the upgraded services, including the tests, comes from the earlier checkout: earlier promises must hold
 * in the middle of a rollout.  @returns its folder, next to the earlier one
 */
export function makeMixedCheckout(earlier: string, upgraded: readonly Service[]): string {
  const folder = mkdtempSync(join(dirname(earlier), "mixed-"));
  for (const name of readdirSync(earlier)) {
    if (name === "node_modules") continue;
    const from = join(earlier, name);
    const to = join(folder, name);
    if ((upgraded as readonly string[]).includes(name)) linkUpgraded(join(root, name), from, to);
    else if (statSync(from).isDirectory() && !copied.includes(name)) symlinkSync(from, to);
    else cpSync(from, to, { recursive: true });
  }
  // Tests use the protocol of the earlier build; only the command line is part of admin-svc's image.
  linkPackages(folder, earlier, (room) => (speakers.includes(room) ? earlier : folder));
  return folder;
}

/** Links files of an upgraded service, such as the catalogue, to the places where the earlier supervisor looks for them. */
function linkUpgraded(upgraded: string, earlier: string, to: string): void {
  mkdirSync(to);
  const names = new Set(readdirSync(upgraded));
  for (const name of names) symlinkSync(join(upgraded, name), join(to, name));
  for (const name of readdirSync(earlier)) if (!names.has(name)) symlinkSync(join(earlier, name), join(to, name));
}

export interface SuiteResult {
  /** The reporter's line with the numbers of passed, failed and skipped tests. */
  readonly total: string;
  /** Every failure in full; empty without failures. */
  readonly failures: string;
}

/** @param files files of test/e2e, without their extension */
export async function runSuites(checkout: string, files: readonly string[]): Promise<SuiteResult> {
  const server = process.env[serverVariable];
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [
      "--experimental-vm-modules",
      "--disable-warning=ExperimentalWarning",
      join(root, "node_modules/jest/bin/jest.js"),
      "--runInBand",
      `--testNamePattern=^(?!.*(?:${[...intendedChanges, ...intendedChangesElsewhere].join("|")})$)`,
      // The folder of a file in test/e2e differs between revisions.
      ...files.map((file) => `/e2e/(?:.+/)?${file}\\.test\\.js$`),
    ],
    // Inside of a test run, its Postgres server is used.
    { cwd: checkout, environment: { ...bareEnvironment(), ...(server !== undefined && { DATABASE_URL: server }) } },
  );
  const lines = stdout.trimEnd().split("\n");
  return { total: lines.at(-1) ?? "", failures: code === 0 ? "" : `${stdout}${stderr}` };
}
