/** Two builds of the same sources in different folders have equal bytes, so anybody can check a release by building it. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { bareEnvironment, root, runProgram } from "../support/processes.ts";

/** The built files of a release. */
const built = ["admin-svc", "gateway", "inference-svc", "deploy/local"]
  .map((room) => `${room}/bundle`)
  .concat("gateway/console/dist");

/** The steps of a build without the tests. */
const steps = [
  ["node_modules/.bin/tsc", "-b", "proto", "gateway", "inference-svc", "admin-svc", "deploy/local"],
  ["gateway/console/build.mjs"],
  ["deploy/local/bundle.mjs"],
] as const;

let copy = "";
afterEach(() => rmSync(dirname(dirname(copy)), { recursive: true, force: true }));

/** SHA-256 of each built file by its path. */
function digestBuilt(checkout: string): Record<string, string> {
  const files = built.flatMap((folder) =>
    readdirSync(join(checkout, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");
  return Object.fromEntries(files.map((file) => [relative(checkout, file), digest(file)]));
}

/** Copies installed packages by hard links where the file system allows it. Symbolic links would lead builds back into the first folder. */
function copyPackages(path: string): void {
  const [from, to] = [join(root, path), join(copy, path)];
  if (!existsSync(from)) return;
  try {
    execFileSync("cp", ["-al", from, to], { stdio: "ignore" });
  } catch {
    rmSync(to, { recursive: true, force: true });
    execFileSync("cp", ["-a", from, to]);
  }
}

/** Copies the sources, without what was built. */
function copySources(): string {
  const target = join(mkdtempSync(join(tmpdir(), "sluice-another-folder-")), "somewhere", "else");
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const path of listed.toString().split("\0").filter(Boolean)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(root, path), join(target, path));
  }
  return target;
}

test("a build in another folder gives the same bytes", async () => {
  copy = copySources();
  for (const path of ["node_modules", "gateway/node_modules", "inference-svc/node_modules"]) copyPackages(path);
  for (const [program, ...args] of steps) {
    const { code, stderr } = await runProgram(process.execPath, [join(copy, program), ...args], {
      cwd: copy,
      environment: bareEnvironment(),
    });
    expect([program, code, stderr]).toEqual([program, 0, expect.anything()]);
  }
  expect(digestBuilt(copy)).toEqual(digestBuilt(root));
}, 600_000);
