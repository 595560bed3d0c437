/** Podman with images, containers and networks in a folder of its own: those of the user are neither used nor touched. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mountsBelow } from "../../support/mounts.ts";
import { type FinishedProcess, runProgram } from "../../support/processes.ts";
import { undoAfterRun } from "../../support/runner/run-folder.ts";
import { RootFolder } from "./root-folder.ts";

/**
 * Limits for containers. By default podman requests higher ones than its caller has, for which root may lack the right; these are plenty for a
 * service.
 */
const limits = ["nofile=4096:4096", "nproc=4096:4096"];

/** Container runtimes, in the order in which they are tried. crun, podman's default, cannot run where both versions of cgroups are mounted. */
const runtimes = [undefined, "runc"];

/** Commands to remove everything. The order matters: containers of a pod are removed only with the pod. */
const removals = [
  ["pod", "rm", "--all", "--force", "--time=0"],
  ["rm", "--all", "--force", "--time=0"],
  ["network", "prune", "--force"],
] as const;

export class Podman {
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #isolated: readonly string[];
  readonly #callOff: readonly (() => void)[];

  private constructor(folder: string, runtime: string | undefined) {
    this.#folder = folder;
    mkdirSync(join(folder, "tmp"), { recursive: true });
    const settings = join(folder, "containers.conf");
    writeFileSync(settings, configuration(runtime));
    this.#environment = {
      ...process.env,
      TMPDIR: join(folder, "tmp"),
      CONTAINERS_CONF: settings,
      BUILDAH_FORMAT: "docker",
    };
    const places = { root: "root", runroot: "run", tmpdir: "libpod", "network-config-dir": "networks" };
    this.#isolated = Object.entries(places).map(([option, place]) => `--${option}=${join(folder, place)}`);
    // Containers outlive their program, so they are also removed when the test run ends.
    this.#callOff = removals.map((removal, position) =>
      undoAfterRun(`podman-${position}`, {
        command: "podman",
        args: [...this.#isolated, ...removal],
        environment: this.#environment,
      }),
    );
  }

  /** @param folder an empty folder @returns podman, or the reason why no container can run on this machine */
  static async open(folder: string): Promise<Podman | string> {
    if (process.platform !== "linux") return "what stands for images of others is made of programs for Linux";
    const version = await runProgram("podman", ["--version"]).catch(() => undefined);
    if (version?.code !== 0) return "there is no podman";
    const sample = new RootFolder(join(folder, "sample"));
    await sample.programs(["/bin/sh"]);
    const problems: string[] = [];
    for (const runtime of runtimes) {
      const podman = new Podman(folder, runtime);
      // Tries a pod, which needs one more program than a container.
      const inPod = ["--pod=new:sample", "--rootfs", sample.path];
      const { code, stderr } = await podman.run("run", "--rm", ...inPod, "/bin/sh", "-c", "exit 0");
      await podman.run(...removals[0]);
      if (code === 0 && (await podman.#hasNames())) return podman;
      await podman.remove();
      if (code === 0)
        return "pods do not find each other by name: podman lacks dnsname (or aardvark-dns, with netavark)";
      problems.push(stderr.trim().split("\n").at(-1) ?? "");
    }
    return `podman runs no container: ${[...new Set(problems)].join("; ")}`;
  }

  /** Whether containers in a network find each other by name. */
  async #hasNames(): Promise<boolean> {
    await this.do("network", "create", "sample");
    const found = await this.do("network", "inspect", "sample", "--format", "{{.DNSEnabled}}");
    await this.do("network", "rm", "sample");
    return found === "true";
  }

  /** The command to start podman, as arguments. */
  get words(): readonly string[] {
    return ["podman", ...this.#isolated];
  }

  get environment(): NodeJS.ProcessEnv {
    return this.#environment;
  }

  run(...args: readonly string[]): Promise<FinishedProcess> {
    const [program = "", ...rest] = [...this.words, ...args];
    return runProgram(program, rest, { environment: this.#environment });
  }

  /** Runs podman. @returns its output @throws with its error output if it fails */
  async do(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`podman ${args.join(" ")}: ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  /** Removes everything that this podman has created, also after a partial failure. */
  async remove(): Promise<void> {
    for (const removal of removals) await this.run(...removal);
    for (const callOff of this.#callOff) callOff();
    const left = ["root", "run", "libpod", "networks", "tmp"].map((place) => join(this.#folder, place));
    const removal = ["rm", "-rf", ...left] as const;
    // Files of an ordinary user's podman belong to users of a namespace, and their mounts end with it. Root's mounts stay: podman keeps its storage
    // mounted, and a failed build leaves its layers mounted.
    if (process.getuid?.() !== 0) return void (await this.run("unshare", ...removal));
    for (const place of mountsBelow(this.#folder)) await runProgram("umount", [place]);
    await runProgram(removal[0], removal.slice(1));
  }
}

/** Configuration of podman: locks in a file, since other kinds are shared by all podmans of a user; cgroups without systemd, which may not run. */
const configuration = (runtime: string | undefined): string => `
[containers]
default_ulimits = ${JSON.stringify(limits)}
[engine]
lock_type = "file"
events_logger = "file"
${existsSync("/run/systemd/system") ? "" : 'cgroup_manager = "cgroupfs"'}
${runtime === undefined ? "" : `runtime = "${runtime}"`}
`;
