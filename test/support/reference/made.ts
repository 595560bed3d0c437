/** The generated parts of pages: `npm run docs` brings them up to date, and a test compares them. */
import { readPage } from "../pages.ts";
import { actionTable } from "./actions.ts";
import { configurationTables } from "./configuration.ts";
import { errorSections } from "./errors.ts";
import { operationTable } from "./operations.ts";

const start = "<!-- made by npm run docs -->\n";
const end = "\n<!-- end of the made part -->";

export const partMakers: Readonly<Record<string, () => string>> = {
  "docs/guardrails/README.md": actionTable,
  "docs/reference/configuration.md": configurationTables,
  "docs/reference/errors.md": errorSections,
  "docs/reference/operations.md": operationTable,
};

/** @returns the page with its generated part up to date @throws if the page does not mark that part */
export function withGeneratedPart(path: string, make: () => string): string {
  const page = readPage(path);
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${path} does not have the lines ${start} and ${end}`);
  return `${page.slice(0, from)}${start}${make()}${page.slice(to)}`;
}
