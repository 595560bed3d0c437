/** The pages match the code: links, commands, variables, messages. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { operatorHelp } from "@sluice/inference-svc/operator.js";
import { findPages, readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";

const pages = findPages();

/** Anchors that GitHub generates from headings. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

function sourcesOf(room: string): string {
  const files = readdirSync(join(root, room), { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => /\.(ts|mjs)$/.test(file) && !/(^|\/)(dist|node_modules)\//.test(file));
  return sources.map((file) => readFileSync(join(root, room, file), "utf8")).join("\n");
}

const sources = ["proto/lib", "gateway", "inference-svc", "admin-svc", "deploy/local"].map(sourcesOf).join("\n");

test("the pages are found", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/plugins/web.md"]));
});

describe.each(pages)("%s", (page) => {
  test("links to what is there", () => {
    const links = [...readPage(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, path = "", anchor]) => {
      const file = path === "" ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(file)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(file, "utf8")).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test("names variables that something reads", () => {
    const named = new Set([...readPage(page).matchAll(/\bSLUICE_[A-Z_]+[A-Z]\b/g)].map(([name]) => name));
    // Variables of the examples themselves, which hold the reader's keys.
    const examples = ["SLUICE_KEY", "SLUICE_MANAGEMENT_KEY", "SLUICE_ACCOUNT_KEY"];
    expect([...named].filter((name) => !examples.includes(name) && !sources.includes(name))).toEqual([]);
  });

  test("names commands that there are", async () => {
    const said = [...readPage(page).matchAll(/(?:npm run --silent admin|`admin) -- ([a-z-]+)(?: ([a-z]+)\b)?/g)];
    const called = [...readPage(page).matchAll(/cli\.js ([a-z-]+) ([a-z]+)\b/g)];
    for (const [command, noun = "", verb = ""] of [...said, ...called]) {
      if (operatorHelp().some((line) => line.includes(noun))) continue;
      const argv = [noun, ...(verb === "" ? [] : [verb]), "--help"];
      const silent = { write: () => true };
      expect([command, await runCli(argv, { stdout: silent, stderr: silent })]).toEqual([command, 0]);
    }
  });

  test("names npm scripts that there are", () => {
    const { scripts } = JSON.parse(readPage("package.json")) as { scripts: Record<string, string> };
    const named = [...readPage(page).matchAll(/\bnpm run (?:--silent )?([a-z-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

const trouble = readPage("docs/operate/troubleshooting.md");

test("every message of the tables on trouble is one that can come", () => {
  const rows = [...trouble.matchAll(/^\| (?:\d{3} )?(`[^|]+`) \|/gm)].map(([, messages = ""]) => messages);
  const messages = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, message = ""]) => message));
  expect(messages.length).toBeGreaterThan(40);
  expect(messages.filter((message) => !sources.includes(message))).toEqual([]);
});

test("every warning and every error of a log is in the tables on trouble", () => {
  const logged = [...sources.matchAll(/\blog\.(?:warn|error)\(\s*(?:\{[^;]*?\},\s*)?"([^"]+)"/g)].map(
    ([, text = ""]) => text,
  );
  expect(logged.length).toBeGreaterThan(20);
  expect(logged.filter((text) => !trouble.includes(`\`${text}\``))).toEqual([]);
});

test("every text of an answer that says nothing more is in the tables on trouble, with its status", () => {
  const reasons = Object.values(FaultReason).filter(
    (reason) => typeof reason === "number" && reason !== FaultReason.UNSPECIFIED,
  );
  const answers = reasons
    .map((reason) => new Fault(reason as FaultReason))
    .map(({ status, message }) => `${status} \`${message}\``);
  expect(answers.length).toBeGreaterThan(15);
  expect(answers.filter((answer) => !trouble.includes(`| ${answer} |`))).toEqual([]);
});
