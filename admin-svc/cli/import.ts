/** import: litellm, portkey, openrouter. The configuration of another gateway becomes one of Sluice, with a finding for each of its fields. */
import { writeFileSync } from "node:fs";
import { type Command, CommandError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { Draft } from "./import/draft.ts";
import { type Finding, type FieldOutcome, findingLine } from "./import/findings.ts";
import { type AdminTerminal, type Commands, jsonOption, textOption } from "./terminal.ts";

const options = { ...jsonOption, out: textOption } as const;

const outcomes: readonly FieldOutcome[] = ["taken", "as it is", "not taken"];

interface ImportedConfig {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
}

/** A command that reads a file of another gateway. @param read loads what no other command needs, such as the parser of YAML */
const importCommand = (gateway: string, read: (file: string) => Promise<ImportedConfig>): Command<AdminTerminal> => ({
  usage: "FILE [--out FILE] [--json]",
  summary: `Makes a configuration file from one of ${gateway}, and says of every field what became of it.`,
  details: [
    "Secrets are never shown: each becomes a variable, which the report names.",
    "--out: the new file, which must not exist yet. Without it the file is printed, with the report as comments.",
  ],
  async run(args, { print }) {
    const { values, named } = readArguments(args, options, "FILE");
    const { draft, findings } = await read(named.FILE);
    const problems = draft.problems();
    if (values.json === true) {
      print(JSON.stringify({ configuration: draft.yaml(), variables: draft.variables, findings, problems }));
    } else {
      const report = reportLines(draft, findings, problems);
      if (values.out === undefined)
        [...draft.yaml().trimEnd().split("\n"), "", ...report.map(asComment)].forEach(print);
      else report.forEach(print);
    }
    if (values.out !== undefined) writeNew(values.out, draft.yaml());
    return problems.length === 0 ? 0 : 1;
  },
});

export const imports: Commands = {
  litellm: importCommand("LiteLLM's proxy", async (file) =>
    (await import("./import/litellm/litellm.ts")).importLitellm(file),
  ),
};

const asComment = (line: string): string => `# ${line}`.trimEnd();

function reportLines(draft: Draft, findings: readonly Finding[], problems: readonly string[]): string[] {
  const counts = outcomes.map((outcome) => `${findings.filter((each) => each.outcome === outcome).length} ${outcome}`);
  return [
    `${findings.length} fields: ${counts.join(", ")}`,
    ...findings.map(findingLine),
    ...(draft.variables.length > 0 ? [`Variables to set: ${draft.variables.join(", ")}`] : []),
    ...problems.map((problem) => `Sluice refuses the new file: ${problem}`),
  ];
}

/** @throws CommandError when the file exists, because an import never replaces a configuration */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(
      `${file}: ${code === "EEXIST" ? "exists already: name another file" : `cannot be written: ${code}`}`,
    );
  }
}
