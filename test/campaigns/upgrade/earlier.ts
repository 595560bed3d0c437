/** An earlier revision of this checkout, built in a folder of its own. */
import { join } from "node:path";
import { root, runProgram } from "../../support/processes.ts";
import { linkPackages, packagesFit } from "./packages.ts";

/** Commit of the release before this checkout. Each release writes the commit of its predecessor here. */
export const earlierRevision = "3deba7a7ab14074dc3f0f5967bdaca3e470af9f7";

/** The complete hash of a revision; undefined without git, or if the revision is not in the history, as in a shallow clone. */
export async function findCommitHash(revision: string): Promise<string | undefined> {
  const { code, stdout } = await runProgram("git", ["rev-parse", "--verify", "--quiet", `${revision}^{commit}`]).catch(
    () => ({
      code: 1,
      stdout: "",
    }),
  );
  return code === 0 ? stdout.trim() : undefined;
}

/**
 * Builds an earlier revision. It uses the packages of this checkout if its lock file has the same versions; otherwise npm installs them.  @param
 * folder an empty folder  @throws with the output of the failed tool
 */
export async function buildEarlier(revision: string, folder: string): Promise<void> {
  const archive = join(folder, "archive.tar");
  await succeed("git", ["archive", "--output", archive, revision], root);
  await succeed("tar", ["-x", "-f", archive], folder);
  if (packagesFit(folder)) linkPackages(folder, root);
  else await succeed("npm", ["ci", "--ignore-scripts", "--no-audit", "--prefer-offline"], folder);
  await succeed(process.execPath, [join(folder, "node_modules/typescript/bin/tsc"), "-b", "tsconfig.json"], folder);
}

async function succeed(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, stdout, stderr } = await runProgram(command, args, { cwd });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: ${code}\n${stdout}${stderr}`);
}
