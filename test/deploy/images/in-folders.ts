/**
 * Runs the install and start commands of each image in empty folders, as the Dockerfile and the manifests state them, for machines without
 * containers. USER, the read-only root and the compiling stage are only checked as text.
 */
import { fork } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { lastLines, spawnChild } from "@sluice/local/child.js";
import { type TestDatabase, createDatabase } from "../../support/database.ts";
import { bareEnvironment, eventually, root, runProgram } from "../../support/processes.ts";
import { textPdf } from "../../support/documents/pdf.ts";
import { FolderBuild } from "./folder.ts";
import { firstCurl, firstKey } from "./page.ts";
import { type Target, imageOf, maxImageBytes, stages, targets } from "./targets.ts";
import { type ManifestVariables, readManifestVariables } from "./manifest-variables.ts";

/** Files of programs and threads, which begin to work when they are loaded. */
const started = /^(main|cli|operator|reader|reader-thread|pattern-thread)\.js$/;

interface Named {
  readonly dependencies: Readonly<Record<string, string>>;
}

/** Registers the tests. @param folder folder for their output */
export function inFolders(folder: string): void {
  let database: TestDatabase;
  let settings: ManifestVariables;
  const folders = new Map<Target, string>();
  const running: Awaited<ReturnType<typeof spawnChild>>[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    settings = await readManifestVariables(folder, database.url);
  });
  afterAll(async () => {
    for (const { child } of running) child.kill("SIGKILL");
    await Promise.all(running.map(({ exited }) => exited));
    await database?.drop();
  });

  /** Environment variables of an image, with the path to this process's Node. */
  const environmentOf = (target: Target): NodeJS.ProcessEnv => ({
    PATH: [dirname(process.execPath), bareEnvironment()["PATH"]].join(delimiter),
    ...imageOf(target).environment,
    ...settings[target],
  });

  const log = (target: Target): string => join(folder, `${target}.log`);
  const within = (target: Target): string => join(folders.get(target) as string, "sluice");

  /** Runs a command of an image to its end. */
  const command = (target: Target, [program = "", ...args]: readonly string[]) =>
    runProgram(program, args, { cwd: within(target), environment: environmentOf(target) });

  describe.each(targets)("%s", (target) => {
    test("is made by its commands, and holds its bundle and all files other than modules", async () => {
      folders.set(target, await new FolderBuild(stages, folder).make(target));
      const rooms = readdirSync(within(target)).toSorted();
      const own = ["LICENSE", "NOTICE", "compile-cache", "livez.mjs", "package.json", target];
      // Folders that some images have in addition; the gateway serves the documentation.
      const more = { "inference-svc": ["node_modules"], gateway: ["docs"] } as const;
      expect(rooms).toEqual(
        [...own, ...((more as Partial<Record<Target, readonly string[]>>)[target] ?? [])].toSorted(),
      );
    });

    test("has the licences of its service's packages, and of their dependencies", () => {
      const { dependencies } = JSON.parse(readFileSync(join(root, target, "package.json"), "utf8")) as Named;
      const bundled = Object.keys(dependencies).filter((name) => name !== "@sluice/proto" && name !== "pdfjs-dist");
      const listed = readFileSync(join(within(target), target, "bundle/licenses.txt"), "utf8").split("\n");
      const missing = bundled.filter((name) => !listed.some((line) => line.startsWith(`${name} `)));
      expect(missing).toEqual([]);
      expect(listed.filter((line) => /^\S+ \d+\.\d+\.\d+\S* \(/.test(line)).length).toBeGreaterThan(40);
    });

    test("is small", async () => {
      const { stdout } = await runProgram("du", ["-s", "-B1", "--apparent-size", within(target)]);
      console.log(`sluice/${target}: ${(Number.parseInt(stdout) / 1e6).toFixed(0)} MB without its base`);
      expect(Number.parseInt(stdout)).toBeLessThan(maxImageBytes);
      expect(Number.parseInt(stdout)).toBeGreaterThan(5_000_000);
    });

    test("loads all of its code, also rarely used code, without an installed package", async () => {
      const bundle = join(within(target), target, "bundle");
      const late = readdirSync(bundle).filter((file) => file.endsWith(".js") && !started.test(file));
      expect(late.length).toBeGreaterThan(5);
      const imports = late.map((file) => `await import(${JSON.stringify(join(bundle, file))});`);
      const load = ["--input-type=module", "--eval", imports.join("\n")];
      // The output is not compared, since pdfjs reports a missing drawing library on it.
      expect(
        await runProgram(process.execPath, load, { cwd: folder, environment: environmentOf(target) }),
      ).toMatchObject({
        code: 0,
        stderr: "",
      });
    });

    test("starts threads and processes only from modules of its bundle", () => {
      const bundle = join(within(target), target, "bundle");
      const code = readdirSync(bundle).filter((file) => file.endsWith(".js"));
      const elsewhere = /new URL\("[^"]+\.js", new URL\(/;
      expect(code.filter((file) => elsewhere.test(readFileSync(join(bundle, file), "utf8")))).toEqual([]);
    });

    test("does not run as root, and has a health check", async () => {
      const image = imageOf(target);
      expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      const { code, stderr } = await command(target, image.healthCheck);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
    });
  });

  test("inference-svc reads a PDF with the included part of its package", async () => {
    const reader = fork(join(within("inference-svc"), "inference-svc/bundle/reader.js"), {
      env: {},
      serialization: "advanced",
      silent: true,
    });
    const messages: unknown[] = [];
    reader.on("message", (message) => messages.push(message));
    reader.send({ kind: "pdf", bytes: textPdf(["In the image."]) });
    await eventually(() => messages.length === 3);
    reader.disconnect();
    expect(messages).toEqual([
      { type: "ready" },
      { type: "opened", pages: 1 },
      { type: "read", text: expect.objectContaining({ text: expect.stringContaining("In the image.") }) },
    ]);
  });

  test("the services start in their order, are healthy, and the first curl of the README answers", async () => {
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
      died.catch(() => {}); // a later end of the process is no error here
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

  test("the services end on a signal with exit code 0", async () => {
    for (const { child, exited } of running.toReversed()) {
      child.kill("SIGTERM");
      expect(await exited).toBe("exit code 0");
    }
  });
}
