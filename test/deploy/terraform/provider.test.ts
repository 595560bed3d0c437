/** The Terraform provider, generated, built and used as described on its page, against a running Sluice. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { readPage } from "../../support/pages.ts";
import { bareEnvironment, root, runProgram } from "../../support/processes.ts";

/** Deadline for hanging commands; on a busy machine the first compilation takes minutes. */
const buildLimitMs = 30 * 60_000;

const page = readPage("docs/deploy/terraform.md");
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? "";

/** Minimum number of processors for compiling the provider in all tests: two processors need four of the thirty minutes of the whole run. */
const enoughProcessors = 4;

/** Why the provider is not built and used here; undefined where it is. */
async function findMissing(): Promise<string | undefined> {
  if (availableParallelism() < enoughProcessors && process.env["TERRAFORM_PROVIDER"] === undefined)
    return `it compiles for minutes on fewer than ${enoughProcessors} processors: TERRAFORM_PROVIDER=1 npm test -- deploy/terraform`;
  for (const [program, argument] of [
    ["go", "version"],
    ["terraform", "-version"],
  ] as const) {
    const { code } = await runProgram(program, [argument]).catch(() => ({ code: 1 }));
    if (code !== 0) return `there is no ${program}`;
  }
  // The build downloads the modules, too, if they are available.
  const libraries = ["terraform-plugin-framework", "terraform-plugin-framework-validators"];
  const packages = ["tool", ...libraries.map((library) => `github.com/hashicorp/${library}/...`)];
  const { code, stderr } = await runProgram("go", ["list", "-deps", ...packages], {
    cwd: join(root, "deploy/terraform/provider"),
  });
  return code === 0 ? undefined : `modules of Go are not there: ${stderr.trim().split("\n").at(-1)}`;
}

const missing = await findMissing();

(missing === undefined ? describe : describe.skip)(
  `the Terraform provider${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    let installation: Installation;
    let environment: NodeJS.ProcessEnv;
    const folder = mkdtempSync(join(tmpdir(), "sluice-terraform-"));
    const work = join(folder, "work");
    const configuration = block("hcl");

    beforeAll(async () => {
      installation = await startInstallation();
      const made = await installation.admin(
        "keys",
        "create",
        "--management",
        "--account",
        "--name",
        "terraform",
        "--json",
      );
      const goCaches = await runProgram("go", ["env", "GOCACHE", "GOMODCACHE"]);
      const [GOCACHE, GOMODCACHE] = goCaches.stdout.split("\n");
      environment = {
        ...bareEnvironment(),
        HOME: folder,
        GOCACHE,
        GOMODCACHE,
        // The modules are cached by now, so a build that needs further modules must fail.
        GOPROXY: "off",
        CHECKPOINT_DISABLE: "1",
        // Compiling takes longer than all of the provider's work here.
        GOFLAGS: "'-gcflags=all=-N -l' '-ldflags=-s -w'",
        SLUICE_URL: new URL(installation.baseUrl).origin,
        SLUICE_MANAGEMENT_KEY: (JSON.parse(made.stdout) as { key: string }).key,
      };
      mkdirSync(work);
    });
    afterAll(async () => {
      await installation?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const run = (command: string, args: readonly string[], cwd = work) =>
      runProgram(command, args, { cwd, environment });

    async function terraform(...args: readonly string[]): Promise<string> {
      const { code, stdout, stderr } = await run("terraform", args);
      if (code !== 0) throw new Error(`terraform ${args.join(" ")}: ${code}\n${stdout}${stderr}`);
      return stdout;
    }

    const apply = (text: string) => {
      writeFileSync(join(work, "main.tf"), text);
      return terraform("apply", "-auto-approve", "-no-color");
    };

    /** Exit code 0: no changes are planned; 2: some are. */
    const planned = async () => (await run("terraform", ["plan", "-detailed-exitcode"])).code;

    async function shown(path: string): Promise<Readonly<Record<string, unknown>> | number> {
      const headers = { authorization: `Bearer ${environment["SLUICE_MANAGEMENT_KEY"]}` };
      const answer = await fetch(`${installation.baseUrl}/${path}`, { headers });
      const { data } = (await answer.json()) as { data: Readonly<Record<string, unknown>> };
      return answer.ok ? data : answer.status;
    }

    test(
      "is generated and built by the commands of the page, without a warning",
      async () => {
        cpSync(join(root, "deploy/terraform"), join(folder, "deploy/terraform"), { recursive: true });
        expect(await run("/bin/sh", ["-e", "-c", block("sh")], folder)).toEqual({ code: 0, stdout: "", stderr: "" });
      },
      buildLimitMs,
    );

    test("makes the records of the page, and then plans no change", async () => {
      writeFileSync(join(work, "main.tf"), configuration);
      await terraform("init");
      expect(await apply(configuration)).toContain("3 added, 0 changed, 0 destroyed");
      expect(await shown("workspaces/by-external-id/research")).toMatchObject({ limit: 500, limit_reset: "monthly" });
      expect(await shown("keys/by-external-id/billing-prod")).toMatchObject({
        limit: 25,
        requests_per_minute: 60,
        tags: { team: "billing", cost_center: "4711" },
      });
      expect(await shown("guardrails/by-external-id/rules")).toMatchObject({
        allowed_data_regions: ["europe"],
        content_filters: [{ pattern: "secret-\\d+", action: "block", label: "secrets" }],
      });
      expect(await planned()).toBe(0);
    });

    test("keeps the created key in the state", async () => {
      const state = JSON.parse(await terraform("show", "-json")) as {
        values: { root_module: { resources: { type: string; values: { key?: string } }[] } };
      };
      const key = state.values.root_module.resources.find(({ type }) => type === "sluice_key")?.values.key;
      const answer = await fetch(`${installation.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } });
      expect([key, answer.status]).toEqual([expect.stringMatching(/^sk-sl-/), 200]);
    });

    test("applies changes of the configuration, and resets removed settings to their defaults", async () => {
      const changed = configuration
        .replace("= 500", "= 600.25")
        .replace(', label = "secrets"', "")
        .replace('  allowed_data_regions = ["europe"]\n', "")
        .replace(
          "  requests_per_minute = 60\n",
          '  expires_at = "2099-01-31T00:00:00Z"\n  external   = { user = "employee" }\n',
        );
      expect(await apply(changed)).toContain("0 added, 3 changed, 0 destroyed");
      expect(await shown("workspaces/by-external-id/research")).toMatchObject({ limit: 600.25 });
      expect(await shown("guardrails/by-external-id/rules")).toMatchObject({
        allowed_data_regions: null,
        content_filters: [{ pattern: "secret-\\d+", action: "block", label: null }],
      });
      expect(await shown("keys/by-external-id/billing-prod")).toMatchObject({
        requests_per_minute: null,
        external_user: "employee",
      });
      expect(await planned()).toBe(0);
    });

    test("removes only the settings removed from the configuration", async () => {
      const without = configuration.replace("  requests_per_minute = 60\n", "");
      await apply(configuration);
      expect(await apply(without)).toContain("0 added, 1 changed, 0 destroyed");
      expect(await shown("keys/by-external-id/billing-prod")).toMatchObject({ requests_per_minute: null });
      expect(await planned()).toBe(0);
    });

    test("detects changes and deletions made outside of Terraform", async () => {
      await apply(configuration);
      await installation.admin(
        "keys",
        "update",
        ((await shown("keys/by-external-id/billing-prod")) as { hash: string }).hash,
        "--limit",
        "30",
      );
      expect(await apply(configuration)).toContain("0 added, 1 changed, 0 destroyed");
      await installation.admin(
        "guardrails",
        "delete",
        ((await shown("guardrails/by-external-id/rules")) as { id: string }).id,
      );
      expect(await apply(configuration)).toContain("1 added, 0 changed, 0 destroyed");
    });

    test("takes over existing records by import, and then plans no change", async () => {
      rmSync(join(work, "terraform.tfstate"));
      await terraform("import", "sluice_workspace.research", "research");
      await terraform("import", "sluice_guardrail.rules", "rules");
      await terraform("import", "sluice_key.billing", "billing-prod");
      expect(await planned()).toBe(0);
    });

    test("deletes the key and the guardrail, and leaves the workspace", async () => {
      expect(await terraform("destroy", "-auto-approve")).toContain("The workspace stays");
      expect(await shown("keys/by-external-id/billing-prod")).toBe(404);
      expect(await shown("guardrails/by-external-id/rules")).toBe(404);
      expect(await shown("workspaces/by-external-id/research")).toMatchObject({ name: "research" });
    });

    test("shows the messages with which Sluice refuses changes", async () => {
      await expect(apply(configuration.replace("= 25", "= -1"))).rejects.toThrow(
        /Sluice did not make the key[\s\S]*limit/,
      );
    });
  },
);
