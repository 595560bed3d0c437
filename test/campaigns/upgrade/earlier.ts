/** An earlier revision of this checkout, built in a separate folder. */
import { join } from "node:path";
import { root, runProgram } from "../../support/processes.ts";
import { linkPackages, packagesFit } from "./packages.ts";

/** The predecessor release of this checkout. Each release writes its predecessor here. */
export const earlierRevision = "3deba7a7ab14074dc3f0f5967bdaca3e470af9f7";

/** The whole hash; undefined without git, or where the revision is not in the history, as in a shallow clone. */
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
 * Uses packages of this checkout if its lock file has the same versions; otherwise npm installs them from
 * its registry. @param folder is empty @throws with the output of the failed tool
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
