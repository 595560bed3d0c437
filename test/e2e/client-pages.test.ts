/** The pages of the clients: each block of JavaScript, Python, Go and Java runs as printed, with `SLUICE_KEY` set. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type InstalledToolchain,
  type ToolchainName,
  install,
  offlineVariables,
  programsFolder,
  toolchains,
} from "../support/clients/languages.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { clientLanguages } from "../support/page-commands.ts";
import { findBlocks, findPages } from "../support/pages.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";

/** Address of Sluice in the blocks of the pages. */
const printed = "http://127.0.0.1:8080";

const languages = clientLanguages;
type Language = (typeof languages)[number];

/** The package set imported by the blocks of a page. */
const setOf = ({ page, language }: Block): ToolchainName | undefined => {
  if (language === "go" || language === "java") return language;
  if (language === "python") return page === "litellm.md" ? "litellm" : "python3";
  return undefined;
};

interface Block {
  readonly page: string;
  readonly language: Language;
  readonly code: string;
}

const isLanguage = (language: string): language is Language => languages.some((name) => name === language);

const blocks = ["README.md", ...findPages().filter((page) => page.startsWith("docs/clients/"))].flatMap((path) =>
  findBlocks(path).flatMap(({ language, code }): Block[] =>
    isLanguage(language) ? [{ page: path.replace("docs/clients/", ""), language, code }] : [],
  ),
);

/** @param packages folder of the installation @param file with the code, named as its language requires */
function run(block: Block, packages: string, file: string, variables: Record<string, string>) {
  const environment = {
    ...bareEnvironment(),
    ...offlineVariables,
    ...variables,
    PYTHONPATH: [packages, "packages"].join("/"),
  };
  const [command, args, cwd] = {
    js: [process.execPath, ["--input-type=module", "--eval", block.code], join(root, "test")],
    python: ["python3", [file], root],
    go: ["go", ["run", file], join(programsFolder, "go")],
    java: ["java", ["-cp", `${packages}/lib/*`, file], root],
  }[block.language] as [string, string[], string];
  return runProgram(command, args, { cwd, environment });
}

const fileNames: Readonly<Record<Language, string>> = {
  js: "main.js",
  python: "main.py",
  go: "main.go",
  java: "Main.java",
};

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 300_000);
afterAll(() => installation?.stop());

test("the pages of clients have blocks of code in all languages", () => {
  expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(languages));
});

for (const block of blocks) {
  const { page, language, code } = block;
  const set = setOf(block);
  const found: InstalledToolchain = set === undefined ? { folder: "" } : await install(toolchains[set]);
  const missing = "missing" in found ? found.missing : undefined;
  const packages = "folder" in found ? found.folder : "";
  (missing === undefined ? describe : describe.skip)(
    `a block of ${page} in ${language}${missing === undefined ? "" : ` (skipped: ${missing})`}`,
    () => {
      test(`runs as it stands, and prints an answer: ${/^.*(?:import|require).*$/m.exec(code)?.[0] ?? ""}`, async () => {
        const folder = mkdtempSync(join(tmpdir(), "sluice-page-"));
        try {
          const asHere = { ...block, code: code.replaceAll(printed, new URL(installation.baseUrl).origin) };
          const file = join(folder, fileNames[language]);
          writeFileSync(file, asHere.code);
          const { code: exit, stdout, stderr } = await run(asHere, packages, file, { SLUICE_KEY: installation.apiKey });
          // Java packages print a warning when no logging library is present.
          const warnings = stderr.replaceAll(/^SLF4J.*\n/gm, "");
          expect({ exit, stderr: warnings }).toEqual({ exit: 0, stderr: "" });
          expect(stdout).toMatch(/Hello/);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
        // Compilers with empty caches take minutes on a busy machine.
      }, 300_000);
    },
  );
}
