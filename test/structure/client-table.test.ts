/** The table of tested clients in the documentation: versions as installed, features as tested. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { clientsPage, withTable } from "../support/clients/table.ts";

test("the page's table of clients equals the output of `npm run clients`", () => {
  const page = readFileSync(clientsPage, "utf8");
  const advice = withTable(page) === page ? "" : "run `npm run clients` and commit docs/clients/README.md";
  expect(advice).toBe("");
});
