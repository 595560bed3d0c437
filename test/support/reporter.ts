/** Prints each file as it ends, failures in full, and as the very last line the total that scripts read. */
import { stripVTControlCharacters } from "node:util";
import type { AggregatedResult, Reporter, Test, TestResult } from "@jest/reporters";

const plain = (text: string) => (process.stdout.isTTY ? text : stripVTControlCharacters(text));
const say = (text: string) => void process.stdout.write(`${plain(text)}\n`);

export default class TotalReporter implements Pick<Reporter, "onTestResult" | "onRunComplete"> {
  onTestResult(test: Test, result: TestResult): void {
    const failed = result.numFailingTests > 0 || result.testExecError !== undefined;
    const seconds = ((result.perfStats.end - result.perfStats.start) / 1000).toFixed(1);
    const name = test.path.slice(test.context.config.rootDir.length + 1).replace(/\.js$/, "");
    say(`${failed ? "FAIL" : "ok  "}  ${name}  (${result.numPassingTests} passed, ${seconds} s)`);
    for (const { message } of result.console ?? []) say(`      ${message}`);
    if (failed) say(result.failureMessage ?? result.testExecError?.message ?? "");
  }

  onRunComplete(_: unknown, results: AggregatedResult): void {
    // A file that cannot even be loaded has no tests to count; it counts as one that failed.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    say(`${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped`);
  }
}
