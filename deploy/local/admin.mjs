/**
 * `npm run admin -- NOUN VERB ...`: the command line of admin-svc, on the database of the Sluice running here or the one in DATABASE_URL; and the
 * operator's checks of inference-svc, which need no database.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareOrExit } from "./prepare.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

function databaseUrl() {
  if (process.env.DATABASE_URL) return process.env.DATABASE_URL;
  const given = process.env.SLUICE_DATA_DIR;
  try {
    return JSON.parse(readFileSync(join(given ? resolve(given) : join(root, ".sluice"), "database.json"), "utf8")).url;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

const argv = process.argv.slice(2);
const isRemote = (process.env.SLUICE_URL ?? "") !== "";
const url = isRemote ? undefined : databaseUrl();
const isHelp = argv.length === 0 || argv[0] === "--help" || argv[0] === "-h";
const check = argv[0] === "check-config" || argv[0] === "test-provider";
const offline =
  check ||
  isHelp ||
  argv.includes("--help") ||
  argv.includes("-h") ||
  argv[1] === "mint" ||
  ["completion", "import", "--version"].includes(argv[0]);
if (url === undefined && !offline && !isRemote) {
  process.stderr.write("Sluice does not run here: start it first (npm start) or set DATABASE_URL.\n");
  process.exit(1);
}
await prepareOrExit();
const { stdout, stderr } = process;
// A reader such as `head` may close the pipe before everything is written.
stdout.on("error", () => process.exit());
const { operatorHelp, runOperator } = await import("@sluice/inference-svc/assembly/operator.js");
if (check) {
  const { configPath, packagesPath } = await import("@sluice/local/settings.js");
  const config = configPath(process.env.SLUICE_CONFIG || undefined);
  const environment = { ...process.env, SLUICE_PACKAGES_DIR: packagesPath(process.env) };
  process.exitCode = await runOperator(argv, { environment, config, stdout, stderr });
} else {
  const { remoteIn, runCli } = await import("@sluice/admin-svc/cli.js");
  const managementKey = process.env.SLUICE_BOOTSTRAP_MANAGEMENT_KEY;
  process.exitCode = await runCli(argv, {
    databaseUrl: url,
    managementKey,
    remote: remoteIn(process.env),
    stdout,
    stderr,
  });
  if (isHelp) (argv.length === 0 ? stderr : stdout).write(`${operatorHelp().join("\n")}\n`);
}
