/** Parses a Dockerfile into its stages. */

export interface Instruction {
  readonly keyword: string;
  readonly value: string;
}

export interface Stage {
  readonly name: string;
  /** Name of another stage, or of an image. */
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

export function parseDockerfile(text: string): Stage[] {
  const stages: { name: string; base: string; instructions: Instruction[] }[] = [];
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    const [, keyword = "", value = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (keyword === "FROM") {
      const [base = "", , name = base] = value.split(/\s+/);
      stages.push({ name, base, instructions: [] });
    } else if (keyword !== "") stages.at(-1)?.instructions.push({ keyword, value });
  }
  return stages;
}

/** The instructions of a stage and of its base stages, in order. */
export function historyOf(stages: readonly Stage[], name: string): Instruction[] {
  const stage = stages.find((candidate) => candidate.name === name);
  return stage ? [...historyOf(stages, stage.base), ...stage.instructions] : [];
}

export interface ImageSettings {
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  /** Entry point and command of the stage. */
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

export function settingsOf(history: readonly Instruction[]): ImageSettings {
  const last = (keyword: string) => history.findLast((instruction) => instruction.keyword === keyword)?.value;
  const variables = history.filter(({ keyword }) => keyword === "ENV").flatMap(({ value }) => value.split(/\s+/));
  return {
    environment: Object.fromEntries(variables.map((variable) => variable.split("=") as [string, string])),
    user: last("USER"),
    command: [...execForm(last("ENTRYPOINT")), ...execForm(last("CMD"))],
    healthCheck: execForm(last("HEALTHCHECK")?.replace(/^.*?CMD /, "")),
  };
}

/** Parses the exec form of a command. @throws for the shell form, since a shell would not pass signals on */
function execForm(value: string | undefined): string[] {
  if (value?.startsWith("[") !== true) throw new Error(`not in exec form: ${value}`);
  return JSON.parse(value) as string[];
}
