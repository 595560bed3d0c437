/** Runs a program as a user other than root. */
import { root, runProgram } from "./processes.ts";

export const isRoot = process.getuid?.() === 0;

/** Id of the user nobody in every distribution. */
export const nobodyUid = 65_534;

/** Command prefix to run a program as the user nobody, with read access to the checkout even if it is inside of a closed folder. */
export async function asNobody(): Promise<string[]> {
  const plain = ["setpriv", `--reuid=${nobodyUid}`, `--regid=${nobodyUid}`, "--clear-groups"];
  const { code } = await runProgram(plain[0] as string, [...plain.slice(1), "test", "-r", `${root}/package.json`]);
  const reading = ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"];
  return code === 0 ? plain : [...plain, ...reading];
}
