/**
 * A reporter of Jest: prints each file as it ends, failures in full, tests skipped on this machine, the beginnings of all failures again and, as the
 * very last line, the total for scripts. On a terminal, a line below shows the progress.
 */
import { stripVTControlCharacters } from "node:util";
import type {
  AggregatedResult,
  Config,
  Reporter,
  Test,
  TestCaseResult,
  TestContext,
  TestResult,
} from "@jest/reporters";
import { Progress } from "./progress.ts";

const plain = (text: string) => (process.stdout.isTTY ? text : stripVTControlCharacters(text));

/** Maximum number of lines of a file's failures that are repeated at the end. */
const maxRepeatedLines = 40;

type Parts = "onRunStart" | "onTestFileStart" | "onTestCaseResult" | "onTestResult" | "onRunComplete";

export default class TotalReporter implements Pick<Reporter, Parts> {
  readonly #progress = new Progress(process.stdout);
  /** Whether to list skipped tests; not if the command line picks tests by a pattern, since others are then left out on purpose. */
  readonly #named: boolean;
  readonly #skipped = new Map<string, string[]>();
  /** Names of files with the text of their failures. */
  readonly #failed = new Map<string, string>();

  constructor({ testNamePattern }: Config.GlobalConfig) {
    this.#named = testNamePattern === undefined || testNamePattern === "";
  }

  onRunStart(results: AggregatedResult): void {
    this.#progress.begin(results.numTotalTestSuites);
  }

  onTestFileStart(test: Test): void {
    this.#progress.started(nameOf(test));
  }

  /** Prints a failure at once: its file may take minutes until it ends, and the failure is then printed in full. */
  onTestCaseResult(test: Test, { status, fullName }: TestCaseResult): void {
    if (status === "failed" && process.stdout.isTTY) this.#say(`FAIL  ${nameOf(test)}: ${fullName}`);
  }

  onTestResult(test: Test, result: TestResult): void {
    const failed = result.numFailingTests > 0 || result.testExecError !== undefined;
    const seconds = ((result.perfStats.end - result.perfStats.start) / 1000).toFixed(1);
    const name = nameOf(test);
    this.#progress.ended(name, result.numFailingTests);
    const skipped = result.testResults.filter(({ status }) => status === "pending" || status === "todo");
    if (skipped.length > 0) this.#skipped.set(name, skippedNames(skipped));
    this.#say(`${failed ? "FAIL" : "ok  "}  ${name}  (${result.numPassingTests} passed, ${seconds} s)`);
    for (const { message } of result.console ?? []) this.#say(`      ${message}`);
    if (!failed) return;
    const message = result.failureMessage ?? result.testExecError?.message ?? "";
    this.#failed.set(name, message);
    this.#say(message);
  }

  onRunComplete(_: Set<TestContext>, results: AggregatedResult): void {
    this.#progress.end();
    // A file that cannot be loaded has no tests to count, and counts as one failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    if (this.#named && this.#skipped.size > 0) this.#say("Skipped, as this machine cannot run them:");
    for (const [name, tests] of this.#named ? this.#skipped : []) {
      for (const test of tests) this.#say(`      ${name}: ${test}`);
    }
    this.#repeatFailures();
    this.#say(`${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped`);
  }

  /** Repeats failures, since in a run of all files they are far above the last line. */
  #repeatFailures(): void {
    if (this.#failed.size > 0) this.#say("Failed:");
    for (const [name, message] of this.#failed) {
      const lines = message.trim().split("\n");
      this.#say([`FAIL  ${name}`, ...lines.slice(0, maxRepeatedLines)].join("\n"));
    }
  }

  #say(text: string): void {
    this.#progress.above(`${plain(text)}\n`);
  }
}

const nameOf = ({ path, context }: Test): string => path.slice(context.config.rootDir.length + 1).replace(/\.js$/, "");

/** Names of skipped tests. A group has one line, since its title gives the reason. */
function skippedNames(tests: readonly TestCaseResult[]): string[] {
  const groups = new Map<string, TestCaseResult[]>();
  for (const test of tests) {
    const [title = ""] = test.ancestorTitles;
    groups.set(title, [...(groups.get(title) ?? []), test]);
  }
  return [...groups].flatMap(([title, group]) =>
    title === "" || group.length === 1 ? group.map(({ fullName }) => fullName) : [`${title} (${group.length} tests)`],
  );
}
