/**
 * Takes the place of podman on machines without containers: a container is a file, and its programs are JavaScript that Node runs in a process of the
 * test. None of the arguments reaches a shell.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = `
const { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
const { join } = require("node:path");
const [operation, ...args] = process.argv.slice(2);
const folder = process.env.STAND_IN_FOLDER;
const fileOf = (name) => join(folder, name);
const after = (option) => args[args.indexOf(option) + 1];
const end = (name) => {
  for (const pid of readFileSync(fileOf(name), "utf8").split("\\n").filter(Boolean)) try { process.kill(Number(pid), "SIGKILL"); } catch {}
};
const remove = (name) => { if (existsSync(fileOf(name))) { end(name); rmSync(fileOf(name)); } };
const operations = {
  info: () => console.log(process.env.STAND_IN_INFO),
  run: () => { appendFileSync(join(folder, "..", "runs"), JSON.stringify(args) + "\\n"); writeFileSync(fileOf(after("--name")), ""); },
  ps: () => console.log(readdirSync(folder).join("\\n")),
  rm: () => { for (const name of args.filter((each) => existsSync(fileOf(each)))) remove(name); },
  container: () => console.log(existsSync(fileOf(args.at(-1)))),
  exec() {
    const [name, , , text] = args;
    if (!existsSync(fileOf(name))) process.exit(125);
    if (text === "kill -9 -1") return end(name);
    const child = spawn(process.execPath, ["-e", text], { stdio: ["ignore", "inherit", "inherit"] });
    appendFileSync(fileOf(name), child.pid + "\\n");
    child.on("close", (code) => process.exit(code ?? 137));
  },
};
operations[operation]();
`;

export interface FakePodman {
  /** Folder to put into PATH. */
  readonly path: string;
  /** Path of the file with the arguments of every created container, one JSON array on each line. */
  readonly runs: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** @param info facts about the host, in the form of `podman info` */
export function makeFakePodman(info: object): FakePodman {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-podman-"));
  writeFileSync(join(folder, "podman"), `#!${process.execPath}\n${program}`, { mode: 0o755 });
  const containers = mkdtempSync(join(folder, "containers-"));
  const environment = { STAND_IN_FOLDER: containers, STAND_IN_INFO: JSON.stringify({ host: info }) };
  writeFileSync(join(folder, "runs"), "");
  return { path: folder, runs: join(folder, "runs"), environment };
}
