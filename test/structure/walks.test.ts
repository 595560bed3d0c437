/** The examples and lists of `npm run counts` are in the files where they are searched. */
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { filesOfList, knownLists } from "./lists.ts";
import { readSources } from "./sources.ts";
import { filesOfWalk, spellingsPattern, walks } from "./walks.ts";

const sources = readSources(root);

describe("the count of files that a change touches", () => {
  test.each(walks)("finds $change in the contracts and where it acts", (walk) => {
    const files = filesOfWalk(sources, walk);
    expect(files.filter((path) => path.startsWith("proto/"))).not.toEqual([]);
    expect(files.filter((path) => !path.startsWith("proto/"))).not.toEqual([]);
    if (walk.ownFolder) expect(files).toContain(walk.ownFolder);
  });

  test.each(["account_default", "x.accountDefault", "setAccountDefault(", '"account-default"', "an account default."])(
    "finds the name in %j",
    (text) => expect(text).toMatch(spellingsPattern(["account", "default"])),
  );

  test.each(["accountDefaults", "account, default", "subaccount default"])("does not find it in %j", (text) =>
    expect(text).not.toMatch(spellingsPattern(["account", "default"])),
  );
});

test.each([
  ["settings of a guardrail", "proto/contract/records/guardrails.ts"],
  ["plugins", "proto/contract/plugins/plugins.ts"],
  ["parameters of a request", "proto/contract/request/parameters.ts"],
  ["paths of operations", "proto/contract/operations/keys.ts"],
])("the list of %s is found in its own file", (title, path) => {
  const list = knownLists.find((known) => known.title === title);
  expect(list && filesOfList(sources, list)).toContain(path);
});
