/** The documentation: README.md, docs/ by reader, pages for maintainers next to the code, and the changelog. */
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { environment as admin } from "@sluice/admin-svc/config.js";
import { environment as gateway } from "@sluice/gateway/config.js";
import { environment as inference } from "@sluice/inference-svc/assembly/config.js";
import { findPages, readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";
import { partMakers, withGeneratedPart } from "../support/reference/made.ts";

/** Pages of the checkout itself, by their common names. */
const rootPages = ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "GLOSSARY.md", "README.md", "SECURITY.md"];

/** Pages next to the code, with the reader that needs them there. */
const besideCode: Readonly<Record<string, string>> = {
  "deploy/helm/sluice/README.md": "`helm show readme` prints it, and the packed chart contains it",
  "test/e2e/attacks/README.md": "maintainers of these tests, which name attacks by number",
};

const isMisplaced = (path: string): boolean =>
  !path.startsWith("docs/") && !rootPages.includes(path) && !Object.hasOwn(besideCode, path);

/** Pages that a page links to. */
const linkedPages = (page: string, text: string): string[] =>
  [...text.matchAll(/\]\((?!https?:)([^)#]+\.md)(?:#[^)]*)?\)/g)].map(([, path = ""]) =>
    normalize(join(dirname(page), path)),
  );

describe("documentation pages for users", () => {
  test("are in docs/, not in folders of sources", () => {
    expect(findPages().filter(isMisplaced)).toEqual([]);
    expect(["gateway/README.md", "docs/a.md", "README.md"].filter(isMisplaced)).toEqual(["gateway/README.md"]);
  });

  test("that are next to the code are short", () => {
    const long = Object.keys(besideCode).filter((path) => readPage(path).split(/\s+/).length > 350);
    expect(long).toEqual([]);
  });

  test("are linked from the index, or from the index of their folder", () => {
    const indexes = ["docs/README.md", ...findPages().filter((path) => /^docs\/\w+\/README\.md$/.test(path))];
    const linked = new Set(indexes.flatMap((path) => linkedPages(path, readPage(path))));
    const unlinked = findPages().filter((path) => path.startsWith("docs/") && !linked.has(path));
    expect(unlinked).toEqual(["docs/README.md"]);
  });
});

test.each(Object.entries(partMakers))(
  "the documentation page %s has the tables that `npm run docs` writes",
  (path, make) => {
    expect(withGeneratedPart(path, make) === readPage(path) ? "" : `run \`npm run docs\` and commit ${path}`).toBe("");
  },
);

test("the documentation page on variables has every variable of the three services", () => {
  const names = [gateway, inference, admin].flatMap(({ shape }) => Object.keys(shape));
  const page = readPage("docs/reference/variables.md");
  expect([...new Set(names)].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the README can be read in ten minutes", () => {
  expect(readPage("README.md").split(/\s+/).length).toBeLessThan(2_000);
});

describe("the changelog", () => {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");

  test("begins with the unreleased changes, and dates every other version", () => {
    const versions = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);
    expect(versions[0]).toBe("Unreleased");
    const form = /^\d+\.\d+\.\d+ \((?:unreleased|\d{4}-\d{2}-\d{2})\)$/;
    expect(versions.slice(1).filter((heading) => !form.test(heading))).toEqual([]);
  });

  test("has only the headings Breaking, Added, Changed and Fixed", () => {
    const headings = [...changelog.matchAll(/^###+ (.*)$/gm)].map(([, heading = ""]) => heading);
    expect(headings.filter((heading) => !["Breaking", "Added", "Changed", "Fixed"].includes(heading))).toEqual([]);
  });
});
