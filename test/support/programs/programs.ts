/** Programs that tests run unmodified: the version of each, and how it is installed and started. */
import { join } from "node:path";
import { type InstalledToolchain, type Toolchain, install, javaScript, python } from "../clients/languages.ts";

export interface InstalledProgram {
  readonly name: string;
  readonly version: string;
  /** Whether the program runs only with `PROGRAMS=all`, since its installation takes minutes. */
  readonly isLarge?: true;
  /** Undefined if there is no build for this system. */
  readonly set: Toolchain | undefined;
}

const system = `${process.platform}-${process.arch}`;

/** A package that contains a built program, under the same name on every system. */
const built = (spec: string, path: string): Toolchain | undefined =>
  ["linux-x64", "linux-arm64"].includes(system)
    ? javaScript([`program@npm:${spec}`], (folder) => [join(folder, "node_modules/program", path)])
    : undefined;

const versions = {
  claudeCode: "2.1.332",
  codex: "0.171.0",
  opencode: "1.18.33",
  llm: "0.36",
  aider: "0.86.2",
  // The last version for Node 20.
  promptfoo: "0.121.20",
} as const;

const codexFolder = process.arch === "arm64" ? "aarch64-unknown-linux-musl" : "x86_64-unknown-linux-musl";

export const programs = {
  claudeCode: {
    name: "Claude Code",
    version: versions.claudeCode,
    set: built(`@anthropic-ai/claude-code-${system}@${versions.claudeCode}`, "claude"),
  },
  codex: {
    name: "Codex",
    version: versions.codex,
    set: built(`@openai/codex@${versions.codex}-${system}`, `vendor/${codexFolder}/bin/codex`),
  },
  opencode: {
    name: "opencode",
    version: versions.opencode,
    set: built(`opencode-${system}@${versions.opencode}`, "bin/opencode"),
  },
  llm: { name: "llm", version: versions.llm, set: python([`llm==${versions.llm}`], () => ["-m", "llm"]) },
  aider: {
    name: "aider",
    version: versions.aider,
    isLarge: true,
    set: python([`aider-chat==${versions.aider}`], () => ["-m", "aider"]),
  },
  promptfoo: {
    name: "promptfoo",
    version: versions.promptfoo,
    isLarge: true,
    // promptfoo's database is an optional package for each system; all optional packages together would be a gigabyte.
    set: javaScript([`promptfoo@${versions.promptfoo}`, `@libsql/${system}-gnu@0.5.29`], (folder) => [
      process.execPath,
      join(folder, "node_modules/promptfoo/dist/src/entrypoint.js"),
    ]),
  },
} satisfies Readonly<Record<string, InstalledProgram>>;

/** Installs a program unless it is installed. @returns the reason if it cannot run on this machine */
export async function installProgram({ isLarge, set }: InstalledProgram): Promise<InstalledToolchain> {
  if (isLarge && process.env["PROGRAMS"] !== "all") return { missing: "it is large (PROGRAMS=all runs it)" };
  return set ? install(set) : { missing: `there is no build of it for ${system}` };
}
