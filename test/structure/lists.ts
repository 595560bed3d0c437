/** Finds files with a copy of an existing list: settings of guardrails, plugins, paths of operations. */
import { unsetGuardrail } from "@sluice/proto/contract/records/guardrails.js";
import { operations } from "@sluice/gateway/contract/operations/operations.js";
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { parameterList } from "@sluice/proto/contract/request/parameters.js";
import type { SourceFile } from "./sources.ts";
import { spellingsPattern } from "./walks.ts";

export interface KnownList {
  readonly title: string;
  readonly entries: readonly RegExp[];
  /** Number of entries from which a file counts as a copy of the list. */
  readonly minEntries: number;
}

/** Parameters of a path are written `{id}`, `:id` or `${id}`. */
const routePattern = (path: string): RegExp =>
  new RegExp(
    `${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "(?::\\w+|\\$?\\{[^}]+\\})")}["\`?]`,
  );

export const knownLists: readonly KnownList[] = [
  {
    title: "settings of a guardrail",
    minEntries: 5,
    entries: Object.keys(unsetGuardrail)
      .filter((name) => name.includes("_"))
      .map((name) => spellingsPattern(name.split("_"))),
  },
  {
    title: "plugins",
    minEntries: 8,
    entries: Object.keys(pluginContracts).map((id) => spellingsPattern(id.split("-"))),
  },
  {
    title: "parameters of a request",
    minEntries: 5,
    entries: parameterList
      .filter(({ name }) => name.includes("_"))
      .map(({ name }) => spellingsPattern(name.split("_"))),
  },
  {
    title: "paths of operations",
    minEntries: 5,
    entries: [...new Set(Object.values(operations).map(({ path }) => path))].map(routePattern),
  },
];

/** @returns the files, other than tests, that name at least that number of the list's entries */
export const filesOfList = (files: readonly SourceFile[], { entries, minEntries }: KnownList): string[] =>
  files
    .filter(({ room, text }) => room !== "test" && entries.filter((entry) => entry.test(text)).length >= minEntries)
    .map(({ path }) => path);
