/**
 * The reference adapter of the sandbox. Where podman makes rootless containers with limits, programs run in real ones; everywhere a
 * stand-in for podman records the adapter's commands and the callers' results.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runProgram, eventually } from "../support/processes.ts";
import { Adapter, tenant } from "./sandbox/adapter.ts";
import { makeFakePodman } from "./sandbox/stand-in.ts";

const controllers = ["cpu", "memory", "pids"];
const good = { security: { rootless: true }, cgroupControllers: controllers };

const startWith = (info: object, more: NodeJS.ProcessEnv = {}) => {
  const { path, runs, environment } = makeFakePodman(info);
  const PATH = `${path}:${process.env["PATH"]}`;
  return { runs, started: Adapter.start({ ...environment, PATH, SANDBOX_IMAGE: "image", ...more }) };
};

describe("the sandbox adapter with a stand-in for podman", () => {
  let adapter: Adapter;
  let made: string;

  beforeAll(async () => {
    const { runs, started } = startWith(good, { SANDBOX_MAX_CONTAINERS: "7" });
    made = runs;
    adapter = await started;
  });
  afterAll(() => adapter?.stop());

  const say = (text: string) => `process.stdout.write(${JSON.stringify(text)})`;

  test("runs the programs of a call one after another, in a container with every limit", async () => {
    const { status, output } = await adapter.run({ commands: [say("one"), 'console.error("two"); process.exit(3)'] });
    expect([status, output]).toEqual([
      200,
      [
        { stdout: "one", stderr: "", truncated: false, outcome: { type: "exit", exit_code: 0 } },
        { stdout: "", stderr: "two\n", truncated: false, outcome: { type: "exit", exit_code: 3 } },
      ],
    ]);
    const args = (JSON.parse(readFileSync(made, "utf8").split("\n")[0] ?? "") as string[]).join(" ");
    for (const option of ["--network none", "--read-only ", "--cap-drop all", "--security-opt no-new-privileges"])
      expect(args).toContain(option);
    for (const option of ["--memory 1g", "--memory-swap 1g", "--cpus 1", "--pids-limit 128", "--user 65534:65534"])
      expect(args).toContain(option);
    expect(args).not.toContain(tenant);
  });

  test.each([
    [400, { tenant: "t" }],
    [400, { container_id: "../c" }],
    [400, { commands: [] }],
    [400, { timeout_ms: 60_001 }],
    [400, { max_output_bytes: 0 }],
    [400, { sleep_after_seconds: 2_592_001 }],

    [422, { commands: ["a\0b"] }],
    [422, { language: "ruby" }],
    [422, { memory_limit: "4g" }],
    [422, { network_policy: { type: "allowlist", allowed_domains: ["a.example"] } }],
  ] as [number, object][])("answers %d to the body %j", async (status, fields) => {
    expect((await adapter.run({ commands: [say("one")], ...fields })).status).toBe(status);
  });

  test.each(["Bearer wrong", ""])("runs nothing for a call with the key %j", async (authorization) => {
    expect((await adapter.run({ commands: [say("one")] }, { authorization })).status).toBe(401);
  });

  test.each([131_072, 4 * 1024 * 1024])("refuses a program of %d bytes as too long", async (length) => {
    expect((await adapter.run({ commands: ["x".repeat(length)] })).status).toBe(413);
  });

  test("ends a program at its time limit, and skips later programs of the call", async () => {
    const slow = `${say("begun")}; setInterval(() => {}, 1000)`;
    const { output } = await adapter.run({ commands: [slow, say("never")], timeout_ms: 5_000 });
    expect(output).toEqual([{ stdout: "begun", stderr: "", truncated: false, outcome: { type: "timeout" } }]);
  });

  test("cuts output at its limit, summed over all programs of a call", async () => {
    const commands = [
      say("x".repeat(9_000)),
      say("y".repeat(9_000)),
      "setInterval(() => process.stdout.write('z'.repeat(1e6)), 1)",
    ];
    const { output } = await adapter.run({ commands });
    expect(output.map(({ stdout, truncated }) => [stdout.length, truncated])).toEqual([
      [9_000, false],
      [1_000, true],
      [0, true],
    ]);
    expect(output[2]?.outcome).toEqual({ type: "exit", exit_code: 137 });
  });

  test("replaces invalid UTF-8 in output by U+FFFD", async () => {
    const { output } = await adapter.run({ commands: ["process.stdout.write(Buffer.from([65, 255, 66]))"] });
    expect(output[0]?.stdout).toBe("A\ufffdB");
  });

  test("ends a run when its caller disconnects", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "sluice-test-run-")), "pid");
    const slow = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`;
    const abort = new AbortController();
    const run = { container_id: "left", commands: [slow], timeout_ms: 60_000 };
    const running = adapter.run(run, { signal: abort.signal });
    await eventually(() => existsSync(file) && readFileSync(file, "utf8") !== "");
    abort.abort();
    await expect(running).rejects.toThrow();
    const pid = Number(readFileSync(file, "utf8"));
    // The run ends long before the program's own limit.
    await eventually(() => !isAlive(pid), 30_000);
  });

  test("runs the calls of one container one after another, without waiting for another tenant's container", async () => {
    const before = readFileSync(made, "utf8").split("\n").length;
    const now = "console.log(process.hrtime.bigint().toString())";
    const held = holdPrograms();
    const of = { container_id: "queue" };
    const first = adapter.run({ ...of, commands: [held.program("first", now)] });
    await held.begun(1);
    const second = adapter.run({ ...of, commands: [now] });
    await adapter.run({ ...of, tenant: "b".repeat(64), commands: [now] });
    held.release();
    const [firstAt, secondAt] = (await Promise.all([first, second])).map(({ output }) =>
      BigInt(output[0]?.stdout ?? 0),
    );
    expect(firstAt).toBeLessThan(secondAt as bigint);
    expect(readFileSync(made, "utf8").split("\n").length - before).toBe(2);
  });

  test("replaces the idlest of a tenant's five containers, and answers 429 when all are in use", async () => {
    const held = holdPrograms();
    const of = { tenant: "c".repeat(64) };
    const busy = Array.from({ length: 5 }, (_, n) =>
      adapter.run({ ...of, container_id: `b${n}`, commands: [held.program(String(n))] }),
    );
    await held.begun(5);
    expect((await adapter.run({ ...of, container_id: "b9", commands: [say("one")] })).status).toBe(429);
    held.release();
    expect((await Promise.all(busy)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await adapter.run({ ...of, container_id: "b9", commands: [say("one")] })).status).toBe(200);
  });

  test("makes a container anew when it was unused for its lifetime", async () => {
    const count = () => readFileSync(made, "utf8").split("\n").length;
    const once = () => adapter.run({ container_id: "sleepy", sleep_after_seconds: 1, commands: [say("one")] });
    await once();
    const before = count();
    await eventually(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await once();
      return count() > before;
    });
  });
});

/** Programs that run until they are released. */
function holdPrograms() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-held-"));
  const at = (name: string) => JSON.stringify(join(folder, name));
  return {
    /** @param then code that the program runs at its end */
    program: (name: string, then = "") => `const { existsSync, writeFileSync } = require("fs");
      writeFileSync(${at(name)}, "");
      const timer = setInterval(() => { if (existsSync(${at("end")})) { clearInterval(timer); ${then} } }, 5);`,
    begun: (count: number) => eventually(() => readdirSync(folder).length === count),
    release: () => writeFileSync(join(folder, "end"), ""),
  };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each([
  [{ ...good, security: { rootless: false } }, /podman runs as root/],
  [{ ...good, cgroupControllers: ["memory"] }, /containers would have no limits of cpu, pids/],
])("the sandbox adapter does not start with less safe containers: case %#", async (info, says) => {
  await expect(startWith(info).started).rejects.toThrow(says);
});

const image = "docker.io/library/python:3.13-slim";

/** Why no real container can be made here, or undefined. */
async function whyNot(): Promise<string | undefined> {
  const info = await runProgram("podman", ["info", "--format", "json"]).catch(() => undefined);
  if (info?.code !== 0) return "there is no podman";
  const { host } = JSON.parse(info.stdout) as { host: typeof good };
  if (!host.security.rootless) return "podman runs as root";
  if (!controllers.every((name) => host.cgroupControllers.includes(name))) return "no cgroups are delegated";
  const { code } = await runProgram("podman", ["image", "exists", image]);
  return code === 0 ? undefined : `there is no image ${image}`;
}

const reason = await whyNot();
(reason === undefined ? describe : describe.skip)(
  `the sandbox adapter with real containers (${reason ?? "podman"})`,
  () => {
    let adapter: Adapter;
    beforeAll(async () => {
      adapter = await Adapter.start({ SANDBOX_IMAGE: image });
    });
    afterAll(() => adapter?.stop());

    const printed = async (command: string, more: object = {}) =>
      (await adapter.run({ commands: [command], ...more })).output[0];

    test("keeps the files of a container, and ends its processes", async () => {
      await printed("echo kept > file; setsid sleep 999 >/dev/null 2>&1 &");
      expect(await printed("cat file; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).toMatchObject({
        stdout: expect.stringMatching(/^kept\n(?!.*sleep 999)/s),
      });
    });

    test("gives a program no network, no capability, and only two writable folders", async () => {
      const status = await printed("id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; touch /x; ls /sys/class/net");
      expect(status?.stdout).toMatch(/^65534\nCapEff:\s+0+\nNoNewPrivs:\s+1\nlo\n$/);
      expect(status?.stderr).toMatch(/Read-only file system/);
    });

    test("runs Python, and limits memory, files and processes", async () => {
      expect(await printed("print(6 * 7)", { language: "python" })).toMatchObject({ stdout: "42\n" });
      const hungry = await printed("x = bytearray(3 * 1024 ** 3)", { language: "python" });
      expect(hungry?.outcome).not.toEqual({ type: "exit", exit_code: 0 });
      expect((await printed("head -c 2000000000 /dev/zero > big"))?.stderr).toMatch(/No space left/);
      const forks = "import os\nfor _ in range(500):\n  if os.fork() == 0: os.read(os.pipe()[0], 1)";
      expect((await printed(forks, { language: "python", container_id: "forks" }))?.stderr).toMatch(/BlockingIOError/);
      expect(await printed("echo still here", { container_id: "forks" })).toMatchObject({ stdout: "still here\n" });
    });

    test("keeps the files of a tenant from every other tenant", async () => {
      await printed("echo secret > file");
      expect(await printed("cat file", { tenant: "b".repeat(64) })).toMatchObject({ stdout: "" });
    });

    test("ends a program when its caller disconnects", async () => {
      const abort = new AbortController();
      const ticking = "while :; do date +%s%N > tick; sleep 0.02; done";
      const running = adapter.run({ container_id: "tick", commands: [ticking] }, { signal: abort.signal });
      setTimeout(() => abort.abort(), 2_000);
      await expect(running).rejects.toThrow();
      const leftAt = Date.now();
      const last = Number((await printed("cat tick", { container_id: "tick" }))?.stdout) / 1e6;
      expect(last - leftAt).toBeLessThan(2_000);
    });
  },
);
