/** The version stands in the root's package.json; everything else reads it, or is written by `npm run set-version`. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { openApi } from "@sluice/gateway/contract/operations/openapi.js";
import { version as running } from "@sluice/proto/lib/process/version.js";
import { type FinishedProcess, root, runProgram } from "../../support/processes.ts";
import { historyOf } from "../images/dockerfile.ts";
import { stages, targets } from "../images/targets.ts";

interface Manifest {
  readonly version: string;
  readonly workspaces: readonly string[];
}
/** The lock file has all fields, a manifest the first two. */
interface Lock extends Manifest {
  readonly packages: Readonly<Record<string, Manifest>>;
}

const read = (folder: string, path: string): string => readFileSync(join(folder, path), "utf8");
const parse = (folder: string, path: string): Lock => JSON.parse(read(folder, path)) as Lock;

const { version, workspaces } = parse(root, "package.json");
const overlay = "deploy/kubernetes/overlays/production/kustomization.yaml";
const chart = "deploy/helm/sluice/Chart.yaml";

/** Every copy of the version in files of the folder. */
function repeated(folder: string): Readonly<Record<string, readonly string[]>> {
  const lock = parse(folder, "package-lock.json");
  return {
    manifests: workspaces.map((workspace) => parse(folder, `${workspace}/package.json`).version),
    lock: [lock, ...["", ...workspaces].map((path) => lock.packages[path])].map((entry) => entry?.version ?? ""),
    overlay: [...read(folder, overlay).matchAll(/newTag: (.*)/g)].map(([, tag = ""]) => tag),
    chart: [...read(folder, chart).matchAll(/^(?:version|appVersion): (.*)/gm)].map(([, said = ""]) => said),
    changelog: [/^## (\d\S*)/m.exec(read(folder, "CHANGELOG.md"))?.[1] ?? ""],
  };
}

const all = (expected: string) =>
  Object.fromEntries(Object.entries(repeated(root)).map(([place, found]) => [place, found.map(() => expected)]));

describe("the version of package.json", () => {
  test("equals every copy of it in other files", () => {
    expect(repeated(root)).toEqual(all(version));
  });

  test("is the version in the contract and in running processes", () => {
    expect([running, openApi().info.version]).toEqual([version, version]);
  });

  test.each(["admin-svc/bundle/cli.js", "inference-svc/bundle/operator.js"])(
    "is printed by %s --version",
    async (path) => {
      const printed = await runProgram(process.execPath, [join(root, path), "--version"]);
      expect(printed).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    },
  );

  test.each(targets)("can be set as the label of the image of %s", (target) => {
    const labels = historyOf(stages, target).filter(({ keyword }) => keyword === "LABEL" || keyword === "ARG");
    expect(labels.map(({ value }) => value).join("\n")).toMatch(
      /^VERSION=unknown\n.*org\.opencontainers\.image\.version=\$\{VERSION\}/,
    );
  });
});

describe("npm run set-version", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-version-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function copyOf(paths: readonly string[]): void {
    for (const path of paths) cpSync(join(root, path), join(folder, path));
  }

  const setVersion = (...args: string[]): Promise<FinishedProcess> =>
    runProgram(process.execPath, ["deploy/release/version.mjs", ...args], { cwd: folder });

  test("writes every place, and dates the changelog", async () => {
    copyOf(["package.json", "package-lock.json", "CHANGELOG.md", overlay, chart, "deploy/release/version.mjs"]);
    copyOf(workspaces.map((workspace) => `${workspace}/package.json`));
    writeFileSync(join(folder, "CHANGELOG.md"), "# Changelog\n\n## 0.1.0 (unreleased)\n\n- A line.\n");
    expect(await setVersion("9.8.7-rc.1")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(parse(folder, "package.json").version).toBe("9.8.7-rc.1");
    expect(repeated(folder)).toEqual(all("9.8.7-rc.1"));
    expect(read(folder, "CHANGELOG.md")).toMatch(/^## 9\.8\.7-rc\.1 \(\d{4}-\d{2}-\d{2}\)$/m);
  });

  test("makes a section of the changelog from the unreleased entries, and leaves an empty one", async () => {
    writeFileSync(join(folder, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n### Added\n\n- A line.\n");
    expect(await setVersion("9.9.0")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(read(folder, "CHANGELOG.md")).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 9\.9\.0 \(\d{4}-\d{2}-\d{2}\)\n\n### Added\n\n- A line\.\n$/,
    );
  });

  test("refuses an invalid version", async () => {
    expect(await setVersion("next")).toMatchObject({ code: 2, stderr: expect.stringContaining("usage:") });
  });
});
