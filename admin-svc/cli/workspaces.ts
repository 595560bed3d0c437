/** The command `workspaces` with its verbs create, put, list, update and delete. */
import { CommandError, UsageError, readArguments, requiredOption, table } from "@sluice/proto/lib/process/cli.js";
import { type WorkspaceSettings, checkWorkspaceSettings } from "../rules/workspace.ts";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import { type WorkspaceAccount, workspaceAccounts } from "../store/ledger/spending.ts";
import {
  type WorkspaceRow,
  createWorkspace,
  deleteWorkspace,
  findWorkspace,
  listWorkspaces,
  updateWorkspace,
} from "../store/workspaces.ts";
import { defaultWorkspaceId } from "../store/database.ts";
import { modelLimitDetails, readModelLimits } from "./model-limit-option.ts";
import { permissionDetails, readPermissions } from "./permission-option.ts";
import { readTagBudgets, tagBudgetDetails } from "./tag-budget-option.ts";
import { putCommand } from "./put.ts";
import {
  type Commands,
  throwAsUsageError,
  commandLine,
  flagOption,
  jsonOption,
  textOption,
  formatTime,
  noWorkspace,
} from "./terminal.ts";

const options = {
  json: flagOption,
  name: textOption,
  limit: textOption,
  "limit-reset": textOption,
  "model-limits": textOption,
  "tag-budgets": textOption,
  permissions: textOption,
  "required-tags": textOption,
} as const;
const newUsage =
  "--name NAME [--limit USD [--limit-reset daily|weekly|monthly]] [--model-limits JSON] [--tag-budgets JSON] [--permissions JSON] [--required-tags NAME,…] [--json]";

export const workspaces: Commands = {
  create: {
    usage: newUsage,
    summary: "Creates an empty workspace and prints its id.",
    details: [
      "Its keys share the limit; without --limit-reset it never starts again.",
      ...modelLimitDetails,
      ...tagBudgetDetails,
      ...permissionDetails,
      "Its first key: keys create --workspace NAME --management --name first",
    ],
    async run(args, { database, print }) {
      const { settings, asJson } = await readNewWorkspace(args);
      const row = await createWorkspace(await database(), commandLine, settings);
      if (!row) throw new CommandError("this workspace name is taken");
      print(asJson ? JSON.stringify(row) : row.id);
    },
  },
  put: putCommand("workspace", newUsage),
  list: {
    usage: "[--deleted] [--json]",
    summary: "Lists all workspaces with their budgets and the spending of the current period.",
    details: ["--deleted lists the deleted workspaces instead, whose records stay."],
    async run(args, { database, print }) {
      const { values } = readArguments(args, listOptions);
      const rows = await listWorkspaces(await database(), values.deleted);
      const accounts = await workspaceAccounts(
        await database(),
        rows.map(({ id }) => id),
      );
      const listed = rows.map((row) => ({ ...row, spent_usd: spentOf(row, accounts) }));
      if (values.json === true) return print(JSON.stringify(listed));
      const cells = listed.map((row) => [
        row.name,
        row.limit_usd === null ? "-" : String(Number(row.limit_usd)),
        row.limit_reset ?? "-",
        String(Number(row.spent_usd)),
        formatTime(row.created_at),
        row.id,
      ]);
      for (const line of table(["NAME", "LIMIT", "RESET", "SPENT", "CREATED", "ID"], cells)) print(line);
    },
  },
  update: {
    usage:
      "WORKSPACE [--name NAME] [--limit USD | --no-limit] [--limit-reset daily|weekly|monthly | --no-limit-reset] [--model-limits JSON | --no-model-limits] [--tag-budgets JSON | --no-tag-budgets] [--permissions JSON | --no-permissions] [--required-tags NAME,… | --no-required-tags] [--json]",
    summary: "Changes the named settings of a workspace, given by id or name.",
    details: [...modelLimitDetails, ...tagBudgetDetails, ...permissionDetails],
    async run(args, { database, print }) {
      const { workspace: idOrName, change, asJson } = await readWorkspaceChange(args);
      const found = await findWorkspace(await database(), idOrName);
      if (!found) throw await noWorkspace(await database(), idOrName);
      const changed = await updateWorkspace(await database(), { ...commandLine, workspaceId: found.id }, change);
      if (!changed) throw new CommandError("this workspace name is taken");
      const { row, generation } = changed;
      print(asJson ? JSON.stringify(row) : `${row.id} changed (policy generation ${generation})`);
    },
  },
  delete: {
    usage: "WORKSPACE",
    summary: "Deletes a workspace, given by id or name: revokes its keys, and keeps its records and audit log.",
    details: [
      "Its guardrails and captured contents are deleted, too. It cannot be undone.",
      "Read its records by its id: calls list --workspace ID",
    ],
    async run(args, { database, print }) {
      const { named } = readArguments(args, {}, "WORKSPACE");
      const found = await findWorkspace(await database(), named.WORKSPACE);
      if (!found) throw await noWorkspace(await database(), named.WORKSPACE);
      if (found.id === defaultWorkspaceId) throw new CommandError("the default workspace cannot be deleted");
      const change = await deleteWorkspace(await database(), { ...commandLine, workspaceId: found.id });
      if (!change) throw new CommandError("no such workspace");
      print(`${found.id} deleted (policy generation ${change.generation})`);
    },
  },
};

/** Options of `workspaces list`, on the database and over HTTP. */
export const listOptions = { ...jsonOption, deleted: flagOption } as const;

/** @throws UsageError for a wrong option */
export async function readNewWorkspace(args: string[]) {
  const { values } = readArguments(args, options);
  const settings = { ...changeOf(values), name: requiredOption("--name", values.name) };
  await throwAsUsageError(() => checkWorkspaceSettings(settings));
  return { settings, asJson: values.json === true };
}

/** @throws UsageError for a wrong option */
export async function readWorkspaceChange(args: string[]) {
  const all = {
    ...options,
    "no-limit": flagOption,
    "no-limit-reset": flagOption,
    "no-model-limits": flagOption,
    "no-tag-budgets": flagOption,
    "no-permissions": flagOption,
    "no-required-tags": flagOption,
  } as const;
  const { values, named } = readArguments(args, all, "WORKSPACE");
  const change: WorkspaceSettings = {
    ...changeOf(values),
    ...(values["no-limit"] === true && { limitUsd: null }),
    ...(values["no-limit-reset"] === true && { limitReset: null }),
    ...(values["no-model-limits"] === true && { modelLimits: null }),
    ...(values["no-tag-budgets"] === true && { tagBudgets: null }),
    ...(values["no-permissions"] === true && { permissions: null }),
    ...(values["no-required-tags"] === true && { requiredTags: null }),
  };
  if (Object.keys(change).length === 0) throw new UsageError("missing option: name what to change");
  await throwAsUsageError(() => checkWorkspaceSettings(change));
  return { workspace: named.WORKSPACE, change, asJson: values.json === true };
}

interface Given {
  readonly name?: string | undefined;
  readonly limit?: string | undefined;
  readonly "limit-reset"?: string | undefined;
  readonly "model-limits"?: string | undefined;
  readonly "tag-budgets"?: string | undefined;
  readonly permissions?: string | undefined;
  readonly "required-tags"?: string | undefined;
}

const changeOf = ({
  name,
  limit,
  "limit-reset": limitReset,
  "model-limits": modelLimits,
  "tag-budgets": tagBudgets,
  permissions,
  "required-tags": requiredTags,
}: Given): WorkspaceSettings => ({
  ...(name !== undefined && { name }),
  ...(limit !== undefined && { limitUsd: limit }),
  // An unknown word is refused later, by the check of all settings.
  ...(limitReset !== undefined && { limitReset: limitReset as ResetInterval }),
  ...(modelLimits !== undefined && { modelLimits: readModelLimits(modelLimits, "--model-limits") }),
  ...(tagBudgets !== undefined && { tagBudgets: readTagBudgets(tagBudgets, "--tag-budgets") }),
  ...(permissions !== undefined && { permissions: readPermissions(permissions, "--permissions") }),
  ...(requiredTags !== undefined && { requiredTags }),
});

const spentOf = ({ id }: WorkspaceRow, accounts: readonly WorkspaceAccount[]): string =>
  accounts.find((account) => account.id === id)?.spent_usd ?? "0";
