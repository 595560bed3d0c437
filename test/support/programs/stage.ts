/**
 * An installation for tests of programs, with a scripted model of each dialect that enforces its vendor's rules. A program runs in its own folder, as
 * a user without settings, in a network namespace with only loopback: a request to another host fails there.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { testProgram } from "../clients/coverage.ts";
import { type Installation, startInstallation } from "../installation.ts";
import { type Received, type Upstream, startUpstream } from "../providers/upstream.ts";
import { type ModelDialect, programDialects, type ToolStep, scriptedModel } from "./model.ts";
import { type IsolatedResult, isolation, runIsolated } from "./namespace.ts";
import { type InstalledProgram, installProgram } from "./programs.ts";

/** Milliseconds after which a program counts as hanging. */
const limitMs = 240_000;
export const testLimitMs = limitMs + 60_000;

const vendors: Readonly<Record<ModelDialect, string>> = { chat: "openai", messages: "anthropic", responses: "openai" };
export const contextLength = 200_000;
export const maxOutputTokens = 8_192;

export interface ProgramRun extends IsolatedResult {
  /** The requests that the provider accepted; it refused none. */
  readonly requests: readonly Received[];
}

export class ProgramStage {
  readonly #command: readonly string[];
  #installation: Installation | undefined = undefined;
  #upstream: Upstream | undefined = undefined;
  #folder = "";

  /** @param command command to start the program */
  constructor(command: readonly string[]) {
    this.#command = command;
  }

  get installation(): Installation {
    return this.#installation as Installation;
  }

  get upstream(): Upstream {
    return this.#upstream as Upstream;
  }

  /** The user's home folder, which has no settings when a test begins. */
  get home(): string {
    return join(this.#folder, "home");
  }

  /** The folder in which the program starts. */
  get project(): string {
    return join(this.#folder, "project");
  }

  async start(): Promise<void> {
    this.#upstream = await startUpstream([], { isOpenAi: true });
    const base = `${this.#upstream.url}/v1`;
    const limits = `context_length: ${contextLength}, max_output_tokens: ${maxOutputTokens}`;
    this.#installation = await startInstallation({
      config: [
        "providers:",
        ...programDialects.map(
          (name) => `  - {id: ${name}, dialect: ${name}, base_url: "${base}", vendor: ${vendors[name]}}`,
        ),
        "models:",
        ...programDialects.map((name) => `  - {id: far/${name}, ${limits}, endpoints: [{provider: ${name}}]}`),
        "",
      ].join("\n"),
    });
  }

  async stop(): Promise<void> {
    await this.#installation?.stop();
    await this.#upstream?.stop();
  }

  /** Creates empty folders for the user and the project. */
  open(): void {
    this.#folder = mkdtempSync(join(tmpdir(), "sluice-test-program-"));
    mkdirSync(this.home);
    mkdirSync(this.project);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @param path path in the folder of the test, such as "home/settings.json" */
  write(path: string, text: string): void {
    const file = join(this.#folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** @param path path in the project @returns undefined if the file does not exist */
  read(path: string): string | undefined {
    const file = join(this.project, path);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  /** Scripts the model for the next run. @param last last words of the model */
  script(steps: readonly ToolStep[], last: string): void {
    this.upstream.script(scriptedModel(steps, last));
  }

  /** Runs the program to its end. @param environment variables besides PATH and HOME */
  async run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<ProgramRun> {
    const [from, refused] = [this.upstream.requests.length, this.upstream.refusals.length];
    const ended = await runIsolated([...this.#command, ...args], this.installation.ports.gateway, {
      cwd: this.project,
      environment: { PATH: process.env["PATH"], HOME: this.home, ...environment },
      limitMs,
    });
    expect(this.upstream.refusals.slice(refused)).toEqual([]);
    return { ...ended, requests: this.upstream.requests.slice(from) };
  }
}

/**
 * The tests of a program, for each task in its row of the table; or one skipped test with the reason if the program cannot run.  @param tests
 * functions that define the tests of each task
 */
export async function testInstalledProgram(
  program: InstalledProgram,
  tests: (stage: ProgramStage) => Readonly<Record<string, () => void>>,
): Promise<void> {
  const installed =
    isolation === undefined ? { missing: "this machine permits no network namespaces" } : await installProgram(program);
  if ("missing" in installed || program.set === undefined) {
    const reason = "missing" in installed ? installed.missing : "";
    describe(`${program.name} ${program.version}: skipped, because ${reason}`, () => test.skip(program.name, () => {}));
    return;
  }
  const stage = new ProgramStage(program.set.command(installed.folder, program.name));
  beforeAll(() => stage.start());
  afterAll(() => stage.stop());
  beforeEach(() => stage.open());
  afterEach(() => stage.close());
  testProgram(program.name, tests(stage));
}

/** Expects each request of the task to contain the results of all tools so far. @param results texts by which each tool's result is recognised */
export function expectResults(requests: readonly Received[], results: readonly string[]): void {
  expect(requests).toHaveLength(results.length + 1);
  for (const [index, { body }] of requests.entries())
    for (const [step, result] of results.entries()) expect([step, body.includes(result)]).toEqual([step, step < index]);
}
