/** Tests with images that podman builds by the commands of the deployment pages, and with the pods of the development overlay. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { stringify } from "yaml";
import { eventually, root, runProgram } from "../../support/processes.ts";
import { render } from "../kubernetes/kustomize.ts";
import { type Workload, workloadsOf } from "../kubernetes/workloads.ts";
import { commandsOf, firstCurl, firstKey } from "./page.ts";
import type { Podman } from "./podman.ts";
import { type Pods, podsOf } from "./pods.ts";
import { nodeImage, postgresImage } from "./stand-ins.ts";
import { imageOf, maxImageBytes, targets } from "./targets.ts";

/** Milliseconds after which a command counts as hanging; on a busy machine a build takes ten minutes. */
const limitMs = 60 * 60_000;
const startLimitMs = 10 * 60_000;

const database = "postgres://sluice:secret@postgres:5432/sluice";
const secrets = {
  sluice: { "service-token": "t".repeat(64), secret: "s".repeat(64) },
  "sluice-database": { url: database, "owner-url": database, password: "secret" },
};

/** Prints the user id and the capabilities of the process, and tries to write to three paths, which must be refused. */
const look = `
  const { readFileSync, writeFileSync } = require("node:fs");
  const attempt = (path) => { try { writeFileSync(path, ""); return "written"; } catch ({ code }) { return code; } };
  const [, rights] = /CapEff:\\s*(\\S+)/.exec(readFileSync("/proc/self/status", "utf8"));
  console.log(JSON.stringify([process.getuid(), Number(rights), ...["/x", "/sluice/x", "/tmp/x"].map(attempt)]));
`;

/** Registers the tests. @param folder folder for their files @param found podman; undefined if the tests are only to be counted as skipped */
export function inContainers(folder: string, found: Podman | undefined): void {
  const podman = found as Podman;
  if (found !== undefined) jest.setTimeout(limitMs);
  let node: string;
  let cache: string;
  let pods: Pods;
  const manifest = join(folder, "pods.yaml");
  const configPath = join(folder, "sluice.yaml");

  beforeAll(async () => {
    cpSync(join(root, "deploy/kubernetes/base/sluice.yaml"), configPath);
    cache = (await runProgram("npm", ["config", "get", "cache"])).stdout.trim();
    node = await nodeImage(podman, folder);
  });
  afterAll(() => podman.remove());

  /** Runs a command of the page, with podman in place of docker, and local copies in place of downloads. */
  async function asOnPage(command: string, cwd: string): Promise<string> {
    const given = [
      "--build-arg",
      `NODE_IMAGE=${node}`,
      "--volume",
      `${cache}:/root/.npm`,
      "--security-opt",
      "label=disable",
    ];
    const words = [...podman.words, ...(command.startsWith("docker build ") ? ["build", ...given] : ["run"])];
    const ours = command.replace(/^docker \w+/, words.map((word) => `'${word}'`).join(" "));
    const { code, stdout, stderr } = await runProgram("/bin/sh", ["-c", ours], {
      cwd,
      environment: podman.environment,
    });
    if (code !== 0) throw new Error(`${command}: ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  const inspect = (name: string, format: string) => podman.do("inspect", "--format", format, name);
  const container = (pod: string) => `${pod}-${pod}`;

  test("the page's commands build them", async () => {
    const commands = commandsOf("docker build ");
    expect(commands).toHaveLength(targets.length);
    for (const command of commands) await asOnPage(command, root);
  });

  describe.each(targets)("%s", (target) => {
    test("runs with the settings of the Dockerfile, and is small", async () => {
      const [image] = JSON.parse(await podman.do("image", "inspect", `sluice/${target}`)) as [Inspected];
      const { User: asUser, Entrypoint: entry, Cmd: rest } = image.Config;
      const { user, command, healthCheck } = imageOf(target);
      expect([asUser, [...entry, ...rest]]).toEqual([user, command]);
      expect(image.Healthcheck.Test).toEqual(["CMD", ...healthCheck]);
      const own = image.Size - Number(await inspect(node, "{{.Size}}"));
      console.log(`sluice/${target}: ${(own / 1e6).toFixed(0)} MB on top of ${node}`);
      expect(own).toBeLessThan(maxImageBytes);
    });

    test("has no path writable by its user", async () => {
      const find = ["run", "--rm", "--entrypoint", "find", `sluice/${target}`, "/sluice", "-writable"];
      expect(await podman.do(...find)).toBe("");
    });
  });

  test("the page's commands run containers that can be reached", async () => {
    const answers: string[] = [];
    const ours = commandsOf("docker run ").filter((command) => command.includes(" sluice/"));
    for (const command of ours) answers.push(await asOnPage(command, folder));
    expect(answers).toEqual([expect.stringMatching(/^mk-sl-\w{49}$/m), expect.stringContaining("sluice/echo")]);
  });

  test("a service waiting for the others ends on a signal, though it is the first process", async () => {
    const settings = {
      SLUICE_CONFIG: "/etc/sluice.yaml",
      SLUICE_INFERENCE_ADDRESSES: "nobody:8081",
      SLUICE_ADMIN_ADDRESS: "nobody:8082",
      SLUICE_SERVICE_TOKEN: secrets.sluice["service-token"],
    };
    const variables = Object.entries(settings).map(([name, value]) => `--env=${name}=${value}`);
    const files = ["--security-opt=label=disable", `--volume=${configPath}:/etc/sluice.yaml:ro`];
    await podman.do("run", "--detach", "--name=waiting", ...files, ...variables, "sluice/gateway");
    const { healthCheck } = imageOf("gateway");
    await eventually(async () => (await podman.run("exec", "waiting", ...healthCheck)).code === 0, startLimitMs);
    await podman.do("stop", "--time=60", "waiting");
    expect(await inspect("waiting", "{{.State.ExitCode}}")).toBe("0");
    await podman.do("rm", "waiting");
  });

  test("podman kube play makes the pods of the development overlay, and all get ready", async () => {
    const resources = render(join(root, "deploy/kubernetes/overlays/development"));
    const { containers } = workloadsOf(resources).find(({ name }) => name === "postgres") as Workload;
    const { image } = containers[0] as { image: string };
    const [local = ""] = image.split("@"); // an image built here has another digest than the one on the page
    await postgresImage(podman, folder, local);
    pods = await podsOf(resources, secrets);
    const text = pods.documents.map((document) => stringify(document)).join("---\n");
    writeFileSync(manifest, text.replaceAll(image, local));
    await podman.do("kube", "play", manifest);
    const over = (job: string) => inspect(container(job), "{{.State.Status}} {{.State.ExitCode}}");
    for (const job of pods.jobs) await eventually(async () => (await over(job)) === "exited 0", startLimitMs);
    const ready = async (pod: string) => {
      const answer = await fetch(`http://127.0.0.1:${pods.port(pod, "health")}/readyz`).catch(() => undefined);
      await answer?.text();
      return answer?.status === 200;
    };
    for (const target of targets) await eventually(() => ready(target), startLimitMs);
  });

  test.each(targets)("the container %s is healthy, has no rights and can write only in its spool", async (target) => {
    await podman.do("exec", container(target), ...imageOf(target).healthCheck);
    const seen = await podman.do("exec", container(target), "node", "-e", look);
    expect(JSON.parse(seen)).toEqual([10_001, 0, "EROFS", "EROFS", "EROFS"]);
  });

  test("the first curl of the README answers, through the published port", async () => {
    const { key } = JSON.parse(await podman.do("exec", container("admin-svc"), ...firstKey())) as { key: string };
    const line = firstCurl(`http://127.0.0.1:${pods.port("gateway", "http")}`);
    const { stdout } = await runProgram("/bin/sh", ["-c", line], { environment: { ...process.env, SLUICE_KEY: key } });
    expect(stdout).toContain("event: response.completed");
    expect(stdout.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  test("the containers end on a signal with exit code 0, and leave nothing behind", async () => {
    for (const target of targets.toReversed()) {
      await podman.do("stop", "--time=90", container(target));
      expect([target, await inspect(container(target), "{{.State.ExitCode}}")]).toEqual([target, "0"]);
    }
    await podman.do("kube", "down", manifest);
    expect(await podman.do("ps", "--all", "--quiet")).toBe("");
  });
}

interface Inspected {
  readonly Size: number;
  readonly Config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Cmd: readonly string[] };
  readonly Healthcheck: { readonly Test: readonly string[] };
}
