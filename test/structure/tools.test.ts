/** Compatible contracts, current generated code, clean lint and format. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { root, runProgram } from "../support/processes.ts";

const bin = join(root, "node_modules", ".bin");

/** Output of a failed tool, or an empty text. */
async function complaints(tool: string, args: readonly string[], cwd = root): Promise<string> {
  const environment = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  const { code, stdout, stderr } = await runProgram(join(bin, tool), args, { cwd, environment });
  return code === 0 ? "" : `${stdout}${stderr}`;
}

describe("the gRPC contracts", () => {
  const proto = join(root, "proto");

  test("pass the linter", async () => {
    expect(await complaints("buf", ["lint"], proto)).toBe("");
  });

  test("are compatible with the accepted ones", async () => {
    expect(await complaints("buf", ["breaking", "--against", "baseline.binpb"], proto)).toBe("");
  });

  test("have current generated code", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-gen-"));
    try {
      expect(await complaints("buf", ["generate", "--output", folder], proto)).toBe("");
      for (const part of ["gen", "lib/lane/gen"])
        expect(contentsOf(join(proto, part))).toEqual(contentsOf(join(folder, part)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

describe("the sources", () => {
  test("are formatted", async () => {
    expect(await complaints("biome", ["format", "."])).toBe("");
  });

  test("pass the linter", async () => {
    expect(await complaints("oxlint", ["--type-aware", "--deny-warnings"])).toBe("");
  }, 300_000);
});
