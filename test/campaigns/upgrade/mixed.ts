/** A checkout with some services of an earlier build, and the tests its clients can check it with. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { intendedChanges, intendedChangesElsewhere } from "./conformance.ts";
import { serverVariable } from "../../support/database.ts";
import { bareEnvironment, root, runProgram } from "../../support/processes.ts";
import { linkPackages } from "./packages.ts";
import type { Service } from "../../support/installation.ts";

/** Programs and tests find their checkout by where they are, so these are copied; of a service only its code counts. */
const copied = ["deploy", "test"];
const speakers = ["proto", "gateway", "inference-svc"];

/**
 * Takes everything, including the tests, from the earlier checkout except the upgraded services: earlier promises have to hold
 * in the middle of a rollout.
 * @returns its folder, next to the earlier one
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
  // Tests use the earlier build's protocol; only the command line belongs to the image of admin-svc.
  linkPackages(folder, earlier, (room) => (speakers.includes(room) ? earlier : folder));
  return folder;
}

/** The earlier supervisor finds files of the service, such as the catalogue, at their earlier places. */
function linkUpgraded(upgraded: string, earlier: string, to: string): void {
  mkdirSync(to);
  const names = new Set(readdirSync(upgraded));
  for (const name of names) symlinkSync(join(upgraded, name), join(to, name));
  for (const name of readdirSync(earlier)) if (!names.has(name)) symlinkSync(join(earlier, name), join(to, name));
}

export interface SuiteResult {
  /** The line of the reporter: so many passed, failed, skipped. */
  readonly total: string;
  /** Every failure in full; empty when there is none. */
  readonly failures: string;
}

/** @param files of test/e2e, without their ending */
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
      // A file's folder in test/e2e differs between revisions.
      ...files.map((file) => `/e2e/(?:.+/)?${file}\\.test\\.js$`),
    ],
    // Inside of a run of tests its server is there already.
    { cwd: checkout, environment: { ...bareEnvironment(), ...(server !== undefined && { DATABASE_URL: server }) } },
  );
  const lines = stdout.trimEnd().split("\n");
  return { total: lines.at(-1) ?? "", failures: code === 0 ? "" : `${stdout}${stderr}` };
}
