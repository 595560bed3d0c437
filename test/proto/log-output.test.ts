/** The standard output of a process has all of its lines, in order, however the process ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { eventually, root, runProgram } from "../support/processes.ts";

const logModule = JSON.stringify(import.meta.resolve("@sluice/proto/lib/log/log.js"));

/** A program that writes lines numbered from 0. */
const program = (then: string): string[] => [
  "--input-type=module",
  "--eval",
  `const { openLog } = await import(${logModule});
   const log = openLog("test", "info");
   let n = 0;
   const many = (lines, model = "a") => { for (let i = 0; i < lines; i++) log.info({ calls: n++, model }, "line"); };
   ${then}`,
];

const numbersIn = (text: string): number[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { calls: number }).calls);

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

test.each([
  ["exits at once", "many(3000); process.exit(0);", 0, 3_000],
  ["exits while a batch is being written", "many(3000); setImmediate(() => { many(10); process.exit(3); });", 3, 3_010],
  ["ends on its own", "many(5);", 0, 5],
  ["throws", "many(500); setImmediate(() => { throw new Error(); });", 1, 500],
  ["writes long lines of wide characters", 'many(200, "東".repeat(5000)); process.exit(0);', 0, 200],
])("no log line is lost when a process %s", async (_, then, code, lines) => {
  const ended = await runProgram(process.execPath, program(then));
  expect(ended.code).toBe(code);
  expect(numbersIn(ended.stdout)).toEqual(upTo(lines));
});

test("log lines keep their order though every thread of the pool is busy when the process ends", async () => {
  const busy =
    'const { pbkdf2 } = await import("node:crypto"); for (let n = 0; n < 8; n++) pbkdf2("", "", 3e5, 64, "sha512", () => {});';
  const ended = await runProgram(
    process.execPath,
    program(`${busy} many(500); setImmediate(() => { throw new Error(); });`),
  );
  expect(numbersIn(ended.stdout)).toEqual(upTo(500));
});

test("a single log line is written soon, while the process goes on", async () => {
  const child = spawn(process.execPath, program("many(1); setInterval(() => {}, 1000);"), { cwd: root });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  await eventually(() => text.endsWith("\n"));
  expect(numbersIn(text)).toEqual([0]);
  child.kill();
  await once(child, "close");
});

test("a slow reader of the log gets every line, and a closed pipe ends no process", async () => {
  const then = "many(20000); setTimeout(() => { many(1); console.error('alive'); }, 1500);";
  const child = spawn(process.execPath, program(then), { cwd: root });
  let text = "";
  setTimeout(() => child.stdout.on("data", (chunk) => (text += chunk)), 500);
  await once(child, "close");
  expect(numbersIn(text)).toEqual(upTo(20_001));

  const left = spawn(process.execPath, program(then), { cwd: root });
  left.stdout.destroy();
  let errors = "";
  left.stderr.on("data", (chunk) => (errors += chunk));
  const [code] = (await once(left, "close")) as [number];
  expect([code, errors]).toEqual([0, "alive\n"]);
});

/** A process whose standard output is a non-blocking pipe of 64 KiB, as after any use of `process.stdout`. */
const spawnBeforePipe = (then: string) =>
  spawn("sh", ["-c", '"$0" "$@" | cat', process.execPath, ...program(`void process.stdout; ${then}`)], { cwd: root });

/** Reads the lines until one of them has the number. */
async function readTo(child: ReturnType<typeof spawn>, last: number): Promise<string> {
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await eventually(() => text.includes(`"calls":${last},`) && text.endsWith("\n"));
  return text;
}

test("a log pipe with partial writes gets every line as logged", async () => {
  const child = spawnBeforePipe(`for (let n = 0; n < 200; n++) {
    many(100);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  console.error("logged");
  process.stdin.resume();`);
  await once(child.stderr, "data");
  expect(numbersIn(await readTo(child, 19_999))).toEqual(upTo(20_000));
  child.stdin.end();
  await once(child, "close");
});

test("an unread log pipe costs bounded memory: later lines except warnings are dropped and counted in one line", async () => {
  const child = spawnBeforePipe(`
    many(30000, "a".repeat(1000));
    log.warn({ calls: n++ }, "warning");
    many(1000);
    console.error("logged");
    process.stdin.once("data", () => many(1)).once("end", () => process.exit(0));`);
  await once(child.stderr, "data");
  const lost = "log lines were lost: standard output is read too slowly";
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await eventually(() => text.includes(lost) && text.endsWith("\n"));
  child.stdin.write("go on\n");
  await eventually(() => text.includes('"calls":31001,'));
  child.stdin.end();
  await once(child, "close");

  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { calls?: number; lines?: number; msg: string });
  const kept = lines.length - 3;
  expect(lines.slice(0, kept).map(({ calls }) => calls)).toEqual(upTo(kept));
  expect(lines.slice(kept)).toMatchObject([
    { calls: 30_000, msg: "warning" },
    { lines: 31_001 - 1 - kept, msg: lost },
    { calls: 31_001 },
  ]);
  // The process buffers 8 MiB, somewhat more if lines do not fill the buffers, and the pipes hold further bytes.
  expect(text.length).toBeGreaterThan(2 ** 21);
  expect(text.length).toBeLessThan(10 * 2 ** 20);
});

test("a warning is written to the log at once, together with the lines before it", async () => {
  const blocked =
    "many(2); log.warn({ calls: n++ }, 'line'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 90_000);";
  const child = spawn(process.execPath, program(blocked), { cwd: root });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  await eventually(() => text.split("\n").length > 3);
  expect(numbersIn(text)).toEqual(upTo(3));
  child.kill("SIGKILL");
  await once(child, "close");
});
