/** Runs the tests of the dialects with a fault planted in one of their modules. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, runProgram } from "../../support/processes.ts";
import type { PlantedFault } from "./faults.ts";

/** The compiled modules of the dialects. */
export const modules = join(root, "inference-svc/dist/models/upstream");

const jest = join(root, "node_modules/jest/bin/jest.js");
const transformer = fileURLToPath(new URL("plant.js", import.meta.url));

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** A fault may make a test wait for what never comes. */
const testTimeout = 20_000;

/** @returns the names of the suites that fail; empty when the fault goes unnoticed */
export async function findFailingSuites(fault?: PlantedFault): Promise<readonly string[]> {
  const config = {
    rootDir: join(root, "test/dist"),
    testMatch: ["<rootDir>/inference-svc/models/dialects/**/*.test.js"],
    transform: fault ? { [`${escaped(`${modules}/${fault.module}.js`)}$`]: [transformer, fault] } : {},
    testTimeout,
  };
  const { code, stdout, stderr } = await runProgram(process.execPath, [
    "--experimental-vm-modules",
    "--disable-warning=ExperimentalWarning",
    jest,
    `--config=${JSON.stringify(config)}`,
    "--maxWorkers=2",
    "--bail",
    "--colors=false",
  ]);
  const failed = [...`${stdout}${stderr}`.matchAll(/^FAIL +(\S+)/gm)].map(([, file = ""]) =>
    file.replace(/^.*dialects\//, ""),
  );
  if ((code === 0) !== (failed.length === 0)) throw new Error(`Jest ended with ${code}:\n${stdout}${stderr}`);
  return [...new Set(failed)];
}
