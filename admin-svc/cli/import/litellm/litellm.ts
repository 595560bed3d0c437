/** Converts the configuration of LiteLLM's proxy to a draft of a Sluice configuration. */
import { dirname, resolve } from "node:path";
import { parseYaml } from "@sluice/proto/config/yaml.js";
import { Draft } from "../draft.ts";
import { type Finding, Findings, type Path } from "../findings.ts";
import { ModelList } from "./models.ts";
import { readCredentials, variablesIn } from "./params.ts";
import { unknownField } from "./remarks.ts";
import { OtherSections } from "./settings.ts";

export interface ImportedLitellm {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
  /**
   * Maps a model name used in requests to LiteLLM to a slug of the new configuration; undefined without such a model.
   */
  readonly slugFor: (name: string) => string | undefined;
}

interface ConfigPart {
  readonly file: Readonly<Record<string, unknown>>;
  /** Empty for the main file, else the name under `include`. */
  readonly path: Path;
}

/** @throws ConfigError when the file or an included file cannot be read */
export function importLitellm(file: string): ImportedLitellm {
  const parts = readParts(file);
  const findings = new Findings();
  const draft = new Draft(parts.flatMap(({ file }) => variablesIn(file)));
  const credentials = parts.flatMap(({ file, path }) =>
    readCredentials(file["credential_list"], [...path, "credential_list"]),
  );
  const models = new ModelList(draft, findings, credentials);
  for (const { file, path } of parts) models.read(file["model_list"], [...path, "model_list"]);
  const ids = models.finish();
  const settings = new OtherSections(draft, findings, ids);
  for (const { file, path } of parts) settings.read(file, path);
  models.addPatterns();
  for (const { file, path } of parts)
    settings.environment(file["environment_variables"], [...path, "environment_variables"]);
  const whole = Object.assign(
    {},
    ...parts.map(({ file, path }) => (path.length === 0 ? file : { [String(path[0])]: file })),
  );
  findings.taken(["include"], "the fields of the included files, which follow");
  const aliases = new Map(draft.aliases.map(({ match, model }) => [match, model]));
  const slugFor = (name: string): string | undefined =>
    ids.get(name) ?? aliases.get(name) ?? (models.isOfCatalogue(name) ? name : undefined);
  return { draft, findings: findings.of(whole, unknownField), slugFor };
}

/** Reads the main file, and the files that it includes. */
function readParts(path: string): ConfigPart[] {
  const file = parseYaml(path);
  const names = Array.isArray(file["include"]) ? file["include"].filter((name) => typeof name === "string") : [];
  const included = names.map((name) => ({ file: parseYaml(resolve(dirname(path), name)), path: [name] }));
  return [{ file, path: [] }, ...included];
}
