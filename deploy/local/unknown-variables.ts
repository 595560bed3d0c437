/** Finds environment variables similar to a variable of Sluice, probably misspelled and otherwise silently ignored. */
import { nearestWord } from "@sluice/proto/lib/validation/edit-distance.js";

/** Variables of single services, unused by the supervisor; test/deploy/settings.test.ts keeps the list complete. */
const serviceVariables = [
  "SLUICE_ADMIN_ADDRESS",
  "SLUICE_CONSOLE_LINK",
  "SLUICE_INFERENCE_ADDRESSES",
  "SLUICE_LOG_LEVEL",
  "SLUICE_REGION",
  "SLUICE_SERVICE_TOKEN_FILE",
  "SLUICE_SPOOL_DIR",
  "SLUICE_SPOOL_KEEP_HOURS",
  "SLUICE_SPOOL_KEEP_MIB",
  "SLUICE_WARM_UP_MS",
];

/** Variables of the command line. They are too short to be a misspelling of another name. */
const commandLineVariables: ReadonlySet<string> = new Set(["SLUICE_URL", "SLUICE_MANAGEMENT_KEY", "SLUICE_PROFILE"]);

/** A name with more edits is another word: people have other variables, too. */
const maxEdits = 3;

/**
 * @param known names of the supervisor's settings
 * @returns a line for each misspelled variable, with a suggestion
 */
export function findMisspelledVariables(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  const names = [...known, ...serviceVariables];
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("SLUICE_") || names.includes(name) || commandLineVariables.has(name)) return [];
    const nearest = nearestWord(name, names, maxEdits);
    return nearest === undefined ? [] : [`${name} is not a variable of Sluice; did you mean ${nearest}?`];
  });
}
