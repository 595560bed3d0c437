/** The pages of the clients: each block of JavaScript and Python runs as it is printed, with `SLUICE_KEY` set. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type House, startHouse } from "../support/house.ts";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";

/** Address in the pages. */
const printed = "http://127.0.0.1:8080/api/v1";

/** The program that runs a text in a language, and one that fails where a package is missing. `PYTHON` names another interpreter. */
const python = process.env["PYTHON"] ?? "python3";
const languages = {
  js: { run: [process.execPath, "--input-type=module", "--eval"], imported: / from "([^"]+)"/g, check: "import" },
  python: { run: [python, "-c"], imported: /^(?:from|import) (\w+)/gm, check: "import" },
} as const;
type Language = keyof typeof languages;

interface Block {
  readonly page: string;
  readonly language: Language;
  readonly code: string;
}

const folder = join(root, "gateway/clients");
const blocks = readdirSync(folder)
  .filter((file) => file.endsWith(".md"))
  .flatMap((page) =>
    [...readFileSync(join(folder, page), "utf8").matchAll(/^```(js|python)\n(.*?)^```$/gms)].map(
      ([, language, code = ""]): Block => ({ page, language: language as Language, code }),
    ),
  );

function run(language: Language, code: string, variables: Record<string, string> = {}) {
  const [command, ...args] = languages[language].run;
  const options = { cwd: join(root, "test"), environment: { ...bareEnvironment(), ...variables } };
  return runProgram(command, [...args, code], options);
}

/** Whether the language and every package of a block are on this machine. */
async function isRunnable({ language, code }: Block): Promise<boolean> {
  const names = [...code.matchAll(languages[language].imported)].map(([, name = ""]) => name);
  const imports = names.map((name) => (language === "js" ? `import ${JSON.stringify(name)};` : `import ${name}`));
  return (await run(language, imports.join("\n")).catch(() => ({ code: 1 }))).code === 0;
}

let house: House;
beforeAll(async () => {
  house = await startHouse();
}, 300_000);
afterAll(() => house?.stop());

test("the pages have blocks in both languages", () => {
  expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(Object.keys(languages)));
});

for (const block of blocks) {
  const { page, language, code } = block;
  const runs = (await isRunnable(block)) ? describe : describe.skip;
  runs(`the block of ${page} in ${language} (needs the language and its packages)`, () => {
    test("runs as it stands, and prints an answer", async () => {
      const asHere = code.replaceAll(printed, house.baseUrl);
      const { code: exit, stdout, stderr } = await run(language, asHere, { SLUICE_KEY: house.apiKey });
      expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
      expect(stdout).toMatch(/Hello/);
    }, 60_000);
  });
}
