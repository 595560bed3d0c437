/** Runs the tests of the dialects with a fault planted in one of the modules. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, runProgram } from "../../support/processes.ts";
import type { PlantedFault } from "./faults.ts";
import type { DialectSuite } from "./reporter.ts";

/** The compiled modules of the dialects. */
export const modules = join(root, "inference-svc/dist/models/upstream");

const jest = join(root, "node_modules/jest/bin/jest.js");
const reporter = fileURLToPath(new URL("reporter.js", import.meta.url));
const transformer = fileURLToPath(new URL("plant.js", import.meta.url));

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** Time limit in milliseconds of a test without a fault, for tests that hang; it says nothing about speed. */
const longestTestMs = 600_000;

/** Minimum time limit in milliseconds of a test with a fault, which may make the test wait for something that never happens. */
const leastLimitMs = 60_000;

export interface DialectsRun {
  /** Names of the suites that fail; empty if the fault goes unnoticed. */
  readonly failing: readonly string[];
  /** Whether tests failed by their time limit only: a test may hang, or the machine may suddenly be slow. */
  readonly isOnlyByTime: boolean;
  readonly longestMs: number;
}

/** Time limit in milliseconds of a test with a fault, from a run without one on the same machine shortly before. */
export const limitAfter = ({ longestMs }: DialectsRun): number => Math.max(leastLimitMs, 3 * longestMs);

/** Runs the suites of the dialects, until the first one fails. */
export async function runDialects(testTimeout = longestTestMs, fault?: PlantedFault): Promise<DialectsRun> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-mutations-"));
  const results = join(folder, "results.json");
  const config = {
    rootDir: join(root, "test/dist"),
    testMatch: ["<rootDir>/inference-svc/models/dialects/**/*.test.js"],
    transform: fault ? { [`${escaped(`${modules}/${fault.module}.js`)}$`]: [transformer, fault] } : {},
    testTimeout,
    reporters: ["default", [reporter, { file: results }]],
  };
  try {
    const { code, stdout, stderr } = await runProgram(process.execPath, [
      "--experimental-vm-modules",
      "--disable-warning=ExperimentalWarning",
      jest,
      `--config=${JSON.stringify(config)}`,
      "--maxWorkers=2",
      "--bail",
      "--colors=false",
    ]);
    const run = existsSync(results) ? readRun(JSON.parse(readFileSync(results, "utf8")) as DialectSuite[]) : undefined;
    if (run === undefined || (code === 0) !== (run.failing.length === 0))
      throw new Error(`Jest ended with ${code}:\n${stdout}${stderr}`);
    return run;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function readRun(suites: readonly DialectSuite[]): DialectsRun {
  const tests = suites.flatMap((suite) => suite.tests);
  const failures = tests.flatMap((test) => test.failures);
  return {
    failing: suites.filter(({ hasFailed }) => hasFailed).map(({ path }) => path.replace(/^.*dialects\//, "")),
    isOnlyByTime: failures.length > 0 && failures.every((message) => message.includes("Exceeded timeout of")),
    longestMs: Math.max(0, ...tests.map(({ ms = 0 }) => ms)),
  };
}
