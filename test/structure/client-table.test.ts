/** The table of tested clients in the documentation: versions as installed, features as tested. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { clientsPage, withTable } from "../support/clients/table.ts";

test("the table of clients is the one that `npm run clients` writes", () => {
  const page = readFileSync(clientsPage, "utf8");
  const advice = withTable(page) === page ? "" : "run `npm run clients` and commit docs/clients/README.md";
  expect(advice).toBe("");
});
