/** Texts name only valid keys of the configuration file, and a refusal for a missing setting names its key. */
import { expect, test } from "@jest/globals";
import { isKey, namedKeys } from "../support/named-keys.ts";
import { findPages, readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";
import { type SourceFile, parseSource, readSources } from "./sources.ts";
import { visitNodes } from "./syntax.ts";

interface Message {
  readonly place: string;
  readonly text: string;
}

/** Texts and templates of a file; `*` stands for each interpolated value. */
function readMessages(file: SourceFile): Message[] {
  const messages: Message[] = [];
  visitNodes(parseSource(file).program, (node) => {
    const text =
      node.type === "StringLiteral"
        ? node["value"]
        : node.type === "TemplateLiteral"
          ? (node["quasis"] as { readonly value: { readonly raw: string } }[]).map(({ value }) => value.raw).join("*")
          : undefined;
    if (typeof text === "string") messages.push({ place: `${file.path}:${node.loc?.start.line}`, text });
  });
  return messages;
}

const programs = readSources(root).filter(({ path, room }) => room !== "test" && path.endsWith(".ts"));
const messages = programs.flatMap(readMessages);

const findUnknownKeys = ({ place, text }: Message): string[] =>
  namedKeys(text)
    .filter((key) => !isKey(key))
    .map((key) => `${place}: ${key}`);

/** Words of a refusal with a setting as its remedy. */
const wants =
  /\b(?:its operator|operator of this service|the operator sets|this service (?:has (?:no|none)|lacks|allows))\b/;

test("every configuration key named in a text of the sources exists", () => {
  expect(messages.flatMap(findUnknownKeys)).toEqual([]);
  expect(messages.flatMap(({ text }) => namedKeys(text)).length).toBeGreaterThan(8);
});

/** Names that look like configuration keys: a file, a field of answers, and a key within a provider. */
const otherNames: ReadonlySet<string> = new Set(["alerts.yaml", "alignment.calls", "data_policy.retention"]);

test("every configuration key named on a page exists", () => {
  // The page of the chart names values of the chart, checked by test/deploy/chart.test.ts.
  const pages = findPages().filter((path) => path !== "docs/deploy/helm-values.md");
  const withoutLinks = (path: string): string => readPage(path).replaceAll(/\]\([^)]*\)/g, "]");
  const named = pages.flatMap((path) => namedKeys(withoutLinks(path)).map((key) => ({ path, key })));
  expect(named.filter(({ key }) => !isKey(key) && !otherNames.has(key))).toEqual([]);
  expect(named.length).toBeGreaterThan(40);
});

test("a refusal for a missing setting names its configuration key", () => {
  const vague = messages.filter(({ text }) => wants.test(text) && namedKeys(text).length === 0);
  expect(vague.map(({ place, text }) => `${place}: ${text}`)).toEqual([]);
});

test("an unknown configuration key is found, also in a template", () => {
  const text = 'const a = `its operator sets search.engines.${name}.colour`;\nconst b = "set internal_models.judge";\n';
  const planted = readMessages({ path: "gateway/a.ts", room: "gateway", text });
  expect(planted.flatMap(findUnknownKeys)).toEqual([
    "gateway/a.ts:1: search.engines.*.colour",
    "gateway/a.ts:2: internal_models.judge",
  ]);
  expect(isKey("search.engines.*.api_key")).toBe(true);
  expect(isKey("providers.native_tools")).toBe(true);
});
