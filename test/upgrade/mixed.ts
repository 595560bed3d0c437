/** A checkout of which some services are an earlier build, and the tests that its clients can hold it to. */
import { cpSync, mkdtempSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { changedOnPurpose } from "./conformance.ts";
import { serverVariable } from "../support/database.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";
import { linkPackages } from "./packages.ts";
import type { Service } from "../support/house.ts";

/** Programs and tests find their checkout by where they are, so these are copied; of a service only its code counts. */
const copied = ["deploy", "test"];
const speakers = ["proto", "gateway", "inference-svc"];

/**
 * Everything is the earlier checkout's, the tests among it, but for the services that were upgraded: what was promised before has to hold
 * while a rollout is half done.
 * @returns its folder, beside the earlier one
 */
export function mix(earlier: string, upgraded: readonly Service[]): string {
  const folder = mkdtempSync(join(dirname(earlier), "mixed-"));
  for (const name of readdirSync(earlier)) {
    if (name === "node_modules") continue;
    const isUpgraded = (upgraded as readonly string[]).includes(name);
    const from = join(isUpgraded ? root : earlier, name);
    if (statSync(from).isDirectory() && !copied.includes(name)) symlinkSync(from, join(folder, name));
    else cpSync(from, join(folder, name), { recursive: true });
  }
  // Tests speak as the earlier build does; only the command line is that of the admin-svc in whose image it is.
  linkPackages(folder, earlier, (room) => (speakers.includes(room) ? earlier : folder));
  return folder;
}

export interface SuiteResult {
  /** The line of the reporter: so many passed, failed, skipped. */
  readonly total: string;
  /** Every failure in full; empty when there is none. */
  readonly failures: string;
}

/** @param files of test/e2e, without their ending */
export async function hold(checkout: string, files: readonly string[]): Promise<SuiteResult> {
  const server = process.env[serverVariable];
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [
      "--experimental-vm-modules",
      "--disable-warning=ExperimentalWarning",
      join(root, "node_modules/jest/bin/jest.js"),
      "--runInBand",
      `--testNamePattern=^(?!.*(?:${changedOnPurpose.join("|")})$)`,
      // In which folder of test/e2e a file stands differs between revisions.
      ...files.map((file) => `/e2e/(?:.+/)?${file}\\.test\\.js$`),
    ],
    // Inside of a run of tests its server is there already.
    { cwd: checkout, environment: { ...bareEnvironment(), ...(server !== undefined && { DATABASE_URL: server }) } },
  );
  const lines = stdout.trimEnd().split("\n");
  return { total: lines.at(-1) ?? "", failures: code === 0 ? "" : `${stdout}${stderr}` };
}
