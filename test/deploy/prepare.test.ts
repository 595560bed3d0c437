/** Preparing a checkout, and the command line in a prepared one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isAlive } from "@sluice/local/processes.js";
import { kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { createDatabase } from "../support/database.ts";
import { bareEnvironment, eventually, root, runProgram } from "../support/processes.ts";

const prepare = () => runProgram(process.execPath, [join(root, "deploy/local/prepare.mjs")]);

describe("npm run prepare", () => {
  test("does and prints nothing in a prepared checkout, even when it runs several times at once", async () => {
    const all = await Promise.all([prepare(), prepare(), prepare()]);
    for (const { code, stdout, stderr } of all) {
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).not.toMatch(/install|building/);
    }
  });

  test("ignores the lock of a dead process", async () => {
    const { pid } = JSON.parse(
      (await runProgram(process.execPath, ["-p", "JSON.stringify({ pid: process.pid })"])).stdout,
    ) as {
      pid: number;
    };
    writeFileSync(join(root, "deploy/local/dist/.prepare-lock"), String(pid));
    expect(await prepare()).toMatchObject({ code: 0, stderr: "" });
  });

  test("removes compiled output of deleted sources", async () => {
    const orphan = join(root, "deploy/local/dist/gone.js");
    writeFileSync(orphan, "");
    expect((await prepare()).code).toBe(0);
    expect(() => readFileSync(orphan)).toThrow("ENOENT");
  });
});

describe("a start of a prepared checkout", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-test-prepared-"));
    writeFileSync(join(folder, "count.mjs"), counting);
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Prints the files read and the programs started by the rest of the process. */
  const counting = `
    import child from "node:child_process";
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const used = [];
    for (const [module, name] of [[fs, "readFileSync"], [child, "spawn"]]) {
      const own = module[name];
      module[name] = (first, ...others) => {
        used.push(String(first));
        return own(first, ...others);
      };
    }
    syncBuiltinESMExports();
    process.on("exit", () => process.stdout.write(JSON.stringify(used)));`;

  /** The files read and the programs run by the preparation of a start. */
  async function usedByStart(): Promise<readonly string[]> {
    const preparing = `await (await import(${JSON.stringify(join(root, "deploy/local/prepare.mjs"))})).prepare()`;
    const args = ["--import", join(folder, "count.mjs"), "--input-type=module", "--eval", preparing];
    const { code, stdout, stderr } = await runProgram(process.execPath, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as string[];
  }

  test("reads the lock file and two stamps, no built module, and runs no tool", async () => {
    await usedByStart();
    const read = ["deploy/local/dist/.prepared", "node_modules/.sluice-lock", "package-lock.json"];
    expect([...new Set(await usedByStart())].toSorted()).toEqual(read.map((path) => join(root, path)));
  });

  test("checks everything again, once, after a change of a source", async () => {
    await usedByStart();
    const source = join(root, "deploy/local/sluice.schema.json");
    const built = join(root, "proto/dist/config/config-file.js");
    utimesSync(source, new Date(), new Date());
    expect(await usedByStart()).toContain(built);
    expect(await usedByStart()).not.toContain(built);
  });
});

test("a stack trace of a bundled service names the source file", async () => {
  const failing = `import(${JSON.stringify(join(root, "gateway/bundle/service.js"))}).then(({ openService }) => openService())`;
  const { stderr } = await runProgram(process.execPath, ["--enable-source-maps", "--eval", failing]);
  expect(stderr).toMatch(/^TypeError: .*\n +at \S+ \(\S*\/gateway\/service\.ts:\d+:\d+\)$/m);
});

test("Ctrl-C ends the installer as well, so that the next start can use the folder", async () => {
  const checkout = mkdtempSync(join(tmpdir(), "sluice-test-checkout-"));
  const pidFile = join(checkout, "npm.pid");
  try {
    mkdirSync(join(checkout, "deploy/local"), { recursive: true });
    for (const file of ["deploy/local/prepare.mjs", "deploy/local/node-version.mjs", "deploy/local/tool.mjs"]) {
      copyFileSync(join(root, file), join(checkout, file));
    }
    writeFileSync(join(checkout, "package-lock.json"), '{"packages":{}}');
    // This stand-in for npm does not end at once on a signal, like npm.
    const npm = join(checkout, "npm.js");
    writeFileSync(
      npm,
      `require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
       process.on("SIGINT", () => {}); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`,
    );
    const child = spawn(process.execPath, [join(checkout, "deploy/local/prepare.mjs")], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...bareEnvironment(), npm_execpath: npm },
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ended = once(child, "close");
    await eventually(() => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "");
    child.kill("SIGINT");
    expect((await ended)[0]).toBe(1);
    expect(said).toContain("npm ci was interrupted; the next start repeats it.");
    expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
    expect(existsSync(join(checkout, "deploy/local/dist/.prepare-lock"))).toBe(false);
  } finally {
    rmSync(checkout, { recursive: true, force: true });
  }
});

describe("npm run admin", () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "sluice-test-admin-"));
  });

  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  const admin = (args: string[], variables: Record<string, string> = {}) =>
    runProgram(process.execPath, [join(root, "deploy/local/admin.mjs"), ...args], {
      environment: { ...bareEnvironment(), SLUICE_DATA_DIR: dataDir, ...variables },
    });

  test("mints keys and prints help without a running installation", async () => {
    const minted = await admin(["keys", "mint"]);
    expect(kindOfKey(minted.stdout.trim())).toBeDefined();
    expect((await admin(["keys", "--help"])).stdout).toContain("create");
  });

  test("names the next step when no installation runs", async () => {
    const { code, stderr } = await admin(["keys", "list"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `Sluice does not run in ${dataDir}: start it first (npm start), or set SLUICE_DATA_DIR or DATABASE_URL.\n`,
    );
  });

  test("prints nothing when the reader of its output closes the pipe", async () => {
    const database = await createDatabase();
    const cli = join(root, "admin-svc/bundle/cli.js");
    try {
      for (const program of [cli, join(root, "deploy/local/admin.mjs")]) {
        const piped = `"${process.execPath}" "${program}" keys mint | true`;
        const listed = `"${process.execPath}" "${program}" audit list | true`;
        const environment = { ...bareEnvironment(), SLUICE_DATA_DIR: dataDir, DATABASE_URL: database.url };
        expect(await runProgram("sh", ["-c", `${piped}; ${listed}`], { environment })).toMatchObject({
          code: 0,
          stderr: "",
        });
      }
    } finally {
      await database.drop();
    }
  });

  test("works on the database named by DATABASE_URL or by the installation's record", async () => {
    const database = await createDatabase();
    try {
      const created = await admin(["keys", "create", "--name", "first", "--json"], { DATABASE_URL: database.url });
      expect(created).toMatchObject({ code: 0, stderr: "" });
      writeFileSync(join(dataDir, "database.json"), JSON.stringify({ url: database.url }));
      expect((await admin(["keys", "list"])).stdout).toContain("first");
    } finally {
      await database.drop();
    }
  });
});
