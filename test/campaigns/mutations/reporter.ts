/** A reporter of Jest that writes the result of each suite to a file, also if Jest ends at the first failing suite. */
import { writeFileSync } from "node:fs";
import type { AggregatedResult, Config, Reporter, TestContext } from "@jest/reporters";

export interface DialectSuite {
  readonly path: string;
  readonly hasFailed: boolean;
  readonly tests: readonly TestResult[];
}

export interface TestResult {
  /** Duration in milliseconds; absent for a test that did not run. */
  readonly ms?: number | undefined;
  readonly failures: readonly string[];
}

export default class SuitesReporter implements Pick<Reporter, "onRunComplete"> {
  readonly #file: string;

  constructor(_: Config.GlobalConfig, { file }: { readonly file: string }) {
    this.#file = file;
  }

  onRunComplete(_: Set<TestContext>, { testResults }: AggregatedResult): void {
    const suites = testResults.map(
      (suite): DialectSuite => ({
        path: suite.testFilePath,
        hasFailed: suite.numFailingTests > 0 || suite.testExecError !== undefined,
        tests: suite.testResults.map(({ duration, failureMessages }) => ({
          ms: duration ?? undefined,
          failures: failureMessages,
        })),
      }),
    );
    writeFileSync(this.#file, JSON.stringify(suites));
  }
}
