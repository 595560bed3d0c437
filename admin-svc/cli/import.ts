/**
 * The command `import` converts the configuration of LiteLLM, Portkey or OpenRouter to one of Sluice, and reports the
 * outcome for each field.
 */
import { writeFileSync } from "node:fs";
import {
  type Command,
  CommandError,
  UsageError,
  escapeUnprintable,
  readArguments,
} from "@sluice/proto/lib/process/cli.js";
import {
  type LeftOutRecord,
  type PlanStep,
  type PlannedWorkspace,
  SecretsFile,
  applyPlan,
  planSteps,
} from "./import/apply.ts";
import type { Draft } from "./import/draft.ts";
import { type FieldOutcome, type Finding, findingLine, groupFindings } from "./import/findings.ts";
import { type AdminTerminal, type Commands, flagOption, jsonOption, textOption } from "./terminal.ts";

const options = { ...jsonOption, out: textOption } as const;
const accessOptions = { keys: textOption, teams: textOption, customers: textOption, users: textOption } as const;

const outcomes: readonly FieldOutcome[] = ["taken", "as it is", "not taken"];

interface ImportedConfig {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
}

const details = [
  "Secrets are never shown: each becomes a variable, which the report names.",
  "--out: the new file, which must not exist yet. Without it the file is printed, with the report as comments.",
];

/** Builds a command that converts one file of another gateway and needs nothing else. */
const importCommand = (gateway: string, read: (file: string) => Promise<ImportedConfig>): Command<AdminTerminal> => ({
  usage: "FILE [--out FILE] [--json]",
  summary: `Makes a configuration file from ${gateway}, and says of every field what became of it.`,
  details,
  async run(args, terminal) {
    const { values, named } = readArguments(args, options, "FILE");
    const config = await read(named.FILE);
    const code = writeConfig(values.out, config);
    show(config, values, terminal);
    return code;
  },
});

export const imports: Commands = {
  litellm: {
    usage:
      "FILE [--out FILE] [--keys FILE] [--teams FILE] [--customers FILE] [--users FILE] [--write [--secrets FILE]] [--json]",
    summary: "Makes a configuration file from one of LiteLLM's proxy, and says of every field what became of it.",
    details: [
      ...details,
      "--keys, --teams, --customers, --users: JSON of LiteLLM's /key/list?return_full_object=true, /team/list, /customer/list and /user/list.",
      "Teams become workspaces, keys become new keys with the same name, budget, limits and models. Without --write only the plan is shown.",
      "--write makes what the database lacks, by name. It prints each new key once, or writes all to --secrets, a new file with mode 0600.",
    ],
    run: runLitellm,
  },
  portkey: importCommand("a gateway configuration of Portkey", async (file) =>
    (await import("./import/portkey.ts")).importPortkey(file),
  ),
  openrouter: importCommand("a request or the preferences of an account at OpenRouter", async (file) =>
    (await import("./import/openrouter.ts")).importOpenRouter(file),
  ),
};

async function runLitellm(args: string[], terminal: AdminTerminal): Promise<number> {
  const allOptions = { ...options, ...accessOptions, write: flagOption, secrets: textOption } as const;
  const { values, named } = readArguments(args, allOptions, "FILE");
  const { keys, teams, customers, users, write = false, secrets } = values;
  const hasAccess = [keys, teams, customers].some((file) => file !== undefined);
  if (write && !hasAccess) throw new UsageError("--write: only with --keys, --teams or --customers");
  if (secrets !== undefined && !write) throw new UsageError("--secrets: only with --write");
  // Loaded on demand: the schema of the configuration file is large, and no other command needs it.
  const { importLitellm } = await import("./import/litellm/litellm.ts");
  const { planAccess } = await import("./import/litellm/access.ts");
  const { slugFor, ...config } = importLitellm(named.FILE);
  const { workspaces, leftOut, findings } = planAccess({ keys, teams, customers, users }, slugFor);
  // Connects to the database first: if that fails, no new configuration file is left behind.
  if (write) await terminal.author();
  const code = writeConfig(values.out, config);
  const plan = write ? await makeRecords(workspaces, terminal, secrets) : planSteps(workspaces);
  show({ ...config, access: findings, leftOut, plan }, values, terminal);
  return code;
}

async function makeRecords(
  workspaces: readonly PlannedWorkspace[],
  terminal: AdminTerminal,
  path: string | undefined,
): Promise<PlanStep[]> {
  if (path === undefined) return applyPlan(workspaces, terminal, undefined);
  using secrets = new SecretsFile(path);
  return await applyPlan(workspaces, terminal, secrets);
}

interface Result extends ImportedConfig {
  /** Findings about the keys, teams and customers. */
  readonly access?: readonly Finding[];
  readonly leftOut?: readonly LeftOutRecord[];
  readonly plan?: readonly PlanStep[];
}

function show(
  { draft, findings, access = [], leftOut = [], plan = [] }: Result,
  { out, json }: { readonly out?: string; readonly json?: boolean },
  { print }: AdminTerminal,
): void {
  const problems = draft.problems();
  if (json === true) {
    const { variables } = draft;
    return print(
      JSON.stringify({ configuration: draft.yaml(), variables, findings, problems, access, left_out: leftOut, plan }),
    );
  }
  const report = [
    ...reportLines("the configuration", findings),
    ...(draft.variables.length > 0 ? [`Variables to set: ${draft.variables.join(", ")}`] : []),
    ...problems.map((problem) => `Sluice refuses the new file: ${problem}`),
    ...(access.length > 0
      ? [
          "",
          ...reportLines("the records", access, groupFindings(access)),
          "",
          ...plan.map(stepLine),
          ...leftOut.map(leftOutLine),
        ]
      : []),
    ...(plan.some(({ done }) => done === null) ? ["Nothing is written: --write makes these records."] : []),
  ];
  if (out !== undefined) return report.forEach(print);
  [...draft.yaml().trimEnd().split("\n"), "", ...report.map(asComment)].forEach(print);
}

const asComment = (line: string): string => `# ${line}`.trimEnd();

function reportLines(of: string, findings: readonly Finding[], shown = findings): string[] {
  const counts = outcomes.map((outcome) => `${findings.filter((each) => each.outcome === outcome).length} ${outcome}`);
  return [`Fields of ${of}: ${counts.join(", ")}`, ...shown.map(findingLine)];
}

function stepLine({ record, workspace, name, done, key, settings }: PlanStep): string {
  const parts = [done ?? "to make", record, escapeUnprintable(workspace === null ? name : `${workspace}/${name}`)];
  return [parts.join("  "), escapeUnprintable(JSON.stringify(settings)), ...(key === undefined ? [] : [key])].join(
    "  ",
  );
}

const leftOutLine = ({ record, name, why }: LeftOutRecord): string =>
  `left out  ${record}  ${escapeUnprintable(name)}  ${why}`;

/**
 * @returns the exit code: 1 when Sluice would refuse the new configuration. @throws CommandError when the file exists,
 * because an import never replaces a configuration
 */
function writeConfig(file: string | undefined, { draft }: ImportedConfig): number {
  try {
    if (file !== undefined) writeFileSync(file, draft.yaml(), { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === "EEXIST" ? "exists already: name another file" : `cannot be written: ${code}`;
    throw new CommandError(`${file}: ${problem}`, { cause: error });
  }
  return draft.problems().length === 0 ? 0 : 1;
}
