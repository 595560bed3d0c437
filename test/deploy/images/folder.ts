/**
 * Creates the content of an image in a folder by the instructions of its Dockerfile, for machines without a container runtime. The compiled checkout
 * takes the place of the compiling stage.
 */
import { cpSync, mkdirSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { bareEnvironment, root, runProgram } from "../../support/processes.ts";
import { type Stage, historyOf } from "./dockerfile.ts";

const compiled = "build";

export class FolderBuild {
  readonly #stages: readonly Stage[];
  readonly #folder: string;
  readonly #made = new Map<string, Promise<string>>();

  /** @param folder empty folder, in which each stage gets a folder */
  constructor(stages: readonly Stage[], folder: string) {
    this.#stages = stages;
    this.#folder = folder;
  }

  /** Runs the instructions of a stage. @returns the folder that is the root of its file system */
  make(stage: string): Promise<string> {
    const made = this.#made.get(stage) ?? this.#make(stage);
    this.#made.set(stage, made);
    return made;
  }

  async #make(stage: string): Promise<string> {
    const top = join(this.#folder, stage);
    let directory = "/";
    for (const { keyword, value } of historyOf(this.#stages, stage)) {
      if (keyword === "WORKDIR") directory = value;
      const here = join(top, directory);
      mkdirSync(here, { recursive: true });
      if (keyword === "COPY") await this.#copy(value, here);
      if (keyword === "RUN") await shell(value, here);
    }
    return top;
  }

  async #copy(value: string, here: string): Promise<void> {
    const words = value.split(/\s+/);
    const from = words[0]?.startsWith("--from=") === true ? words.shift()?.slice("--from=".length) : undefined;
    // Only root could give the copies to root, so they belong to the user who runs the tests.
    if (words[0]?.startsWith("--chown=") === true) words.shift();
    const target = words.pop() as string;
    for (const word of words) {
      const source = await this.#source(from, word);
      // Like COPY: the content of a folder is copied, and a file goes into a target that ends in a slash.
      const place = target.endsWith("/") ? join(here, target, basename(source)) : join(here, target);
      cpSync(source, place, { recursive: true, verbatimSymlinks: true });
    }
  }

  async #source(from: string | undefined, path: string): Promise<string> {
    if (from === undefined) return join(root, path);
    return from === compiled ? join(root, relative("/sluice", path)) : join(await this.make(from), path);
  }
}

async function shell(command: string, cwd: string): Promise<void> {
  // npm prefers its cache, which has the packages since the checkout was installed.
  const environment = { ...bareEnvironment(), ...certificates(), npm_config_prefer_offline: "true" };
  const { code, stdout, stderr } = await runProgram("/bin/sh", ["-c", command], { cwd, environment });
  if (code !== 0) throw new Error(`${command}: ${stdout}${stderr}`);
}

/** Variables with certificates for registries behind a proxy of the machine. */
const certificates = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => name === "NODE_EXTRA_CA_CERTS"));
