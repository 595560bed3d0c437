/** The workflows of the repository: the programs they run exist, the actions they use are pinned, and their permissions are minimal. */
import { accessSync, constants, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { root, runProgram } from "../../support/processes.ts";
import { stages } from "../images/targets.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const folder = join(root, ".github");
const files = readdirSync(join(folder, "workflows"));
const read = (path: string): unknown => parse(readFileSync(join(folder, path), "utf8"));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Expands a text once for each value of its matrix variable. */
function expand(text: string, matrix: Readonly<Record<string, readonly string[]>>): string[] {
  const [written, name = ""] = /\$\{\{ matrix\.(\w+) \}\}/.exec(text) ?? [];
  if (written === undefined) return [text];
  return (matrix[name] ?? []).flatMap((value) => expand(text.replace(written, value), matrix));
}

/** Programs on the runners of workflows, or installed there by an action. */
const programs = new Set(["gh", "cosign"]);
const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".test.ts") && !file.startsWith("node_modules"),
);

/** The error in a step's command; undefined when it can run. */
function problemOf(command: string): string | undefined {
  const [program = "", first = "", second = "", ...rest] = command.split(/\s+/);
  if (program === "npm" && first === "run") return second in scripts ? undefined : `no script ${second}`;
  if (program === "npm" && first === "test") {
    return rest.find((part) => !tests.some((file) => file.includes(part))) && `no test like ${rest.join(" ")}`;
  }
  if (program === "npm") return ["ci", "publish"].includes(first) ? undefined : `npm ${first}`;
  if (program === "node") return existsSync(join(root, first)) ? undefined : `no file ${first}`;
  if (!program.startsWith(".")) return programs.has(program) ? undefined : `no program ${program}`;
  try {
    accessSync(join(root, program), constants.X_OK);
    return undefined;
  } catch {
    return `${program} cannot be run`;
  }
}

test("the CI workflows are found", () => {
  expect(files.toSorted()).toEqual(["ci.yml", "nightly.yml", "release.yml"]);
});

describe.each(files)("the CI workflow %s", (file) => {
  const { permissions, jobs } = read(join("workflows", file)) as Workflow;
  const all = Object.values(jobs);
  const steps = all.flatMap((job) =>
    job.steps.flatMap((step) =>
      expand(JSON.stringify(step), job.strategy?.matrix ?? {}).map((text) => JSON.parse(text) as Step),
    ),
  );

  test("runs only existing scripts and programs", () => {
    const commands = steps.flatMap(({ run }) => run?.split(/\n|&&/) ?? []).map((command) => command.trim());
    expect(commands.length).toBeGreaterThan(1);
    expect(commands.map(problemOf).filter((problem) => problem !== undefined)).toEqual([]);
  });

  test("builds only images of the Dockerfile", () => {
    const built = steps.filter(({ uses }) => uses?.startsWith("docker/build-push-action@") === true);
    const names = stages.map(({ name }) => name);
    expect(built.filter((step) => !names.includes(String(step.with?.["target"])))).toEqual([]);
    expect(built.filter((step) => !existsSync(join(root, String(step.with?.["file"]))))).toEqual([]);
  });

  test("uses actions of a fixed commit, with their version in a comment", () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.length).toBeGreaterThan(1);
    expect(used.filter((action) => !/^[\w-]+\/[\w/-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
    const lines = readFileSync(join(folder, "workflows", file), "utf8").split("\n");
    const unnamed = lines.filter((line) => line.includes("uses: ") && !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line));
    expect(unnamed).toEqual([]);
  });

  test("has read permissions only, unless a job lists its write permissions", () => {
    expect(permissions).toEqual({ contents: "read" });
    const writing = Object.entries(jobs).flatMap(([name, job]) =>
      Object.entries(job.permissions ?? {}).flatMap(([scope, right]) =>
        right === "write" ? [`${name}: ${scope}`] : [],
      ),
    );
    const permitted = [
      "image: packages",
      "image: id-token",
      "image: attestations",
      "package: id-token",
      "package: attestations",
      "page: contents",
    ];
    expect(writing).toEqual(file === "release.yml" ? permitted : []);
  });

  test("has a time limit, and waits only for existing jobs", () => {
    expect(all.filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
    expect(all.flatMap(({ needs = [] }) => needs).filter((name) => !(name in jobs))).toEqual([]);
  });
});

/** Folders of campaigns, by their script. */
const campaigns = Object.entries(scripts).flatMap(([script, command]) => {
  const folder = /node test\/dist\/campaigns\/(\w+)\/main\.js$/.exec(command)?.[1];
  return folder === undefined ? [] : [[script, folder] as const];
});

test.each(campaigns)("the campaign %s runs in its short form among the tests", (_, campaign) => {
  const isOfIt = (file: string) =>
    file.startsWith(`campaigns/${campaign}/`) ||
    readFileSync(join(root, "test", file), "utf8").includes(`/${campaign}/`);
  expect(tests.filter(isOfIt)).not.toEqual([]);
});

/** Left out of the workflows: times need a quiet machine, the others programs or a kernel missing on the runners. */
const elsewhere = ["cluster", "memory", "bench"];

test("every campaign runs in full each night where the machines allow it", () => {
  const nightly = (read("workflows/nightly.yml") as Workflow).jobs["campaign"]?.strategy?.matrix["campaign"] ?? [];
  const run = new Set(nightly.map((words) => words.split(" ")[0]));
  expect(campaigns.map(([script]) => script).filter((script) => !run.has(script))).toEqual(elsewhere);
});

test("the issue forms on GitHub are valid", () => {
  const forms = readdirSync(join(folder, "ISSUE_TEMPLATE")).filter((file) => file !== "config.yml");
  expect(forms).toHaveLength(2);
  for (const form of forms) {
    const { name, body } = read(join("ISSUE_TEMPLATE", form)) as {
      readonly name: string;
      readonly body: readonly object[];
    };
    expect([form, name, body.length]).toEqual([form, expect.stringMatching(/./), expect.any(Number)]);
  }
});

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

const ofDockerfile = /^ARG NODE_IMAGE=(.*)$/m.exec(readFileSync(join(root, "deploy/images/Dockerfile"), "utf8"))?.[1];

test.each([
  ["", 0],
  ["docker.io/library/node:24-bookworm-slim", 1],
  ["docker.io/library/node:24-bookworm-slim@sha256:123", 1],
  [`docker.io/library/node:24-bookworm-slim@${digest} --push`, 1],
  [`docker.io/library/node:24-bookworm-slim@${digest}`, 0],
])("the check of a release on the base image %j ends with exit code %d", async (image, code) => {
  const ended = await runProgram(process.execPath, ["deploy/release/base.mjs", image]);
  expect([ended.code, ended.stdout]).toEqual([code, code === 0 ? `image=${image || ofDockerfile}\n` : ""]);
});

test("images of a release are built on the base image with the checked digest", () => {
  const { jobs } = read("workflows/release.yml") as Workflow;
  const [build] = jobs["image"]?.steps.filter(({ uses }) => uses?.startsWith("docker/build-push-action@")) ?? [];
  expect(build?.with?.["build-args"]).toContain("NODE_IMAGE=${{ needs.verify.outputs.node-image }}");
});

test("every locked package has its integrity hash", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly link?: boolean; readonly integrity?: string }>>;
  };
  const fetched = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  expect(fetched.length).toBeGreaterThan(500);
  expect(fetched.filter(([, { integrity = "" }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
});

test.each([
  ["v0.0.0-other", 1],
  [`v${(JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version}`, 0],
])("the check of a release of the tag %s ends with exit code %d", async (tag, code) => {
  const ended = await runProgram(process.execPath, ["deploy/release/tag.mjs", tag]);
  expect(ended).toMatchObject({ code, stdout: code === 0 ? `version=${tag.slice(1)}\n` : "" });
});
