/** The oldest Node that runs Sluice. This file must run in any version of Node, because it is loaded first. */

/** @returns what is wrong with the running Node; undefined if its version is new enough */
export function findNodeProblem() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `Sluice needs Node 20.19 or newer; this is ${process.versions.node} (${process.execPath}).`;
}
