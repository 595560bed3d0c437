/** Examines the configuration file and the credentials it names, like the command `check-config`. */
import { dirname } from "node:path";
import { program, root } from "../places.ts";
import type { Settings } from "../settings.ts";
import { type Finding, failedFinding, goodFinding, noteFinding } from "./findings.ts";

/** The output of `check-config --json`. */
interface Checked {
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly models: readonly unknown[];
  readonly providers: readonly Provider[];
}
interface Provider {
  readonly id: string;
  readonly left_out?: readonly string[];
  readonly problem?: string;
}

export async function examineConfiguration(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  const { config, packagesDir, SLUICE_ECHO } = settings;
  const { runOperator } = await import("@sluice/inference-svc/assembly/operator.js");
  let printed = "";
  let refused = "";
  await runOperator(["check-config", "--json"], {
    config,
    environment: { ...environment, SLUICE_PACKAGES_DIR: packagesDir, SLUICE_ECHO },
    stdout: { write: (text: string) => (printed += text) },
    stderr: { write: (text: string) => (refused += text) },
  });
  const correct = `Correct the file; ${program.call} check-config shows the problems and what would be served.`;
  if (printed === "") return [failedFinding("configuration", refused.trim(), correct)];
  const checked = JSON.parse(printed) as Checked;
  if (!checked.ok) return [failedFinding("configuration", [config, ...checked.problems].join("\n"), correct)];
  return [examineModels(config, checked), ...examineCredentials(config, checked)];
}

const examineModels = (config: string, { models }: Checked): Finding =>
  models.length > 0
    ? goodFinding("configuration", `${config}, ${models.length} ${models.length === 1 ? "model" : "models"}`)
    : failedFinding(
        "configuration",
        `${config} serves no model`,
        "Set the variables of a provider, or add models to the file.",
      );

function examineCredentials(config: string, { providers }: Checked): Finding[] {
  const absent = providers.filter(({ left_out: names, problem }) => names !== undefined || problem !== undefined);
  if (absent.length === 0) return [goodFinding("credentials", "all that the configuration names are set")];
  // The file shipped with Sluice names all usual providers, and nobody has credentials for all of them.
  if (dirname(config) === `${root}deploy/local`) {
    const names = absent.map(({ id, left_out: unset = [] }) => `${id} (${unset.join(", ")})`);
    return [
      noteFinding("credentials", `not set: ${names.join(", ")}`, "Set the variables of a provider to have its models."),
    ];
  }
  return absent.map(({ id, left_out: unset = [], problem }) =>
    failedFinding(
      "credentials",
      `provider ${id} is left out: ${problem ?? `${unset.join(", ")} not set`}`,
      "Set what is missing where Sluice is started, or take the provider out of the file.",
    ),
  );
}
