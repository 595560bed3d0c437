/** No source compares the names of actions, modes and roles: code uses their traits, so that a new name is only a row of the table. */
import { expect, test } from "@jest/globals";
import { filterActions, modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import { roles } from "@sluice/proto/lib/policy/role.js";
import { root } from "../support/processes.ts";
import { readSources } from "./sources.ts";

const words = [...filterActions.rows.flatMap(({ word, done }) => [word, done]), ...modes.all];
const comparison = new RegExp(`[!=]== "(?:${words.join("|")})"|role [!=]== "(?:${roles.join("|")})"`);

/** Outcomes of an evaluation by the plugin alignment, which acts on no matched text. */
const homonym = /evaluation\.outcome/;

const findComparisons = (path: string, text: string): string[] =>
  text
    .split("\n")
    .flatMap((line, index) => (comparison.test(line) && !homonym.test(line) ? [`${path}:${index + 1}`] : []));

test("sources read the traits of a guardrail action instead of comparing its name", () => {
  const sources = readSources(root).filter(({ room }) => room !== "test");
  expect(sources.flatMap(({ path, text }) => findComparisons(path, text))).toEqual([]);
});

test.each(['if (rule.action !== "redact") scan();', 'const isFull = person.role === "admin";'])(
  "a comparison with the name of a guardrail action is found in %j",
  (line) => expect(findComparisons("a.ts", `const a = b;\n${line}`)).toEqual(["a.ts:2"]),
);
