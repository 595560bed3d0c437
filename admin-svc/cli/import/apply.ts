/**
 * Creates the records of an import's plan with the same functions as `keys create` and similar commands. An existing
 * record with the same name stays unchanged.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { CommandError } from "@sluice/proto/lib/process/cli.js";
import type { Kysely } from "kysely";
import { keySettingsJson } from "../../rules/key.ts";
import { type WorkspaceSettings, workspaceSettingsJson } from "../../rules/workspace.ts";
import { changeAssignments } from "../../store/assignments.ts";
import type { Author } from "../../store/audit.ts";
import type { Database } from "../../store/database.ts";
import { createEndUser, updateEndUser } from "../../store/end-users.ts";
import { createGuardrail, listGuardrails } from "../../store/guardrails.ts";
import { listKeys } from "../../store/key-list.ts";
import { createKey, updateKey } from "../../store/keys.ts";
import { createWorkspace, findWorkspace } from "../../store/workspaces.ts";
import { type AdminTerminal, commandLine, findAuthor } from "../terminal.ts";

export interface PlannedKey {
  readonly name: string;
  readonly settings: KeySettings;
  /** Slugs of the only models allowed to the key; undefined allows every model. */
  readonly models: readonly string[] | undefined;
}

export interface PlannedWorkspace {
  /** Name of the workspace; undefined for the workspace of the `--workspace` option. */
  readonly name: string | undefined;
  readonly settings: WorkspaceSettings;
  readonly keys: readonly PlannedKey[];
  readonly endUsers: readonly { readonly user: string; readonly isActive: boolean }[];
}

/** A record that an import cannot make. */
export interface LeftOutRecord {
  readonly record: "key";
  readonly name: string;
  readonly why: string;
}

/** A record of the plan: to be created, created, or found to exist. */
export interface PlanStep {
  readonly record: "workspace" | "key" | "end user";
  readonly workspace: string | null;
  readonly name: string;
  /** Whether the record was made or existed already; null before anything is written. */
  readonly done: "made" | "exists" | null;
  /** The secret of a new key, unless a file receives the secrets. */
  readonly key?: string;
  readonly settings: object;
}

/** Lists the steps of a plan without creating anything. */
export const planSteps = (workspaces: readonly PlannedWorkspace[]): PlanStep[] =>
  workspaces.flatMap(({ name, settings, keys, endUsers }): PlanStep[] => [
    ...(name === undefined
      ? []
      : [
          {
            record: "workspace" as const,
            workspace: null,
            name,
            done: null,
            settings: workspaceSettingsJson(settings),
          },
        ]),
    ...keys.map((key) => ({ ...keyStep(name, key), done: null })),
    ...endUsers.map(({ user, isActive }) => ({ ...userStep(name, user, isActive), done: null })),
  ]);

const keyStep = (workspace: string | undefined, { name, settings, models }: PlannedKey) => ({
  record: "key" as const,
  workspace: workspace ?? null,
  name,
  settings: { ...keySettingsJson(settings), ...(models && { models }) },
});

const userStep = (workspace: string | undefined, name: string, isActive: boolean) => ({
  record: "end user" as const,
  workspace: workspace ?? null,
  name,
  settings: { is_active: isActive },
});

/** A file for secrets, opened before the keys are created, because a key without its secret would be useless. */
export class SecretsFile {
  readonly #descriptor: number;

  /** @throws CommandError when the file exists */
  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, "wx", 0o600);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new CommandError(
        `${path}: ${code === "EEXIST" ? "exists already: name another file" : `cannot be written: ${code}`}`,
      );
    }
  }

  add(workspace: string | undefined, name: string, key: string): void {
    writeSync(this.#descriptor, `${JSON.stringify({ workspace: workspace ?? null, name, key })}\n`);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/**
 * Creates the missing records. @param secrets receives the secrets of new keys; when undefined, the steps carry them
 */
export async function applyPlan(
  workspaces: readonly PlannedWorkspace[],
  terminal: AdminTerminal,
  secrets: SecretsFile | undefined,
): Promise<PlanStep[]> {
  const database = await terminal.database();
  const steps: PlanStep[] = [];
  for (const planned of workspaces) {
    const { name, settings, keys, endUsers } = planned;
    if (name !== undefined) {
      const made = (await findWorkspace(database, name))
        ? undefined
        : await createWorkspace(database, commandLine, { ...settings, name });
      steps.push({
        record: "workspace",
        workspace: null,
        name,
        done: made ? "made" : "exists",
        settings: workspaceSettingsJson(settings),
      });
    }
    const author = name === undefined ? await terminal.author() : await findAuthor(database, name);
    const known = new Set((await listKeys(database, author.workspaceId)).map((key) => key.name));
    for (const key of keys) {
      const step = keyStep(name, key);
      if (known.has(key.name)) {
        steps.push({ ...step, done: "exists" });
        continue;
      }
      const secret = mintKey(KeyKind.INFERENCE);
      secrets?.add(name, key.name, secret);
      await makeKey(database, author, key, secret);
      steps.push({ ...step, done: "made", ...(secrets === undefined && { key: secret }) });
    }
    for (const { user, isActive } of endUsers) {
      const row = await createEndUser(database, author, user);
      if (row && !isActive) await updateEndUser(database, author, user, false);
      steps.push({ ...userStep(name, user, isActive), done: row ? "made" : "exists" });
    }
  }
  return steps;
}

/**
 * Creates a key. A key with a list of models stays disabled until its guardrail is assigned, so after an interrupted
 * import it reaches no other models.
 */
async function makeKey(
  database: Kysely<Database>,
  author: Author,
  { name, settings, models }: PlannedKey,
  key: string,
): Promise<void> {
  const guardrailId = models && (await guardrailFor(database, author, models));
  const made = await createKey(database, author, {
    ...settings,
    name,
    key,
    ...(guardrailId !== undefined && { disabled: true }),
  });
  if (!made) throw new Error("a freshly minted key exists already");
  if (guardrailId === undefined) return;
  const keyHashes = [made.row.hash];
  await changeAssignments(database, author.workspaceId, [{ author, verb: "assign", guardrailId, keyHashes }]);
  await updateKey(database, author, made.row.hash, { disabled: settings.disabled ?? false });
}

/**
 * Finds or creates the guardrail that allows exactly these models. Its name is made of the list; the name of a long
 * list ends with a hash.
 */
async function guardrailFor(database: Kysely<Database>, author: Author, models: readonly string[]): Promise<string> {
  const list = models.toSorted().join(", ");
  const digest = createHash("sha256").update(list).digest("hex").slice(0, 12);
  const name = list.length <= 120 ? `imported: ${list}` : `imported: ${list.slice(0, 120)}... ${digest}`;
  const known = (await listGuardrails(database, author.workspaceId)).find((guardrail) => guardrail.name === name);
  if (known) return known.id;
  const made = await createGuardrail(database, author, { name, routing_policy: { allowed_models: [...models] } });
  return made.row.id;
}
