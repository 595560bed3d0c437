/** Plans Sluice records for keys, teams and customers of LiteLLM, from the JSON answers of its list operations. */
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import { formatDollars } from "@sluice/proto/lib/ledger/money.js";
import { CommandError } from "@sluice/proto/lib/process/cli.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { checkKeySettings } from "../../../rules/key.ts";
import type { WorkspaceSettings } from "../../../rules/workspace.ts";
import type { LeftOutRecord, PlannedKey, PlannedWorkspace } from "../apply.ts";
import { Draft } from "../draft.ts";
import { type Finding, Findings, type Path, keptField, untakenField } from "../findings.ts";
import { customerRemarks, keyRemarks, teamRemarks, unknownUser } from "./access-remarks.ts";
import { readJsonFile } from "../json-file.ts";
import { Params } from "./params.ts";
import { unknownField } from "./remarks.ts";

const page = "docs/migrate/litellm.md#keys-and-teams";

/** Paths of files with the answers of LiteLLM's list operations. */
export interface AccessFiles {
  readonly keys?: string | undefined;
  readonly teams?: string | undefined;
  readonly customers?: string | undefined;
  readonly users?: string | undefined;
}

export interface PlannedAccess {
  readonly workspaces: readonly PlannedWorkspace[];
  /** Keys in the files that the import cannot create. */
  readonly leftOut: readonly LeftOutRecord[];
  readonly findings: readonly Finding[];
}

type Lists = Readonly<Record<keyof AccessFiles, readonly unknown[]>>;

/** A team of LiteLLM, and the workspace that replaces it. */
interface Team {
  readonly id: string;
  readonly models: readonly string[] | undefined;
  readonly isBlocked: boolean;
  readonly workspace: { name: string; settings: WorkspaceSettings; keys: PlannedKey[]; endUsers: [] };
}

type SlugFor = (name: string) => string | undefined;

/**
 * @param slugFor maps a model name of LiteLLM to a slug of the new configuration
 * @throws CommandError for a file that holds no list
 */
export function planAccess(files: AccessFiles, slugFor: SlugFor): PlannedAccess {
  const lists: Lists = {
    keys: readList(files.keys, "keys"),
    teams: readList(files.teams, "teams"),
    customers: readList(files.customers, "customers"),
    users: readList(files.users, "users"),
  };
  const given = Object.fromEntries(
    Object.entries(lists).filter(([name]) => files[name as keyof AccessFiles] !== undefined),
  );
  const findings = new Findings();
  const reader = new AccessReader(findings, slugFor);
  const teams = lists.teams.flatMap((team, index) => reader.team(team, ["teams", index]));
  const own: PlannedKey[] = [];
  for (const [index, key] of lists.keys.entries()) reader.key(key, ["keys", index], teams, own);
  const endUsers = lists.customers.flatMap((user, index) => reader.customer(user, ["customers", index]));
  findings.add(["users"], unknownUser);
  return {
    workspaces: [{ name: undefined, settings: {}, keys: own, endUsers }, ...teams.map(({ workspace }) => workspace)],
    leftOut: reader.leftOut,
    findings: findings.of(given, unknownField).filter(({ field }) => field !== ""),
  };
}

/**
 * Entries of a list answer: LiteLLM gives a bare array, or an object with the array. @throws CommandError for another
 * form
 */
function readList(file: string | undefined, name: string): readonly unknown[] {
  if (file === undefined) return [];
  const answer = readJsonFile(file);
  const list = isObject(answer) ? (answer[name] ?? answer["data"]) : answer;
  if (!Array.isArray(list)) throw new CommandError(`${file}: no list of ${name}`);
  const pages = isObject(answer) ? answer["total_pages"] : undefined;
  if (typeof pages === "number" && pages > 1) {
    throw new CommandError(
      `${file}: one page of ${pages}; put the lists of all pages into one file: {"${name}": [...]}`,
    );
  }
  if (list.some((entry) => !isObject(entry))) {
    throw new CommandError(`${file}: names only; ask LiteLLM with return_full_object=true`);
  }
  return list;
}

/** Model names of LiteLLM that mean all models, or all models of the team. */
const everyModel = "all-proxy-models";
const teamModels = "all-team-models";

class AccessReader {
  readonly #findings: Findings;
  readonly #slugFor: SlugFor;
  readonly #names = new Set<string>();
  readonly leftOut: { record: "key"; name: string; why: string }[] = [];

  constructor(findings: Findings, slugFor: SlugFor) {
    this.#findings = findings;
    this.#slugFor = slugFor;
  }

  team(entry: unknown, path: Path): Team[] {
    const params = this.#params(entry, path, teamRemarks);
    const id = params.text("team_id") ?? "";
    if (id === "") {
      this.#findings.close(path, untakenField("a team without team_id is left out", page));
      return [];
    }
    const name = this.#unusedName("workspace", params.text("team_alias") ?? id, id);
    params.taken(params.has("team_alias") ? "team_alias" : "team_id", "name of a workspace", page);
    params.taken("team_id", "the workspace of its keys", page);
    const models = this.#models(params, path, undefined);
    if (models !== undefined)
      params.taken("models", "allowed_models of a guardrail for keys without models of their own", page);
    const isBlocked = params.raw("blocked") === true;
    params.taken("blocked", "disabled of its keys", page);
    const settings = { name, ...budgetOf(params, "limit of the workspace") };
    return [{ id, models, isBlocked, workspace: { name, settings, keys: [], endUsers: [] } }];
  }

  /** Adds a key to the workspace of its team. @param own receives keys without a team */
  key(entry: unknown, path: Path, teams: readonly Team[], own: PlannedKey[]): void {
    const budget =
      isObject(entry) && isObject(entry["litellm_budget_table"]) ? entry["litellm_budget_table"] : undefined;
    const params = this.#params(entry, path, keyRemarks, budget);
    const given = params.text("key_alias") ?? params.text("key_name") ?? "";
    const teamId = params.raw("team_id");
    const team = teams.find(({ id }) => id === teamId);
    if (teamId !== undefined && !team) {
      return this.#leave(path, given, "its team is not in the file of --teams");
    }
    const expiry = params.raw("expires");
    const expiresAt =
      typeof expiry === "string" ? new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(expiry) ? expiry : `${expiry}Z`) : undefined;
    if (expiresAt && !(expiresAt.getTime() > Date.now())) return this.#leave(path, given, "it has expired");
    const models = this.#models(params, path, team?.models);
    if (models?.length === 0) return this.#leave(path, given, "none of its models is in the new configuration");
    const name = this.#unusedName(team?.workspace.name ?? "", given, params.text("token") ?? String(path.at(-1)));
    const settings = { ...this.#settings(params, team), ...(expiresAt && { expires_at: expiresAt }) };
    const problem = problemOf({ ...settings, name });
    if (problem !== undefined) return this.#leave(path, given, problem);
    params.taken("expires", "expires_at of the key", page);
    params.taken("team_id", "the workspace of the team", page);
    params.taken(params.has("key_alias") ? "key_alias" : "key_name", "name of the key", page);
    if (params.has("models") && models) params.taken("models", "allowed_models of a guardrail of the key", page);
    (team?.workspace.keys ?? own).push({ name, settings, models });
  }

  /** Converts a customer to an end user of the workspace named by the command. */
  customer(entry: unknown, path: Path): { user: string; isActive: boolean }[] {
    const params = this.#params(entry, path, customerRemarks);
    const user = params.raw("user_id");
    if (typeof user !== "string" || user === "") {
      this.#findings.close(path, untakenField("a customer without user_id is left out", page));
      return [];
    }
    params.taken("user_id", "an end user", "docs/operate/administration.md#end-users");
    params.taken(
      "blocked",
      "an inactive end user, which end_users.enforce refuses",
      "docs/operate/administration.md#end-users",
    );
    return [{ user, isActive: params.raw("blocked") !== true }];
  }

  #params(entry: unknown, path: Path, remarks: typeof keyRemarks, budget?: JsonObject): Params {
    const values = isObject(entry) ? entry : {};
    this.#findings.addAll(path, values, remarks);
    const table = budget ? [{ values: budget, path: [...path, "litellm_budget_table"] }] : [];
    return new Params([{ values, path }, ...table], new Draft(), this.#findings);
  }

  #leave(path: Path, name: string, why: string): void {
    this.#findings.close(path, untakenField(`the key is left out: ${why}`, page));
    this.leftOut.push({ record: "key", name, why });
  }

  #settings(params: Params, team: Team | undefined): KeySettings {
    const limits = Object.entries(limitNames).flatMap(([name, setting]): [string, number][] => {
      const limit = params.number(name);
      if (limit === undefined) return [];
      params.taken(name, `${setting} of the key`, page);
      return [[setting, limit]];
    });
    const user = params.raw("user_id");
    params.taken("user_id", "the end user that the key is for", page);
    params.taken("blocked", "disabled of the key", page);
    return {
      ...Object.fromEntries(limits),
      ...keyBudget(budgetOf(params, "limit of the key")),
      ...(typeof user === "string" && { external_user: user }),
      ...((params.raw("blocked") === true || team?.isBlocked === true) && { disabled: true }),
    };
  }

  /**
   * Slugs of the models that a key or team may call; undefined for every model. @param ofTeam slugs of the key's team
   */
  #models(params: Params, path: Path, ofTeam: readonly string[] | undefined): readonly string[] | undefined {
    const given = params.raw("models");
    const names = Array.isArray(given) ? given.filter((name) => typeof name === "string") : [];
    if (names.length === 0) return ofTeam;
    if (names.includes(everyModel) || names.includes(teamModels)) {
      params.add("models", keptField("keys without a list may ask every model that their workspace may", page));
      return ofTeam;
    }
    for (const [index, name] of names.entries()) {
      if (this.#slugFor(name) !== undefined) continue;
      this.#findings.add(
        [...path, "models", index],
        untakenField("no model of the new configuration has this name", page),
      );
    }
    const slugs = [...new Set(names.flatMap((name) => this.#slugFor(name) ?? []))];
    return ofTeam === undefined ? slugs : slugs.filter((slug) => ofTeam.includes(slug));
  }

  /** A name not yet used in the workspace; a used name gets the first characters of `distinct` as a suffix. */
  #unusedName(workspace: string, name: string, distinct: string): string {
    const wanted = name.trim().slice(0, 150) || distinct.slice(0, 8);
    const isUsed = this.#names.has(`${workspace}/${wanted}`);
    const unused = isUsed ? `${wanted} (${distinct.slice(0, 8)})` : wanted;
    this.#names.add(`${workspace}/${unused}`);
    return unused;
  }
}

const limitNames = {
  rpm_limit: "requests_per_minute",
  tpm_limit: "tokens_per_minute",
  max_parallel_requests: "concurrent_requests",
} as const;

/** LiteLLM's notations of budget periods, with the equal reset interval of Sluice. */
const periods: readonly (readonly [RegExp, ResetInterval])[] = [
  [/^(?:24h|1d|daily)$/, "daily"],
  [/^(?:7d|1w|weekly)$/, "weekly"],
  [/^(?:1mo|30d|31d|monthly)$/, "monthly"],
];

function budgetOf(params: Params, what: string): Pick<WorkspaceSettings, "limitUsd" | "limitReset"> {
  const limit = params.number("max_budget");
  if (limit === undefined || limit < 0) return {};
  params.taken("max_budget", `${what}, in USD`, page);
  const duration = params.raw("budget_duration");
  const [, interval] = periods.find(([form]) => typeof duration === "string" && form.test(duration)) ?? [];
  if (interval) params.taken("budget_duration", `${what} begins anew ${interval}`, page);
  else
    params.add(
      "budget_duration",
      untakenField("budgets last a day, a week or a month: this one never begins anew", page),
    );
  return { limitUsd: formatDollars(limit), ...(interval && { limitReset: interval }) };
}

const keyBudget = ({ limitUsd, limitReset }: ReturnType<typeof budgetOf>): KeySettings => ({
  ...(limitUsd !== undefined && { limit_usd: limitUsd ?? null }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
});

function problemOf(settings: KeySettings): string | undefined {
  try {
    checkKeySettings(settings);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
