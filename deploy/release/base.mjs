/**
 * Prints `image=X` with the base image of a release: the given one, else the one in the Dockerfile. Refuses an image without a digest, because its
 * tag may mean another image tomorrow.
 * `node deploy/release/base.mjs docker.io/library/node:24.21.0-bookworm-slim@sha256:...`
 */
import { readFileSync } from "node:fs";

const dockerfile = readFileSync(new URL("../images/Dockerfile", import.meta.url), "utf8");
const image = process.argv[2] || (/^ARG NODE_IMAGE=(.*)$/m.exec(dockerfile)?.[1] ?? "");
if (!/^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$/.test(image)) {
  process.stderr.write(
    `base image ${image || "(none)"}: a release needs it with its digest, NAME:TAG@sha256:DIGEST, in the variable NODE_IMAGE of the repository or in the Dockerfile\n`,
  );
  process.exit(1);
}
process.stdout.write(`image=${image}\n`);
