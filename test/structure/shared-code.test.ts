/** Code in `proto/` lies in folders, and serves more than one service. */
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { findLooseFiles, findSingleUsers } from "./shared-code.ts";
import { readSources } from "./sources.ts";

test("no file of proto/ lies next to its folders", () => {
  expect(findLooseFiles(readSources(root))).toEqual([]);
});

test("no file of proto/ serves a single service", () => {
  expect(findSingleUsers(readSources(root))).toEqual([]);
});

test("a file next to the folders of proto/ is found, and so is a file used by a single service", () => {
  const planted = (path: string, text = "") => ({ path, room: path.split("/")[0] as string, text });
  const files = [
    planted("proto/lib/loose.ts"),
    planted("proto/lib/text/shared.ts"),
    planted("proto/lib/text/inner.ts"),
    planted("proto/lib/text/outer.ts", 'import "./inner.ts";'),
    planted("gateway/a.ts", 'import "@sluice/proto/lib/text/shared.js";\nimport "@sluice/proto/lib/text/outer.js";'),
    planted("admin-svc/b.ts", 'import "@sluice/proto/lib/text/shared.js";'),
    planted("test/c.ts", 'import "@sluice/proto/lib/text/inner.js";'),
  ];
  expect(findLooseFiles(files)).toEqual(["proto/lib/loose.ts"]);
  expect(findSingleUsers(files)).toEqual(["proto/lib/text/inner.ts: gateway", "proto/lib/text/outer.ts: gateway"]);
});
