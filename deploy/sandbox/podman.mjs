/** The podman commands used by the adapter. */
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** First process of a container: sleeps, and collects ended processes left behind by a run. */
const firstProcess = "while :; do sleep 3600 & wait; done";
/** Kills every process of the container's user except the first. */
const killAll = "kill -9 -1";

export class Podman {
  #image;
  #label;

  /** @param image image with sh, sleep and python3 @param label label by which containers of an earlier process are found */
  constructor({ image, label }) {
    this.#image = image;
    this.#label = label;
  }

  async #text(...args) {
    const { stdout } = await execute("podman", args, { maxBuffer: 1024 * 1024 });
    return stdout.trim();
  }

  async info() {
    return JSON.parse(await this.#text("info", "--format", "json"));
  }

  /** Creates a container without programs. Its files are in memory, and count towards the memory of the container. */
  async create(name, memoryGiB) {
    const files = "rw,nosuid,nodev,mode=1777";
    await this.#text(
      ...["run", "--detach", "--name", name, "--label", this.#label, "--pull", "never", "--log-driver", "none"],
      ...[
        "--network",
        "none",
        "--hostname",
        "sandbox",
        "--read-only",
        "--read-only-tmpfs=false",
        "--stop-timeout",
        "0",
      ],
      ...[
        "--tmpfs",
        `/work:${files},size=${memoryGiB * 512}m`,
        "--tmpfs",
        `/tmp:${files},size=64m`,
        "--workdir",
        "/work",
      ],
      ...["--memory", `${memoryGiB}g`, "--memory-swap", `${memoryGiB}g`, "--cpus", "1", "--pids-limit", "128"],
      ...["--user", "65534:65534", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--env", "HOME=/work"],
      ...["--entrypoint", "sh", this.#image, "-c", firstProcess],
    );
  }

  /** @returns the process of `podman exec`, with the output of the program */
  exec(name, program) {
    return spawn("podman", ["exec", name, ...program], { stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Ends everything running in the container. @throws Error if no process can be started in the container any more */
  async clear(name) {
    await this.#text("exec", name, "sh", "-c", killAll);
  }

  async isRunning(name) {
    const state = this.#text("container", "inspect", "--format", "{{.State.Running}}", name);
    return (await state.catch(() => "false")) === "true";
  }

  async remove(name) {
    await this.#text("rm", "--force", "--time", "0", "--ignore", name);
  }

  async removeAll() {
    const ids = await this.#text("ps", "--all", "--quiet", "--filter", `label=${this.#label}`);
    if (ids !== "") await this.#text("rm", "--force", "--time", "0", ...ids.split("\n"));
  }
}

/** @throws Error if podman has root rights, or if it could not limit containers */
export async function requireLimits(podman) {
  const { host } = await podman.info();
  if (host.security.rootless !== true) throw new Error("podman runs as root: start the adapter as an ordinary user");
  const missing = ["cpu", "memory", "pids"].filter((name) => !host.cgroupControllers.includes(name));
  if (missing.length > 0)
    throw new Error(`containers would have no limits of ${missing.join(", ")}: see "Limits" in docs/tools/sandbox.md`);
}
