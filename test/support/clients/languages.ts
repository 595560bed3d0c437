/**
 * Clients in languages other than JavaScript, as published: their versions, their installation, and the start of their programs.
 *
 * Installations and builds are kept in a folder of the user's cache, named after all their inputs, so each is made once for every
 * checkout of the machine.
 */
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../processes.ts";
import { makeCachedFolder } from "./cache.ts";

const run = promisify(execFile);
export const programsFolder = join(root, "test/support/clients/programs");

export type Language = "Python" | "Go" | "Java" | "Rust" | "JavaScript";

/** A set of packages that are installed together, and the command to start a program with them. */
export interface Toolchain {
  readonly language: Language;
  /** Command to print the version of the language; if it fails, the set is skipped. */
  readonly probe: readonly string[];
  /** All files that determine the installation. */
  readonly sources: readonly string[];
  /** Packages with their versions, in the form of the package manager. */
  readonly packages: readonly string[];
  readonly install: (folder: string, set: Toolchain) => Promise<void>;
  readonly command: (folder: string, program: string) => readonly string[];
}

/** Variables to keep clients from other hosts than the gateway; LiteLLM would fetch a list of prices. */
export const offlineVariables = { LITELLM_LOCAL_MODEL_COST_MAP: "True" };

const options = { maxBuffer: 64 << 20, timeout: 540_000 };

/** Installs Python packages into a folder. @param packages packages, or options of pip */
export async function installPython(folder: string, packages: readonly string[]): Promise<void> {
  const target = ["--target", join(folder, "packages"), "--disable-pip-version-check", "--no-warn-script-location"];
  await run("python3", ["-m", "pip", "install", "--quiet", ...target, ...packages], options);
}

/** Variables with which a Python program finds the packages in the folder. */
export const pythonEnvironment = (folder: string): Readonly<Record<string, string>> => ({
  PYTHONPATH: join(folder, "packages"),
  PYTHONDONTWRITEBYTECODE: "1",
});

/** The command to run Python with the packages in the folder. */
const pythonCommand = (folder: string): readonly string[] => [
  "env",
  ...Object.entries({ ...pythonEnvironment(folder), ...offlineVariables }).map(([name, value]) => `${name}=${value}`),
  "python3",
];

/** @param command command to start a program; by default one of the Python programs in this folder */
export const python = (
  packages: readonly string[],
  command: (program: string) => readonly string[] = (program) => [join(programsFolder, "python/program.py"), program],
): Toolchain => ({
  language: "Python",
  probe: ["python3", "--version"],
  sources: [],
  packages,
  install: (folder) => installPython(folder, packages),
  command: (folder, program) => [...pythonCommand(folder), ...command(program)],
});

const filesOf = (folder: string): string[] =>
  readdirSync(join(programsFolder, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

const go: Toolchain = {
  language: "Go",
  probe: ["go", "version"],
  sources: filesOf("go"),
  packages: [],
  install: async (folder) => {
    // The source folder is read only: a build that changes its files fails.
    const source = { ...options, cwd: join(programsFolder, "go") };
    // The code is compiled without optimization, which would take longer than it saves in the tests.
    const plain = ["-gcflags=all=-N -l", "-ldflags=-s -w"];
    await run("go", ["build", "-mod=readonly", ...plain, "-o", join(folder, "clients"), "."], source);
  },
  command: (folder, program) => [join(folder, "clients"), program],
};

const java: Toolchain = {
  language: "Java",
  probe: ["mvn", "--version"],
  sources: filesOf("java"),
  packages: [],
  install: async (folder) => {
    const source = join(programsFolder, "java");
    const copy = ["dependency:copy-dependencies", `-DoutputDirectory=${join(folder, "lib")}`];
    await run("mvn", ["-q", "-B", "-f", join(source, "pom.xml"), ...copy], options);
    const files = java.sources.filter((file) => file.endsWith(".java"));
    await run("javac", ["-cp", join(folder, "lib/*"), "-d", join(folder, "classes"), ...files], options);
  },
  command: (folder, program) => [
    "java",
    "-XX:TieredStopAtLevel=1",
    "-cp",
    `${join(folder, "classes")}:${join(folder, "lib/*")}`,
    "Program",
    program,
  ],
};

const rust: Toolchain = {
  language: "Rust",
  probe: ["cargo", "--version"],
  sources: filesOf("rust"),
  packages: [],
  install: async (folder) => {
    const target = ["--target-dir", join(folder, "target"), "--manifest-path", join(programsFolder, "rust/Cargo.toml")];
    const environment = { ...process.env, CARGO_PROFILE_DEV_DEBUG: "0", CARGO_INCREMENTAL: "0" };
    await run("cargo", ["build", "--quiet", "--locked", ...target], { ...options, env: environment });
  },
  command: (folder, program) => [join(folder, "target/debug/clients"), program],
};

/** A set of npm packages. Installation scripts do not run, since they may download more. */
export const javaScript = (packages: readonly string[], command: Toolchain["command"]): Toolchain => ({
  language: "JavaScript",
  probe: ["node", "--version"],
  sources: [],
  packages,
  install: async (folder) => {
    const quick = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--fetch-retries=1"];
    const small = ["--ignore-scripts", "--omit=optional", "--omit=peer"];
    await run("npm", ["install", ...quick, ...small, "--prefix", folder, ...packages], options);
  },
  command,
});

/** The sets by name. The versions in a Python set are compatible with each other. */
export const toolchains = {
  python3: python([
    "openai==3.51.0",
    "anthropic==1.17.0",
    "pydantic-ai-slim[anthropic,openai]==2.68.0",
    "langchain-openai==1.7.4",
    "langchain-anthropic==1.7.10",
    "openai-agents==0.24.0",
  ]),
  python2: python(["openai==2.54.0", "anthropic==2.14.0"]),
  litellm: python(["litellm==1.110.2"]),
  instructor: python(["instructor==1.17.0"]),
  go,
  java,
  rust,
} satisfies Readonly<Record<string, Toolchain>>;

export type ToolchainName = keyof typeof toolchains;

/** Version of a package in a set. @throws if no file of the set names the package */
export function foreignVersion(set: ToolchainName, name: string): string {
  const { packages, sources }: Toolchain = toolchains[set];
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const texts = [
    ...packages,
    ...sources.filter((file) => /\.(mod|toml|xml)$/.test(file)).map((file) => readFileSync(file, "utf8")),
  ];
  const pattern = new RegExp(
    `^${escaped}(?:\\[.*\\])?==(.*)$|^\\s*${escaped} v?(\\d\\S*)|^${escaped} = .*?"=?(\\d[^"]*)"|<artifactId>${escaped}</artifactId>\\s*<version>(.*?)</version>`,
    "m",
  );
  const found = texts.map((text) => pattern.exec(text)).find((match) => match);
  const version = found?.slice(1).find((text) => text !== undefined);
  if (version === undefined) throw new Error(`${set} has no package ${name}`);
  return version;
}

/** Version of the language on this machine; undefined if it is missing. */
function languageVersion({ probe: [program, ...args] }: Toolchain): string | undefined {
  try {
    return execFileSync(program as string, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/** The folder of an installed toolchain, or the reason why its client cannot run on this machine. */
export type InstalledToolchain = { readonly folder: string } | { readonly missing: string };

const installations = new Map<Toolchain, Promise<InstalledToolchain>>();

/** Installs a set unless it is installed. If the language, or a registry for its packages, is missing, the result says so and the set is skipped. */
export function install(set: Toolchain): Promise<InstalledToolchain> {
  let installation = installations.get(set);
  if (!installation) installations.set(set, (installation = tryInstall(set)));
  return installation;
}

async function tryInstall(set: Toolchain): Promise<InstalledToolchain> {
  const version = languageVersion(set);
  if (version === undefined) return { missing: `this machine has no ${set.language}` };
  try {
    return { folder: await installed(set, version) };
  } catch (error) {
    return { missing: `its packages cannot be installed: ${String(error).slice(0, 500).replaceAll(/\s+/g, " ")}` };
  }
}

function installed(set: Toolchain, version: string): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([set.language, set.packages, version]));
  for (const file of set.sources) hash.update(file.slice(programsFolder.length)).update(readFileSync(file));
  const name = `${set.language.toLowerCase()}-${hash.digest("hex").slice(0, 16)}`;
  return makeCachedFolder(name, (folder) => set.install(folder, set));
}
