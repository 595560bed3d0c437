/** Starts the reference adapter of the sandbox, and sends runs to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { freePorts } from "../../support/runner/free-ports.ts";
import { root } from "../../support/processes.ts";

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly outcome: { readonly type: string; readonly exit_code?: number };
}

export interface RunAnswer {
  readonly status: number;
  readonly output: readonly Output[];
  readonly error?: string;
}

const key = "k".repeat(32);
export const tenant = "a".repeat(64);

export class Adapter {
  readonly #process: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#process = child;
    this.#url = url;
  }

  /** @throws Error with the adapter's output if it does not start */
  static async start(environment: NodeJS.ProcessEnv): Promise<Adapter> {
    const [port] = await freePorts(1, [0]);
    const child = spawn(process.execPath, [join(root, "deploy/sandbox/adapter.mjs")], {
      env: { ...process.env, SANDBOX_API_KEY: key, SANDBOX_PORT: String(port), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (bytes) => (said += String(bytes)));
    const started = once(createInterface(child.stdout), "line").then(() => true);
    if (await Promise.race([started, once(child, "close").then(() => false)]))
      return new Adapter(child, `http://127.0.0.1:${port}`);
    throw new Error(said);
  }

  async run(fields: object, { signal, authorization = `Bearer ${key}` }: RunOptions = {}): Promise<RunAnswer> {
    const body = {
      tenant,
      container_id: "c",
      language: "shell",
      timeout_ms: 30_000,
      max_output_bytes: 10_000,
      sleep_after_seconds: 900,
      ...fields,
    };
    const response = await fetch(`${this.#url}/v1/runs`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
    const { output = [], ...rest } = (await response.json()) as Partial<RunAnswer>;
    return { ...rest, status: response.status, output };
  }

  async stop(): Promise<void> {
    const closed = once(this.#process, "close");
    this.#process.kill("SIGTERM");
    await closed;
  }
}

interface RunOptions {
  readonly signal?: AbortSignal;
  readonly authorization?: string;
}
